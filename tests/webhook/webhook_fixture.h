// SPDX-License-Identifier: Apache-2.0
// nccl-env-webhook as a process on loopback, with curl as its client.
#pragma once

#include <csignal>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "store/manifests.h"
#include "support/child.h"
#include "support/matchers.h"
#include "support/places.h"
#include "support/temporary_directory.h"
#include "webhook/reviews.h"

namespace nccl_env::tests {

struct Reply {
  int status = 0;  // 0: curl got none
  std::string head;
  std::string body;
  [[nodiscard]] Json json() const { return Json::parse(body, nullptr, false); }
  [[nodiscard]] bool closes() const { return head.find("\r\nConnection: close\r\n") != std::string::npos; }
};

class WebhookTest : public ::testing::Test {
 public:
  ~WebhookTest() override;

 protected:
  WebhookTest();

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  // A file of the store, replaced in one step.
  void store(const std::string& name, const std::string& text) const;
  void remove(const std::string& name) const { std::filesystem::remove(directory_ / "store" / name); }

  static std::string program() { return tests::in_build("/bin/nccl-env-webhook"); }
  // The command line, with a certificate and a store of its own unless `more` says --tls-cert or --store.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more = {}) const;
  // Starts it and waits until it listens.
  void start(const std::vector<std::string>& more = {});
  // SIGTERM; the exit code, 0 unless a sanitizer found something.
  int stop();

  Reply curl(std::vector<std::string> arguments, std::string_view body = {}) const;
  Reply post(const std::string& target, std::string_view body,
             const std::vector<std::string>& more = {}) const;
  [[nodiscard]] Reply ops(const std::string& target, const std::vector<std::string>& more = {}) const;
  // The response of a review; null if the answer isn't one.
  Json admit(const Json& review) const;
  [[nodiscard]] double metric(const std::string& series) const;  // -1: there is no such series
  [[nodiscard]] std::set<std::string> metric_names() const;
  // Names in docs/reference/webhook.md, without those that only a store that watches a cluster, or only
  // managed certificates, have.
  static std::set<std::string> documented_metrics();
  // Waits for so many at least: a line may be written after the answer that it tells of.
  [[nodiscard]] std::vector<Json> log(const std::string& message, std::size_t least = 0) const;
  // The whole way of a pod: CREATE, Binding, and what NCCL then finds set in its first container.
  [[nodiscard]] std::map<std::string, std::string> environment_of(const Json& pod_review) const;

  const TemporaryDirectory place_;
  const std::filesystem::path directory_ = place_.path();
  std::unique_ptr<Child> webhook_;
  int port_ = 0;
  int ops_port_ = 0;
};

}  // namespace nccl_env::tests
