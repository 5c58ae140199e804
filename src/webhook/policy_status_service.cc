// SPDX-License-Identifier: Apache-2.0
#include "policy_status_service.h"

#include "nccl_env/core/policy/reader.h"
#include "nccl_env/program/clock.h"

namespace nccl_env::app {
namespace {}  // namespace

Result<std::unique_ptr<PolicyStatusService>> PolicyStatusService::make(const kube::ClientConfig& api,
                                                                       PolicyOptions options,
                                                                       std::chrono::seconds max_table_age,
                                                                       const std::shared_ptr<Logger>& log) {
  auto client = kube::Client::make(api, log);
  if (!client) return client.error();
  return std::unique_ptr<PolicyStatusService>(
      new PolicyStatusService(*std::move(client), options, max_table_age, log));
}

PolicyStatusService::PolicyStatusService(std::unique_ptr<kube::Client> client, PolicyOptions options,
                                         std::chrono::seconds max_table_age,
                                         const std::shared_ptr<Logger>& log)
    : client_(std::move(client)),
      conditions_([this](const kube::Call& call) { return client_->call(call); }, options, max_table_age,
                  clock_now, [this] { writer_->wake(); }, log),
      log_(log) {}

void PolicyStatusService::start() {
  writer_ =
      std::make_unique<Repeating>([this] { return conditions_.write(std::chrono::steady_clock::now()); });
  informer_ =
      std::make_unique<kube::Informer>(*client_, kube::Collection{kPoliciesPath, {}}, conditions_, log_);
}

PolicyStatusService::~PolicyStatusService() {
  client_->stop();
}

void PolicyStatusService::add_metrics(MetricRegistry& registry) const {
  registry.add_counter_reader({"nccl_env_policy_condition_writes_total",
                               "Conditions of NcclPolicies, by what became of writing them.",
                               {"outcome"},
                               {{"written"}, {"failed"}}},
                              [this](std::size_t i) {
                                const PolicyConditionsStats stats = conditions_.stats();
                                return static_cast<double>(i == 0 ? stats.written : stats.failed);
                              });
}

}  // namespace nccl_env::app
