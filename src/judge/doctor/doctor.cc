// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/doctor/doctor.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "doctor/checks.h"
#include "nccl_env/core/choose/ports.h"
#include "nccl_env/core/decide/table_age.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/explains.h"
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
  if (view.table->dated()) state.age = input.now - *view.table->dated();
  state.stale = is_stale(view.table->dated(), {input.now, input.max_table_age});
  if (state.stale) {  // its pods get nothing of it
    state.reason = to_string(Reason::StaleTable);
    return state;
  }
  if (view.reason) state.reason = to_string(*view.reason);
  if (view.host_reason) state.host_reason = to_string(*view.host_reason);
  for (const Port* port : view.offered) {
    state.hcas.push_back(doctor::port_name(view, *port));
    if (const auto rate = rate_of(*port)) state.rates.push_back(*rate);
    state.unknown_states += port->state ? 0 : 1;
    // A listing tells addresses without their prefixes, by which nodes are compared, or no GIDs at all.
    const bool infiniband = link_layer_of(*port) == LinkLayer::InfiniBand;
    state.unknown_rows += infiniband || port->gids ? 0 : 1;
    state.unknown_subnets += port->gids && (infiniband || view.table->interfaces) ? 0 : 1;
  }
  if (!view.offered.empty()) state.hca_list = format_hca_list(*view.table, view.offered);
  state.gid_index = view.given.index;
  state.gid_searched = view.given.searched;
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
  const auto alike = shares_of(all_members(findings.size()), [&](std::size_t i) {
    const Finding& finding = findings[i];
    return std::optional(std::tuple(finding.code, finding.severity, finding.subject.name, finding.sentence));
  });
  std::vector<bool> gone(findings.size());
  for (const auto& [key, places] : alike.members_with) {
    auto& parts = findings[places.front()].subject.parts;
    for (const std::size_t i : places) {
      gone[i] = i != places.front();
      if (gone[i]) std::ranges::copy(findings[i].subject.parts, std::back_inserter(parts));
    }
  }
  erase_marked(gone, findings);
}

// One finding of the pool for what all of its nodes have to say that is no error, such as of a policy or a
// plan.
void merge_nodes(const std::vector<PoolView>& pools, std::vector<Finding>& findings) {
  std::map<std::string_view, const PoolView*> pool_of_node;
  for (const PoolView& pool : pools) {
    if (pool.small()) continue;
    for (const NodeView* node : pool.nodes) pool_of_node.emplace(node->table->name, &pool);
  }
  using Parts = std::vector<std::string>;
  using Key = std::tuple<const PoolView*, Code, Parts, std::string>;
  const auto alike = shares_of(all_members(findings.size()), [&](std::size_t i) {
    const auto& [code, severity, subject, sentence, remedy, clause, slight] = findings[i];
    const auto found = pool_of_node.find(subject.name);
    if (found == pool_of_node.end() || severity == Severity::Error) return std::optional<Key>();
    return std::optional(
        Key(found->second, code, found->second->by_name ? subject.parts : Parts(), sentence));
  });
  std::vector<bool> gone(findings.size());
  for (const auto& [key, places] : alike.members_with) {
    const auto& [pool, code, parts, sentence] = key;
    if (places.size() < pool->nodes.size()) continue;
    for (const std::size_t i : places) gone[i] = i != places.front();
    Finding& first = findings[places.front()];
    first.subject = {.kind = "Pool", .name = pool->name, .parts = parts};
    first.sentence = "on all " + count_of(places.size(), "node") + " of the pool: " + sentence;
  }
  erase_marked(gone, findings);
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
      state.expected = static_cast<int>(pool.expected());
      state.rail_ports = rail_ports(pool, i);
    }
    doctor::Report report(pool, input, findings);
    doctor::check_nodes(report);
    doctor::check_attributes(report);
    doctor::check_index(report);
  }
  doctor::check_duplicates(pools, input, findings);
  doctor::check_bare(views, findings);
  merge_ports(findings);
  fold_consequences(Among::Node, findings);
  merge_nodes(pools, findings);
  add_tableless(input, diagnosis.nodes, findings);
  add_findings(std::move(findings), diagnosis);
  return diagnosis;
}

FindingsByNode findings_by_node(const Diagnosis& diagnosis) {
  FindingsByNode found;
  for (const Finding& finding : diagnosis.findings) {
    const auto& [kind, name_space, name, path, file, line, parts] = finding.subject;
    if (kind == "Node") found[name].push_back(&finding);
    const auto pool = std::ranges::find(diagnosis.pools, kind == "Pool" ? name : "", &Pool::name);
    if (pool == diagnosis.pools.end()) continue;
    for (const std::string& node : pool->nodes) found[node].push_back(&finding);
  }
  return found;
}

std::string unknown_text(std::span<const NodeState> nodes) {
  constexpr std::pair<const char*, int NodeState::*> kFacts[] = {{"state", &NodeState::unknown_states},
                                                                 {"GIDs", &NodeState::unknown_rows},
                                                                 {"subnet", &NodeState::unknown_subnets}};
  std::size_t ports = 0;
  for (const NodeState& node : nodes) ports += node.hcas.size();
  std::vector<std::string> unknown;
  for (const auto& [fact, member] : std::span(kFacts).first(nodes.size() > 1 ? 3 : 2)) {
    int count = 0;
    for (const NodeState& node : nodes) count += node.*member;
    if (count > 0) unknown.push_back(fact + (" not known for " + std::to_string(count)));
  }
  return unknown.empty() ? "" : join(unknown) + " of " + count_of(ports, "fabric port");
}

std::string remedy_of_moved(const std::string& node) {
  return "Create anew the pods of the node that have an index and began before that time (`kubectl get pods "
         "-A --field-selector spec.nodeName=" +
         node +
         "`; where doctor asks the cluster, it names them). Find what takes the address away (link, DHCP "
         "lease, network manager) and keep it; for a day no index of that address is pinned.";
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

using Told = std::vector<const Finding*>;

// " on gpu-1, gpu-7", " on 12 nodes"; "": not of nodes alone.
std::string nodes_at_fault(const Told& told) {
  std::set<std::string_view> known;
  std::vector<std::string> names;
  for (const Finding* finding : told) {
    if (finding->subject.kind != "Node") return {};
    if (known.insert(finding->subject.name).second) names.push_back(finding->subject.name);
  }
  return " on " + (names.size() > kMostNodes ? count_of(names.size(), "node") : join(names));
}

// "HcaMissing, NoFabric": each code once; "PortDown mlx5_1-4" where all name the same ports.
std::string causes_of(const Told& told) {
  std::vector<std::string_view> codes;
  bool alike = true;
  for (const Finding* finding : told) {
    if (codes.empty() || codes.back() != to_string(finding->code)) codes.push_back(to_string(finding->code));
    alike = alike && finding->subject.parts == told.front()->subject.parts;
  }
  const std::vector<std::string>& ports = told.front()->subject.parts;
  return join(codes) + (alike && codes.size() == 1 && !ports.empty() ? " " + short_list(ports) : "");
}

// "1 error (PortDown mlx5_3) on gpu-4, 2 info (NoFabric) on cpu-1, cpu-2"
std::string found_text(const Diagnosis& diagnosis) {
  std::string text;
  for (std::size_t i = 0; i < kSeverities; ++i) {
    const auto severity = static_cast<Severity>(i);
    Told told;
    for (const Finding& finding : diagnosis.findings) {
      if (finding.severity == severity) told.push_back(&finding);
    }
    if (told.empty()) continue;
    text += (text.empty() ? "" : ", ") +
            (severity == Severity::Info ? std::to_string(told.size()) + " info"
                                        : count_of(told.size(), std::string(to_string(severity)))) +
            " (" + causes_of(told) + ")" + nodes_at_fault(told);
  }
  return text;
}

// One sentence without its full stop, and one line, whatever its length: the diagnosis.
std::string headline(const Diagnosis& diagnosis) {
  const auto& [pools, nodes, findings] = diagnosis;
  const std::string text = count_of(nodes.size(), "node") + ", " + count_of(pools.size(), "pool") + ": ";
  const std::string found = found_text(diagnosis), unknown = unknown_text(nodes);
  const std::string rest = unknown.empty() ? "" : "; " + unknown;
  if (!is_good(findings)) return text + found + rest;
  if (pools.empty() && !nodes.empty()) return text + "no table holds RDMA hardware";
  // An info may be a question, such as whether cards fell off.
  if (!found.empty()) return text + "no error or warning, " + found + rest;
  return text + (unknown.empty() ? "healthy" : "nothing found" + rest);
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
  return headline(diagnosis) + "\n" + render_sections(diagnosis.findings) + pools_text(diagnosis.pools);
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  const auto json_of = [](const Pool& pool) {
    return OrderedJson{{"name", pool.name}, {"shape", pool.shape}, {"nodes", pool.nodes}};
  };
  return {{"good", is_good(diagnosis.findings)},
          {"sentence", headline(diagnosis)},
          {"nodes", diagnosis.nodes.size()},
          {"errors", count(diagnosis.findings, Severity::Error)},
          {"warnings", count(diagnosis.findings, Severity::Warning)},
          {"infos", count(diagnosis.findings, Severity::Info)},
          {"findings", to_json(diagnosis.findings)},
          {"pools", array_of(diagnosis.pools, json_of)}};
}

}  // namespace nccl_env
