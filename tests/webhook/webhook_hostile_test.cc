// SPDX-License-Identifier: Apache-2.0
// Bodies that a stranger sends to a real webhook: it answers each, stays small, and answers good ones
// afterwards.
#include "core/recorded.h"
#include "policy_review.h"
#include "support/sanitized.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_hostile_test {
namespace {

using namespace nccl_env::tests;

class WebhookStrangers : public WebhookTest {
 protected:
  void SetUp() override {
    store("policy.yaml", policy_yaml());
    store("node-a.yaml", table_yaml());
    store("namespace.yaml", namespace_yaml());
    start();
  }

  static std::string repeated(const std::string& part, std::size_t bytes) {
    std::string text;
    text.reserve(bytes + part.size());
    while (text.size() < bytes) text += part;
    return text;
  }
  // A list of so many bytes: [PART,PART,…,1]
  static std::string list(const std::string& part, std::size_t bytes) {
    return "[" + repeated(part + ",", bytes) + "1]";
  }
  static std::string review(const std::string& object) {
    return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x","object":)" +
           object + "}}";
  }
  static std::string policy(const std::string& env) {
    return R"({"kind":"NcclPolicy","apiVersion":"nccl-env.io/v1alpha1","metadata":{"name":"p"},)"
           R"("spec":{"match":{"hostDevices":true},"env":)" +
           env + "}}";
  }

  // The status; a body of megabytes does not fit into the pipe to curl.
  int send(const std::string& body, const std::vector<std::string>& more = {}) const {
    std::ofstream(path("hostile.json")) << body;
    std::vector<std::string> all{"--cacert",
                                 path("pki/ca.crt"),
                                 "-H",
                                 "Content-Type: application/json",
                                 "--data-binary",
                                 "@" + path("hostile.json"),
                                 "https://127.0.0.1:" + std::to_string(port_) + "/validate"};
    all.insert(all.end(), more.begin(), more.end());
    return curl(all).status;
  }
  void expect_good_answers() const {
    EXPECT_TRUE(admit(pod_review()).contains("patch"));
    const Reply reply = post("/validate", review(policy(R"({"NCCL_IB_TIMEOUT":"22"})")));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json()["response"]["allowed"], true);
  }
  // The largest resident size so far, in MiB.
  [[nodiscard]] int peak() const {
    const std::string status = read_text("/proc/" + std::to_string(webhook_->pid()) + "/status");
    const auto at = status.find("VmHWM:");
    return at == status.npos ? -1 : std::stoi(status.substr(at + 6)) / 1024;
  }
};

TEST_F(WebhookStrangers, NestedPoliciesDoNotEndTheProcess) {
  EXPECT_EQ(send(review(std::string(131'500, '[') + std::string(131'500, ']'))), 400);  // 263 kB
  EXPECT_EQ(send(review(repeated("{\"\":", 296'000))), 400);
  EXPECT_EQ(send(std::string(1'000'000, '[')), 400);
  EXPECT_EQ(send(review(std::string(1'000'000, '['))), 400);
  EXPECT_EQ(send(review(std::string(1'000'000, '[') + std::string(1'000'000, ']'))), 413);
  expect_good_answers();
}

TEST_F(WebhookStrangers, OneMebibyteIsEnoughForAPolicy) {
  EXPECT_EQ(send(std::string(webhook::kMaxPolicyReview + 1, ' ')), 413);
  EXPECT_EQ(send(std::string(webhook::kMaxPolicyReview + 1, ' '), {"-H", "Transfer-Encoding: chunked"}), 413);
  EXPECT_EQ(send(std::string(webhook::kMaxPolicyReview, ' ')), 400);
  expect_good_answers();
}

TEST_F(WebhookStrangers, NoPolicyTakesMoreMemoryThanItsShare) {
  const int before = peak();
  for (const char* part : {"[]", "\"\"", "{}"}) {
    EXPECT_EQ(send(review(list(part, 8'000'000))), 413) << part;
    EXPECT_EQ(send(review(policy(list(part, webhook::kMaxPolicyReview - 1024)))), 400) << part;
    EXPECT_EQ(send(review(policy(list(part, 48'000)))), 200) << part;
  }
  expect_good_answers();
  if (NCCL_ENV_SANITIZED) return;  // their memory is another
  EXPECT_LT(peak() - before, 32) << "MiB";
}

TEST_F(WebhookStrangers, ErrorsAndLogsEscapeWhatTurnsTextAroundOnATerminal) {
  Json bad = pod_review();
  bad["request"]["object"]["metadata"]["annotations"]
     ["\xc2\x9b"
      "31m\xe2\x80\xae"] = 7;
  const Reply reply = post("/admit", bad.dump());
  EXPECT_EQ(reply.status, 400);
  for (const std::string& text : {reply.body, read_text(path("log"))}) {
    EXPECT_THAT(text, ::testing::Not(AnyOf(HasSubstr("\xc2\x9b"), HasSubstr("\xe2\x80\xae"))));
  }
}

}  // namespace
}  // namespace nccl_env::webhook_hostile_test
