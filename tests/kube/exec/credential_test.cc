// SPDX-License-Identifier: Apache-2.0
#include "exec/credential.h"

#include <gmock/gmock.h>

namespace nccl_env::kube::credential_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string answer(const std::string& status, const std::string& version = kV1,
                   const std::string& kind = "ExecCredential") {
  return R"({"kind":")" + kind + R"(","apiVersion":")" + version + R"(","status":)" + status + "}\n";
}

std::string refusal(const std::string& text) {
  const auto read = parse_exec_credential(text, kV1);
  return read ? "accepted" : read.error().message;
}

TEST(ExecCredential, ATokenAndItsEnd) {
  const auto read = parse_exec_credential(
      answer(R"({"token":"a.b","expirationTimestamp":"2026-11-20T10:00:00+02:00"})"), kV1);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->token, "a.b");
  EXPECT_EQ(read->certificate + read->key, "");
  EXPECT_EQ(format_timestamp(read->expires.value()), "2026-11-20T08:00:00Z");
  EXPECT_FALSE(parse_exec_credential(answer(R"({"token":"t","expirationTimestamp":null})"), kV1)->expires);
}

TEST(ExecCredential, ACertificateWithItsKey) {
  const auto read =
      parse_exec_credential(answer(R"({"clientCertificateData":"C\n","clientKeyData":"K\n"})"), kV1);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->token, "");
  EXPECT_EQ(read->certificate, "C\n");
  EXPECT_EQ(read->key, "K\n");
}

TEST(ExecCredential, AnythingElseIsRefusedWithoutSayingWhatItHolds) {
  const std::pair<std::string, const char*> refused[] = {
      {"", "not one JSON object"},
      {"SECRET", "not one JSON object"},
      {"\"SECRET\"", "not one JSON object"},
      {answer(R"({"token":"SECRET"})") + "{}", "not one JSON object"},
      {R"({"token":"SECRET"})", "another kind"},
      {answer(R"({"token":"SECRET"})", kV1, "TokenReview"), "another kind"},
      {answer(R"({"token":"SECRET"})", "client.authentication.k8s.io/v1beta1"),
       "another apiVersion than client.authentication.k8s.io/v1, which"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"})", "has no status"},
      {answer("\"SECRET\""), "has no status"},
      {answer("{}"), "status.token: is missing"},
      {answer(R"({"token":""})"), "status.token: is missing"},
      {answer(R"({"token":["SECRET"]})"), "status.token: must be a string"},
      {answer(R"({"token":"SECRET\r\nX: y"})"), "status.token: is too long"},
      {answer(R"({"token":")" + std::string((64u << 10) + 1, 'S') + "\"}"), "status.token: is too long"},
      {answer(R"({"clientCertificateData":"SECRET"})"), "one without the other"},
      {answer(R"({"token":"t","clientKeyData":"SECRET"})"), "one without the other"},
      {answer(R"({"token":"t","expirationTimestamp":"SECRET"})"), "status.expirationTimestamp: is no time"},
      {answer(R"({"token":"t","expirationTimestamp":1})"), "status.expirationTimestamp: must be a string"}};
  for (const auto& [text, reason] : refused) {
    EXPECT_THAT(refusal(text), HasSubstr(reason)) << text;
    EXPECT_THAT(refusal(text), Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace nccl_env::kube::credential_test
