// SPDX-License-Identifier: Apache-2.0
// Any text as NodeFabric manifests: refused with a message; or read, written and read again unchanged, and
// then what we choose is what NCCL uses by its own rules.
#include <set>

#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/packed_table.h"

namespace nccl_env::fuzz::node_fabric_fuzz {
namespace {

void check_selection(const NodeFabric& table, const NcclPolicy& policy, const NodeValues& values) {
  const auto choice = choose_ports(table, policy.fabric, Exposure::Host, sample_context().now);
  require(choice.verdicts.size() == table.ports.size(), "every port has a verdict");
  require(choice.ports.empty() == choice.reason.has_value(), "either ports or a reason");
  std::set<std::pair<std::string, int>> chosen;
  const std::set<const Port*> fabric(choice.fabric.begin(), choice.fabric.end());
  for (const Port* port : choice.ports) {
    chosen.emplace(port->hca, port->number);
    require(fabric.contains(port), "what is offered is of the fabric");
  }
  const bool listed = policy.hca.kind == HcaRule::Kind::FromNode && values.set.contains(variable::kIbHca);
  for (const NcclVersion& version : {NcclVersion{2, 18, 3}, NcclVersion{2, 22, 3}, kNewestNccl}) {
    const auto selection = nccl_select(table, {values.set.begin(), values.set.end()}, version);
    to_json(selection).dump();
    for (const auto& port : selection.ports)
      require(!listed || chosen.contains({port.hca, port.port}), "NCCL uses no port that was not chosen");
  }
}

void check_decisions(const NodeFabric& table) {
  for (const auto& policy : sample_policies()) {
    for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface}) {
      const NodeValues values = node_values(*policy, table.name, &table, exposure, sample_context());
      for (const auto& [name, value] : values.set)
        require(!value_problem(name, value), "a value from the node is in bounds");
      if (exposure == Exposure::Host) check_selection(table, *policy, values);
    }
  }
}

}  // namespace

FUZZ_TARGET(node_fabric) {
  const auto documents = parse_documents(input, "node.yaml");
  if (!documents) return require(!documents.error().message.empty(), "a refusal has a sentence");
  for (const nlohmann::json& document : *documents) {
    const auto table = parse_node_fabric(document);
    if (!table) {
      require(!table.error().message.empty(), "a refusal has a sentence");
      continue;
    }
    const auto written = to_json(*table);
    const auto again = parse_node_fabric(unordered(written));
    require(again && to_json(*again) == written, "written and read again unchanged");
    const auto older = parse_node_fabric(unordered(to_json(*table, RowsForm::Objects)));
    require(older && to_json(*older) == written, "the same in the older form of rows");
    require(to_json(PackedTable(*table).unpack()) == written, "packed and unpacked unchanged");
    const auto from_yaml = parse_documents(to_yaml(written), "written.yaml");
    require(from_yaml && from_yaml->size() == 1 && from_yaml->front() == unordered(written),
            "the same as YAML");
    check_decisions(*table);
  }
}

}  // namespace nccl_env::fuzz::node_fabric_fuzz
