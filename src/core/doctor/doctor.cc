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
#include "nccl_env/core/decide/table_age.h"
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
    state.stale = *state.age > input.max_table_age || is_ahead(view.table->time, input.now);
  }
  if (state.stale) {  // its pods get nothing of it
    state.reason = to_string(Reason::StaleTable);
    return state;
  }
  if (view.reason) state.reason = to_string(*view.reason);
  if (view.host_reason) state.host_reason = to_string(*view.host_reason);
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

bool is_cause(const Finding& finding) {
  const Code code = finding.code;
  return finding.severity != Severity::Info && (code == Code::PortDown || code == Code::HcaMissing ||
                                                code == Code::NoAddress || code == Code::HardwareDiffers);
}

// `of` follows from `from`, on one node and the same ports.
struct Consequence {
  Code of, from;
  std::string_view clause;  // that the cause then says
};

constexpr Consequence kConsequences[] = {
    {Code::SubnetDiffers, Code::NoAddress, ""},
    {Code::SubnetDiffers, Code::DuplicateAddress, ""},
    {Code::SubnetDiffers, Code::HardwareDiffers, ""},
    {Code::GidIndexDiffers, Code::NoAddress, ""},
    {Code::GidIndexDiffers, Code::GidIndexMoved, "; so no index serves all ports of the node"},
};

struct Cause {
  Finding* first = nullptr;
  std::set<std::string_view> ports;
};

using Causes = std::map<std::pair<Code, std::string>, Cause>;

// The cause of the finding, which takes over its severity; false where there is none.
bool fold_into(const Finding& finding, Causes& causes) {
  for (const Consequence& each : kConsequences) {
    if (each.of != finding.code) continue;
    const auto found = causes.find({each.from, finding.subject.name});
    if (found == causes.end()) continue;
    Cause& cause = found->second;
    const auto told = [&](const std::string& port) { return cause.ports.contains(port); };
    if (!std::ranges::all_of(finding.subject.parts, told)) continue;
    if (!cause.first->sentence.ends_with(each.clause)) cause.first->sentence += each.clause;
    cause.first->severity = std::min(cause.first->severity, finding.severity);
    return true;
  }
  return false;
}

void drop_consequences(std::vector<Finding>& findings) {
  Causes causes;
  for (Finding& finding : findings) {
    const auto is_from = [&](const Consequence& each) { return each.from == finding.code; };
    if (finding.severity == Severity::Info || finding.subject.kind != "Node" ||
        std::ranges::none_of(kConsequences, is_from))
      continue;
    Cause& cause = causes[{finding.code, finding.subject.name}];
    if (!cause.first) cause.first = &finding;
    cause.ports.insert(finding.subject.parts.begin(), finding.subject.parts.end());
  }
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    if (finding.subject.kind != "Node" || !fold_into(finding, causes)) kept.push_back(finding);
  }
  findings = std::move(kept);
}

constexpr const char* kNameTheFabric =
    "name the fabric in the policy (spec.fabric.hcas, netdevs or subnets).";

// A node offers no fabric because of ports that are down, missing or without an address: those say so, with
// one remedy. Returns these nodes.
std::set<const NodeView*> fold_into_causes(const std::vector<NodeView>& views,
                                           std::vector<Finding>& findings) {
  std::map<std::string, Finding*> causes;
  for (Finding& finding : findings) {
    if (!is_cause(finding)) continue;
    const auto [known, added] = causes.emplace(finding.subject.name, &finding);
    if (!added && finding.severity < known->second->severity) known->second = &finding;
  }
  std::set<const NodeView*> folded;
  for (const NodeView& view : views) {
    const auto found = causes.find(view.table->name);
    if (!view.reason || found == causes.end()) continue;
    Finding& cause = *found->second;
    cause.sentence += "; so its pods get no HCA list (" + std::string(to_string(*view.reason)) + ")";
    if (cause.code == Code::PortDown && view.reason == Reason::TooFewPorts &&
        cause.subject.parts.size() < view.fabric.size())
      cause.remedy = std::string(remedy_of(cause)) + " Or lower spec.fabric.expectPorts.";
    if (cause.severity == Severity::Warning && view.reason == Reason::AmbiguousFabric)
      cause.remedy = std::string(remedy_of(cause)) + " Or " + kNameTheFabric;
    cause.severity = Severity::Error;
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
  doctor::check_bare(views, findings);
  merge_ports(findings);
  drop_consequences(findings);
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

std::string remedy_of_moved(const std::string& node) {
  return "Create anew the pods of the node that have an index and began before that time (`kubectl get pods "
         "-A --field-selector spec.nodeName=" +
         node +
         "`; where doctor asks the cluster, it names them). Find what takes the address away (link, DHCP "
         "lease, network manager) and keep it; for a day no index of that address is pinned.";
}

std::vector<std::string> nodes_with_neighbours(const DoctorInput& input, const Diagnosis& diagnosis) {
  const auto plain = [](const auto& policy) { return policy->deliver_env_file; };
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

using Told = std::vector<const Finding*>;

// " on gpu-1, gpu-7", " on 12 nodes"; "": not of nodes alone. The pool of a lone node is that node.
std::string nodes_at_fault(const Diagnosis& diagnosis, const Told& told) {
  std::set<std::string_view> known;
  std::vector<std::string> names;
  for (const Finding* finding : told) {
    const bool lone = finding->subject.kind == "Pool" && diagnosis.nodes.size() == 1;
    const std::string& name = lone ? diagnosis.nodes.front().node : finding->subject.name;
    if ((finding->subject.kind != "Node" && !lone) || name.empty()) return {};
    if (known.insert(name).second) names.push_back(name);
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
            " (" + causes_of(told) + ")" + nodes_at_fault(diagnosis, told);
  }
  return text;
}

// One sentence without its full stop, and one line, whatever its length: the diagnosis.
std::string headline(const Diagnosis& diagnosis) {
  const std::string text =
      count_of(diagnosis.nodes.size(), "node") + ", " + count_of(diagnosis.pools.size(), "pool") + ": ";
  const std::string found = found_text(diagnosis);
  if (!is_good(diagnosis.findings)) return text + found;
  if (diagnosis.pools.empty() && !diagnosis.nodes.empty()) return text + "no table holds RDMA hardware";
  // An info may be a question, such as whether cards fell off.
  if (!found.empty()) return text + "no error or warning, " + found;
  return text + (unknown_line(diagnosis).empty() ? "healthy" : "nothing found");
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
  return headline(diagnosis) + "\n" + unknown_line(diagnosis) + render_sections(diagnosis.findings) +
         pools_text(diagnosis.pools);
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_good(diagnosis.findings);
  json["sentence"] = headline(diagnosis);
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
