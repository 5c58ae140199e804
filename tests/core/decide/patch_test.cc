// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/patch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nccl_env::patch_test {
namespace {

using Json = nlohmann::json;

std::string decode(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(alphabet.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 255);
    }
  }
  return bytes;
}

TEST(Response, HoldsTheWholeAnswer) {
  AdmissionResponse response;
  response.uid = "u-1";
  response.patch = R"([{"op":"remove","path":"/a"}])";
  response.warnings = {"one", "two \"quoted\"\n"};
  response.audit = {{"decision", "inject"}, {"status", "{}"}};
  const Json json = Json::parse(render_response(response));
  EXPECT_EQ(json["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(json["kind"], "AdmissionReview");
  EXPECT_EQ(json["response"]["uid"], "u-1");
  EXPECT_EQ(json["response"]["allowed"], true);
  EXPECT_EQ(json["response"]["patchType"], "JSONPatch");
  EXPECT_EQ(decode(json["response"]["patch"]), response.patch);
  EXPECT_EQ(json["response"]["warnings"], (Json{"one", "two \"quoted\"\n"}));
  EXPECT_EQ(json["response"]["auditAnnotations"], (Json{{"decision", "inject"}, {"status", "{}"}}));
}

TEST(Response, WithoutAPatchThereIsNoPatchType) {
  AdmissionResponse response;
  response.uid = "u";
  EXPECT_EQ(Json::parse(render_response(response))["response"], (Json{{"uid", "u"}, {"allowed", true}}));
}

TEST(Response, ARefusalHasCodeAndMessage) {
  AdmissionResponse response;
  response.uid = "u";
  response.allowed = false;
  response.code = 403;
  response.message = "no table";
  const Json json = Json::parse(render_response(response))["response"];
  EXPECT_EQ(json["allowed"], false);
  EXPECT_EQ(json["status"]["code"], 403);
  EXPECT_EQ(json["status"]["message"], "no table");
}

TEST(Response, Base64OfEveryLength) {
  for (std::size_t length = 1; length < 70; ++length) {
    AdmissionResponse response;
    response.uid = "u";
    for (std::size_t i = 0; i < length; ++i) response.patch += static_cast<char>(i * 37 + length);
    const std::string encoded = Json::parse(render_response(response))["response"]["patch"];
    EXPECT_EQ(encoded.size() % 4, 0u);
    EXPECT_EQ(decode(encoded), response.patch) << length;
  }
}

}  // namespace
}  // namespace nccl_env::patch_test
