// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/doctor.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "doctor/checks.h"
#include "nccl_env/core/choose/gid_index.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env {

namespace {

using doctor::NodeView;
using doctor::PoolView;

NodeState state_of(const NodeView& view, const DoctorInput& input) {
  NodeState state;
  state.node = view.table->name;
  if (view.table->time) {
    state.age = input.now - *view.table->time;
    state.stale = *state.age > input.max_table_age;
  }
  if (state.stale) {  // its pods get nothing of it
    state.reason = to_string(Reason::StaleTable);
    return state;
  }
  if (view.reason) state.reason = to_string(*view.reason);
  for (const Port* port : view.offered) {
    state.hcas.push_back(doctor::port_name(*view.table, *port));
    if (const auto rate = rate_of(*port)) state.rates.push_back(*rate);
    state.unknown_states += port->state ? 0 : 1;
  }
  if (!view.offered.empty()) state.hca_list = format_hca_list(*view.table, view.offered);
  state.gid_index = view.index;
  return state;
}

// The ports of the pool's node at `position`.
std::vector<int> rail_ports(const PoolView& pool, std::size_t position) {
  const NodeFabric& table = *pool.nodes[position]->table;
  std::vector<int> indexes;
  for (const doctor::Rail& rail : pool.rails) {
    const Port* port = rail.ports[position];
    indexes.push_back(port ? static_cast<int>(port - table.ports.data()) : -1);
  }
  return indexes;
}

Pool pool_of(const PoolView& view) {
  Pool pool{view.name, doctor::shape_text(view.nodes.front()->shape), {}, {}, view.by_name};
  for (const doctor::Rail& rail : view.rails) pool.rails.push_back({rail.name, rail.fabric});
  for (const NodeView* node : view.nodes) pool.nodes.push_back(node->table->name);
  std::ranges::sort(pool.nodes, hca_name_less);
  return pool;
}

// A node without a table stands among the others, which have one.
void add_tableless(const DoctorInput& input, std::vector<NodeState>& nodes, std::vector<Finding>& findings) {
  const std::string reason(to_string(Reason::NoTable));
  for (const TablelessNode& each : input.tableless) {
    NodeState& state = nodes.emplace_back();
    state.node = each.node;
    state.reason = reason;
    findings.push_back({Code::NoFabric, each.needed ? Severity::Error : Severity::Info, of_node(each.node),
                        reason + ": " + each.why, std::string(remedy(Reason::NoTable))});
  }
  std::ranges::stable_sort(nodes, hca_name_less, &NodeState::node);
}

// One finding for all ports of a node that have the same to say.
void merge_ports(std::vector<Finding>& findings) {
  std::map<std::tuple<Code, Severity, std::string, std::string>, std::size_t> first;
  std::vector<Finding> merged;
  for (Finding& finding : findings) {
    const auto key = std::tuple(finding.code, finding.severity, finding.subject.name, finding.sentence);
    const auto known = first.find(key);
    if (known == first.end() || finding.subject.kind != "Node" || finding.subject.parts.empty()) {
      first.insert_or_assign(key, merged.size());
      merged.push_back(std::move(finding));
    } else {
      auto& parts = merged[known->second].subject.parts;
      parts.insert(parts.end(), finding.subject.parts.begin(), finding.subject.parts.end());
    }
  }
  findings = std::move(merged);
}

// Slow ports of a whole node, or of half a pool, have one cause, which is hardly a cable.
void judge_slow_nodes(const std::vector<NodeView>& views, std::vector<Finding>& findings) {
  std::map<std::string_view, const NodeView*> by_name;
  for (const NodeView& view : views) by_name.emplace(view.table->name, &view);
  for (Finding& finding : findings) {
    if (finding.code != Code::RateLow) continue;
    const auto node = by_name.find(finding.subject.name);
    const std::size_t ports = finding.subject.parts.size();
    const bool whole = finding.subject.kind == "Pool" ||
                       (node != by_name.end() && ports > 1 && ports >= node->second->fabric.size());
    if (whole)
      finding.remedy =
          "Ports that are slow alike are hardly so by their cables: compare driver, firmware and settings "
          "(mlxlink, ethtool) and the speed of the switch's ports with those of good ones.";
  }
}

bool is_cause(const Finding& finding) {
  const Code code = finding.code;
  return finding.severity == Severity::Error && (code == Code::PortDown || code == Code::HcaMissing ||
                                                 code == Code::NoAddress || code == Code::HardwareDiffers);
}

// A node offers no fabric because of ports that are down, missing or without an address: those say so, with
// one remedy. Returns these nodes.
std::set<const NodeView*> fold_into_causes(const std::vector<NodeView>& views,
                                           std::vector<Finding>& findings) {
  std::map<std::string, Finding*> causes;
  for (Finding& finding : findings) {
    if (is_cause(finding)) causes.emplace(finding.subject.name, &finding);
  }
  std::set<const NodeView*> folded;
  for (const NodeView& view : views) {
    const auto found = causes.find(view.table->name);
    if (!view.reason || found == causes.end()) continue;
    Finding& cause = *found->second;
    cause.sentence += "; so its pods get no HCA list (" + std::string(to_string(*view.reason)) + ")";
    if (cause.code == Code::PortDown && cause.remedy.empty() && view.reason == Reason::TooFewPorts)
      cause.remedy = std::string(remedy_of(cause)) + " Or lower spec.fabric.expectPorts.";
    folded.insert(&view);
  }
  return folded;
}

}  // namespace

Diagnosis diagnose(const DoctorInput& input) {
  std::vector<NodeView> views;
  views.reserve(input.tables.size());  // pools point into it
  for (const auto& table : input.tables) views.push_back(doctor::view_node(*table, input));
  std::ranges::sort(views, hca_name_less, [](const NodeView& view) { return view.table->name; });
  const std::vector<PoolView> pools = doctor::make_pools(views, input.now);

  Diagnosis diagnosis;
  std::vector<Finding> findings;
  for (const NodeView& view : views) diagnosis.nodes.push_back(state_of(view, input));
  for (const PoolView& pool : pools) {
    diagnosis.pools.push_back(pool_of(pool));
    for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
      NodeState& state = diagnosis.nodes[static_cast<std::size_t>(pool.nodes[i] - views.data())];
      state.pool = pool.name;
      state.expected = pool.expected();
      state.rail_ports = rail_ports(pool, i);
    }
    doctor::Report report(pool, input, findings);
    doctor::check_node(report);
    doctor::check_presence(report);
    doctor::check_speed(report);
    doctor::check_index(report);
    doctor::check_drift(report);
    doctor::check_subnets(report);
  }
  doctor::check_duplicates(pools, input, findings);
  doctor::check_kinds(pools, input, findings);
  doctor::check_bare(views, pools, findings);
  merge_ports(findings);
  judge_slow_nodes(views, findings);
  const std::set<const NodeView*> told = fold_into_causes(views, findings);
  for (const PoolView& pool : pools) {
    doctor::Report report(pool, input, findings);
    doctor::check_no_fabric(report, told);
  }
  add_tableless(input, diagnosis.nodes, findings);
  add_findings(std::move(findings), diagnosis);
  return diagnosis;
}

std::vector<std::vector<std::size_t>> findings_by_node(const Diagnosis& diagnosis) {
  std::map<std::string_view, std::vector<std::size_t>> of_node, of_pool;
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i) {
    const Subject& subject = diagnosis.findings[i].subject;
    if (subject.kind == "Node") of_node[subject.name].push_back(i);
    if (subject.kind == "Pool") of_pool[subject.name].push_back(i);
  }
  std::vector<std::vector<std::size_t>> found;
  found.reserve(diagnosis.nodes.size());
  for (const NodeState& node : diagnosis.nodes)
    std::ranges::merge(of_node[node.node], of_pool[node.pool], std::back_inserter(found.emplace_back()));
  return found;
}

std::vector<std::string> nodes_with_drift(const DoctorInput& input) {
  std::vector<std::string> nodes;
  for (const auto& table : input.tables) {
    for (const Port& port : table->ports) {
      if (port.gid_index_changes.value_or(0) == 0) continue;
      nodes.push_back(table->name);
      break;
    }
  }
  return nodes;
}

std::vector<std::string> nodes_with_neighbours(const DoctorInput& input, const Diagnosis& diagnosis) {
  const auto plain = [](const auto& policy) { return policy->deliver_env_file || policy->deliver_reference; };
  std::vector<std::string> nodes;
  if (std::ranges::none_of(input.policies, plain)) return nodes;
  std::map<std::string_view, const NodeFabric*> tables;
  for (const auto& table : input.tables) tables.emplace(table->name, table.get());
  for (const NodeState& state : diagnosis.nodes) {
    const NcclEnv as_plain{
        {std::string(variable::kIbHca), state.hca_list.substr(state.hca_list.starts_with('='))}};
    if (state.hca_list.empty()) continue;
    const NcclSelection selection = nccl_select(*tables.at(state.node), as_plain, kNewestNccl);
    const auto is_neighbour = [](const auto& fault) { return fault.first == NcclFault::Neighbour; };
    if (std::ranges::any_of(selection.faults, is_neighbour)) nodes.push_back(state.node);
  }
  return nodes;
}

void add_findings(std::vector<Finding> more, Diagnosis& into) {
  into.findings.insert(into.findings.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
  std::ranges::stable_sort(into.findings, more_urgent);
}

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kSeverities = 3;
// Nodes by name: enough to identify a pool, or to go to them.
constexpr std::size_t kMostNodes = 3;

// Tells of ports that no check could judge: that does not make them healthy.
std::string unknown_line(const Diagnosis& diagnosis) {
  std::size_t ports = 0;
  int unknown = 0;
  for (const NodeState& node : diagnosis.nodes) {
    ports += node.hcas.size();
    unknown += node.unknown_states;
  }
  if (unknown == 0) return {};
  return "state not known for " + std::to_string(unknown) + " of " + count_of(ports, "fabric port") + "\n";
}

// " on gpu-1, gpu-7": the nodes with findings of that severity, where these are few.
std::string nodes_at_fault(const Diagnosis& diagnosis, Severity severity) {
  if (severity == Severity::Info || diagnosis.nodes.size() == 1) return {};
  std::vector<std::string> names;
  for (const Finding& finding : diagnosis.findings) {
    const std::string& name = finding.subject.name;
    if (finding.severity != severity) continue;
    if (finding.subject.kind != "Node" || name.empty()) return {};
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    if (names.size() > kMostNodes) return {};
  }
  return " on " + join(names);
}

// "HcaMissing, NoFabric": each code once.
std::string codes_of(const std::vector<Finding>& findings) {
  std::vector<std::string_view> codes;
  for (const Finding& finding : findings) {
    if (codes.empty() || codes.back() != to_string(finding.code)) codes.push_back(to_string(finding.code));
  }
  return join(codes);
}

std::string headline(const Diagnosis& diagnosis) {
  std::string text =
      count_of(diagnosis.nodes.size(), "node") + ", " + count_of(diagnosis.pools.size(), "pool") + ": ";
  std::string found;
  for (std::size_t i = 0; i < kSeverities; ++i) {
    const auto severity = static_cast<Severity>(i);
    const std::size_t number = count(diagnosis.findings, severity);
    if (number == 0) continue;
    found += (found.empty() ? "" : ", ") +
             (severity == Severity::Info ? std::to_string(number) + " info"
                                         : count_of(number, std::string(to_string(severity)))) +
             nodes_at_fault(diagnosis, severity);
  }
  int unknown = 0;
  for (const NodeState& node : diagnosis.nodes) unknown += node.unknown_states;
  const std::string good = unknown > 0 ? "nothing found" : "healthy";
  if (diagnosis.pools.empty() && !diagnosis.nodes.empty() && is_good(diagnosis.findings))
    return text + "no table holds RDMA hardware\n";
  return text +
         (found.empty() ? good
          // An info may be a question, such as whether cards fell off.
          : is_good(diagnosis.findings)
              ? "no error or warning, " + found + " (" + codes_of(diagnosis.findings) + ")"
              : found) +
         "\n" + unknown_line(diagnosis);
}

std::string pools_text(const std::vector<Pool>& pools) {
  if (pools.empty()) return {};
  TextColumns columns(2);
  for (const Pool& pool : pools)
    columns.add({pool.name, count_of(pool.nodes.size(), "node"),
                 pool.shape + ": " + join_some(pool.nodes, kMostNodes)});
  return "\npools\n" + columns.render();
}

}  // namespace

std::string render_text(const Diagnosis& diagnosis) {
  return headline(diagnosis) + render_sections(diagnosis.findings) + pools_text(diagnosis.pools);
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_good(diagnosis.findings);
  json["nodes"] = diagnosis.nodes.size();
  json["errors"] = count(diagnosis.findings, Severity::Error);
  json["warnings"] = count(diagnosis.findings, Severity::Warning);
  json["infos"] = count(diagnosis.findings, Severity::Info);
  json["findings"] = to_json(diagnosis.findings);
  json["pools"] = OrderedJson::array();
  for (const Pool& pool : diagnosis.pools)
    json["pools"].push_back({{"name", pool.name}, {"shape", pool.shape}, {"nodes", pool.nodes}});
  return json;
}

}  // namespace nccl_env
