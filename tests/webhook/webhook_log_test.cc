// SPDX-License-Identifier: Apache-2.0
// The webhook's log at a pipe that nobody reads, as when a container runtime stands still.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "core/recorded.h"
#include "webhook/webhook_fixture.h"

namespace nccl_env::webhook_log_test {
namespace {

using namespace nccl_env::tests;

class WebhookLog : public WebhookTest {
 protected:
  void SetUp() override {
    store("policy.yaml", policy_yaml());
    store("node-a.yaml", table_yaml());
    store("namespace.yaml", namespace_yaml());
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    reader_ = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    webhook_ = std::make_unique<Child>(command(), path("pipe"));
    ASSERT_TRUE(eventually([&] { return read().find("\"listening\"") != std::string::npos; })) << read_;
    const auto number = [&](const std::string& name) {
      return std::stoi(read_.substr(read_.find("\"" + name + "\":") + name.size() + 3));
    };
    port_ = number("admission_port");
    ops_port_ = number("ops_port");
  }
  void TearDown() override { ::close(reader_); }

  // All that came so far.
  const std::string& read() {
    std::array<char, 65536> block;
    ssize_t size = 0;
    while ((size = ::read(reader_, block.data(), block.size())) > 0)
      read_.append(block.data(), static_cast<std::size_t>(size));
    return read_;
  }
  // Requests, each with a decision of some 4 KB in the log; how many were answered with 200.
  [[nodiscard]] int send(int requests) const {
    Json review = pod_review();
    Json& containers = review["request"]["object"]["spec"]["containers"];
    const Json container = containers[0];
    for (int i = 0; i < 30; ++i) {
      containers.push_back(container);
      containers.back()["name"] = "container-" + std::to_string(i);
    }
    int good = 0;
    for (int left = requests; left > 0; left -= 250) {  // no more than a slow machine answers in kPatience
      const CommandResult result = run_command(
          {"curl", "-q", "-sS", "--noproxy", "*", "--max-time", "30", "--cacert", path("pki/ca.crt"), "-H",
           "Content-Type: application/json", "--data-binary", "@-", "-o", "/dev/null", "-w", "%{http_code}\n",
           "https://127.0.0.1:" + std::to_string(port_) + "/admit?[1-" + std::to_string(std::min(left, 250)) +
               "]"},
          review.dump(), path("curl.err"));
      std::istringstream lines(result.output);
      for (std::string line; std::getline(lines, line);) good += line == "200" ? 1 : 0;
    }
    return good;
  }
  // Decisions, and how many lines are said to be missing; each line has to be whole.
  std::pair<int, int> told() {
    int decisions = 0, missing = 0;
    std::istringstream lines(read());
    for (std::string line; std::getline(lines, line);) {
      const Json entry = Json::parse(line, nullptr, false);
      EXPECT_TRUE(entry.is_object()) << line;
      if (!entry.is_object()) continue;
      decisions += entry["msg"] == "decision" ? 1 : 0;
      if (entry["msg"] == "log lines dropped") missing += entry["count"].get<int>();
    }
    return {decisions, missing};
  }

  int reader_ = -1;
  std::string read_;
};

TEST_F(WebhookLog, APipeThatNobodyReadsStopsNoAnswerAndNoProbe) {
  EXPECT_EQ(send(700), 700);  // more than the pipe holds, and twice what waits for it
  EXPECT_EQ(ops("/healthz").status, 200);
  EXPECT_EQ(ops("/readyz").status, 200);
  const double dropped = metric("nccl_env_log_lines_dropped_total");
  EXPECT_GT(dropped, 0);
  ASSERT_TRUE(eventually([&] { return read().find("\"log lines dropped\"") != std::string::npos; }));
  EXPECT_EQ(send(10), 10);
  webhook_->signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return read().find("\"stopped\"") != std::string::npos; }));
  EXPECT_EQ(webhook_->wait(), 0);
  const auto [decisions, missing] = told();
  EXPECT_EQ(missing, dropped);
  EXPECT_EQ(decisions + missing, 710);
  webhook_.reset();
}

TEST_F(WebhookLog, APipeThatNobodyReadsStopsNoDrain) {
  EXPECT_EQ(send(100), 100);  // more than a pipe holds
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(read().find("\"stopped\""), std::string::npos);
}

}  // namespace
}  // namespace nccl_env::webhook_log_test
