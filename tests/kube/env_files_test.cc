// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/env_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nccl_env::kube::env_files_test {
namespace {

using Json = nlohmann::json;

// Answers as an API server with, before, or without the field does.
class Server : public ApiServer {
 public:
  std::optional<Reply> answer;  // nothing: what was sent comes back
  bool drops = false;
  std::vector<Call> calls;

  Result<Reply> call(const Call& call) override {
    calls.push_back(call);
    if (answer) return *answer;
    Json object = Json::parse(call.body);
    if (drops) object["template"]["spec"]["containers"][0]["env"][0]["valueFrom"].erase("fileKeyRef");
    return Reply{201, object.dump()};
  }
  Result<Reply> stream_parts(const std::string&, std::chrono::milliseconds,
                             const std::function<bool(std::string_view)>&) override {
    return Error{"not asked"};
  }
  std::string server() const override { return "https://server"; }
  Result<std::string> name_space() const override { return std::string("here"); }
};

TEST(EnvFiles, AreKeptWhereADryRunBringsTheFieldBack) {
  Server server;
  const auto answer = ask_for_env_files(server);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->kept);
  ASSERT_EQ(server.calls.size(), 1u);
  EXPECT_EQ(server.calls[0].target, "/api/v1/namespaces/here/podtemplates?dryRun=All");
}

TEST(EnvFiles, AreNotKeptWhereTheFieldIsDroppedOrRefused) {
  Server server;
  server.drops = true;
  EXPECT_FALSE(ask_for_env_files(server)->kept);
  for (const int status : {422, 403}) {
    server.answer = Reply{status, R"({"kind": "Status", "message": "must specify one of: fieldRef"})"};
    const auto answer = ask_for_env_files(server);
    ASSERT_TRUE(answer) << status;
    EXPECT_FALSE(answer->kept);
    EXPECT_EQ(answer->problem, "must specify one of: fieldRef");
  }
}

TEST(EnvFiles, AreNotKnownWhereTheServerSaysNothingOfThem) {
  Server server;
  for (const int status : {400, 404, 429, 500, 503}) {
    server.answer = Reply{status, "{}"};
    EXPECT_FALSE(ask_for_env_files(server)) << status;
  }
  for (const char* body :
       {"", "[]", R"({"template": 7})", R"({"template": {"spec": {"containers": [7]}}})"}) {
    server.answer = Reply{201, body};
    EXPECT_FALSE(ask_for_env_files(server)->kept) << body;
  }
}

}  // namespace
}  // namespace nccl_env::kube::env_files_test
