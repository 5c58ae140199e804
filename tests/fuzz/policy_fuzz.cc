// SPDX-License-Identifier: Apache-2.0
// Any text as NcclPolicy manifests: refused with a finding; or read, written and read again unchanged, and
// then every value it gives is one that the catalogue accepts.
#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/policy/writer.h"

namespace nccl_env::fuzz::policy_fuzz {
namespace {

void check_values(const NcclPolicy& policy) {
  const NodeFabric table = sample_table();
  for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
    const NodeValues values = node_values(policy, table.name, &table, exposure, sample_context());
    for (const auto& [name, value] : values.set)
      require(!value_problem(name, value), "a value from the node is in bounds");
  }
  for (const auto& [name, value] : policy.env)
    require(!value_problem(name, value), "a constant of an accepted policy is in bounds");
}

void check_plan(const NcclPolicy& policy) {
  static const std::string kPod =
      R"({"spec":{"hostNetwork":true,"containers":[{"name":"c","resources":{"limits":{"rdma/hca":"1"}}}]}})";
  ReviewParser parser;
  const auto pod = parser.parse_pod(kPod);
  for (const PlanOptions& options : sample_options()) {
    const Plan plan = plan_pod(*pod, policy, options);
    require(plan.inject || plan.reason, "what is not injected has a reason");
  }
}

}  // namespace

FUZZ_TARGET(policy) {
  const PolicyOptions options{(take_byte(input) & 1) != 0};
  const auto documents = parse_documents(input, "policy.yaml");
  if (!documents) return require(!documents.error().message.empty(), "a refusal has a sentence");
  for (const nlohmann::json& document : *documents) {
    const PolicyReading reading = read_policy(document, options);
    if (!reading.policy) {
      require(!reading.findings.empty(), "a refused policy has a finding");
      continue;
    }
    const nlohmann::json written = to_json(*reading.policy);
    const PolicyReading again = read_policy(written, options);
    require(again.policy && to_json(*again.policy) == written, "written and read again unchanged");
    check_values(*reading.policy);
    check_plan(*reading.policy);
  }
}

}  // namespace nccl_env::fuzz::policy_fuzz
