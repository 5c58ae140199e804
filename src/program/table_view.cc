// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/table_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "nccl_env/core/choose/fabric_rule.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::program {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A GID alone takes 39 characters.
constexpr std::size_t kRowWidth = 120;

OrderedJson rows_json(const OrderedJson& rows, const std::vector<RowVerdict>& verdicts) {
  OrderedJson judged = rows;
  for (std::size_t i = 0; i < verdicts.size() && i < judged.size(); ++i) {
    judged[i]["usable"] = verdicts[i].known ? OrderedJson(verdicts[i].usable) : OrderedJson();
    judged[i]["why"] = verdicts[i].why;
  }
  return judged;
}

// Leaves out unknown facts of a port, except its state: without it, readers would think that the port is up.
// `told`: the text about the port in the line above, which may say that it is down.
std::string facts_of(const Port& port, std::string_view told) {
  std::string text;
  const auto add = [&](std::string_view fact) {
    if (!fact.empty()) text.append(text.empty() ? "" : ", ").append(fact);
  };
  std::string state(port.state ? to_string(*port.state) : "state not known");
  if (port.state_since) state += ", since " + format_timestamp(*port.state_since);
  if (!told.starts_with(state)) add(state);
  if (const auto link_layer = link_layer_of(port)) add(to_string(*link_layer));
  if (port.transport) add(to_string(*port.transport));
  const bool slower = port.max_rate_gbps && (port.max_rate_gbps != port.rate_gbps);
  if (port.rate_gbps || slower) {
    std::ostringstream rate;
    if (port.rate_gbps) rate << *port.rate_gbps << " Gb/s";
    if (slower)
      rate << (port.rate_gbps ? " (" : "") << "at most " << *port.max_rate_gbps << " Gb/s since boot"
           << (port.rate_gbps ? ")" : "");
    add(rate.str());
  }
  for (const auto& fact : {port.driver, port.board_id, port.pci_address}) add(fact.value_or(""));
  if (!port.pf_pci_address.value_or("").empty()) add("VF of " + *port.pf_pci_address);
  if (port.gid_index_changes.value_or(0) > 0)
    add("addresses left their GID index " + std::to_string(*port.gid_index_changes) + " times since boot");
  if (!port.lag.value_or("").empty()) add("LAG " + *port.lag);
  std::string netdevs;
  for (const std::string_view netdev : netdevs_of(port))
    netdevs.append(netdevs.empty() ? "netdev " : " ").append(netdev);
  add(netdevs);
  for (const std::string& fact : other_facts(port)) add(fact);
  return text;
}

std::string rows_text(const Port& port, const std::vector<RowVerdict>& verdicts) {
  if (!port.gids) return "  its GID rows are not known\n";
  if (port.gids->empty()) return "  it has no valid GID row\n";
  TextColumns columns(2, kRowWidth);
  columns.add({"INDEX", "GID", "TYPE", "ADDRESS", "NETDEV", "USABLE"});
  for (std::size_t i = 0; i < port.gids->size(); ++i) {
    const GidRow& row = (*port.gids)[i];
    const RowVerdict& verdict = verdicts[i];
    std::string why = verdict.usable ? "yes" : (verdict.known ? "no: " : "unknown: ") + verdict.why;
    if (row.index_since) why += "; at this index since " + format_timestamp(*row.index_since);
    columns.add({std::to_string(row.index), format_gid(row.gid),
                 row.type ? std::string(to_string(*row.type)) : "?",
                 row.address ? format_ip(*row.address) : "", row.netdev.value_or(""), why});
  }
  return columns.render();
}

std::string label_text(const NodeLabel& label) {
  return label.key + (label.value ? "=" + *label.value : " is not there");
}

// In the order in which the variables are injected.
std::string outcome_text(const NodeValues& values) {
  std::vector<std::string_view> names(node_variables().begin(), node_variables().end());
  const auto add_name = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& [name, value] : values.set) add_name(name);
  for (const Value& omission : values.omitted) add_name(omission.name);
  TextColumns columns(2);
  std::set<Reason> remedied{Reason::NoFabricPort};  // the ports above say why
  for (const std::string_view name : names) {
    if (const auto value = values.set.find(name); value != values.set.end()) {
      columns.add({std::string(name), value->second});
      if (const auto why = values.why.find(name); why != values.why.end()) columns.add({"", why->second});
    }
    for (const Value& omission : values.omitted) {
      if (omission.name != name) continue;
      columns.add({omission.name, "- " + std::string(to_string(*omission.reason)) + ": " + omission.detail});
      if (remedied.insert(*omission.reason).second) columns.add({"", std::string(remedy(*omission.reason))});
    }
  }
  for (const std::string& note : values.notes) columns.add({"note", note});
  return columns.render();
}

// A note on a file's table that a webhook would take for none; "" for any other.
std::string age_note(const NodeFabric& table, NodeContext context) {
  context.in_sync = true;
  if (const auto missing = missing_table(table.name, &table, context))
    return missing->detail + " In a cluster it gives pods nothing (StaleTable).";
  return {};
}

// True where ports look alike, and nothing tells which of them are the fabric.
bool undecided(const TableView& view) {
  return view.choice.reason == Reason::AmbiguousFabric;
}

}  // namespace

NcclPolicy policy_of_nobody() {
  NcclPolicy policy;
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
  return policy;
}

TableView view_table(const NodeFabric& table, const NcclPolicy& policy, Timestamp now,
                     std::optional<std::chrono::seconds> max_age) {
  TableView view;
  view.table = &table;
  view.choice = choose_policy_ports(table, policy, Exposure::Host, now);
  const InterfaceIndex interfaces(table);
  const std::vector<Cidr>& subnets = fabric_subnets(policy, table);
  for (const Port& port : table.ports) {
    auto& verdicts = view.rows.emplace_back();
    if (!port.gids) continue;
    for (const GidRow& row : *port.gids) verdicts.push_back(judge_row(interfaces, port, row, subnets));
  }
  NodeContext context;
  context.now = now;
  context.in_sync = max_age.has_value();
  context.max_table_age = max_age.value_or(context.max_table_age);
  view.values = node_values(policy, table.name, &table, Exposure::Host, context);
  if (std::string note = max_age ? std::string() : age_note(table, context); !note.empty())
    view.values.notes.insert(view.values.notes.begin(), std::move(note));
  return view;
}

OrderedJson to_json(const TableView& view) {
  const OrderedJson table = nccl_env::to_json(*view.table, RowsForm::Objects);
  OrderedJson json = OrderedJson::object();
  json["node"] = view.table->name;
  json["nodeInterface"] = value_or_null(view.table->node_interface);
  if (table["observed"].contains("nodeLabels")) json["nodeLabels"] = table["observed"]["nodeLabels"];
  json["ports"] = OrderedJson::array();
  for (std::size_t i = 0; i < view.table->ports.size(); ++i) {
    OrderedJson port = table["observed"]["ports"][i];
    port["fabric"] = undecided(view) ? OrderedJson() : OrderedJson(view.choice.verdicts[i].fabric);
    port["why"] = view.choice.verdicts[i].why;
    if (port.contains("gids")) port["gids"] = rows_json(port["gids"], view.rows[i]);
    json["ports"].push_back(std::move(port));
  }
  json["values"] = OrderedJson::object();
  for (const auto& [name, value] : view.values.set) json["values"][name] = value;
  json["omitted"] = OrderedJson::array();
  for (const Value& omission : view.values.omitted) {
    json["omitted"].push_back({{"name", omission.name},
                               {"reason", to_string(*omission.reason)},
                               {"detail", omission.detail},
                               {"remedy", remedy(*omission.reason)}});
  }
  json["notes"] = view.values.notes;
  return json;
}

std::string render_text(const TableView& view) {
  const NodeFabric& table = *view.table;
  std::string text = "node " + printable(table.name) + ": " + count_of(table.ports.size(), "port") +
                     ", node interface " + printable(table.node_interface.value_or("not known"));
  if (table.time) text += ", observed " + format_timestamp(*table.time);
  text += "\n";
  if (table.node_labels && !table.node_labels->empty()) {
    text += paragraph("labels: " + join(*table.node_labels, ", ", label_text));
  }
  if (table.ports.empty()) return text;
  for (std::size_t i = 0; i < table.ports.size(); ++i) {
    const PortVerdict& verdict = view.choice.verdicts[i];
    const std::string standing = verdict.of_fabric ? "fabric, but not listed: " : "not fabric, ";
    text += "\n" + printable(table.ports[i].hca) + " port " + std::to_string(table.ports[i].number) + ": " +
            (!verdict.fabric   ? standing + printable(verdict.why)
             : undecided(view) ? "not decided"
                               : "fabric") +
            "\n";
    if (const std::string facts = facts_of(table.ports[i], verdict.why); !facts.empty())
      text += paragraph(facts, 2);
    text += rows_text(table.ports[i], view.rows[i]);
  }
  return text + "\nhostNetwork pods on this node\n" + outcome_text(view.values);
}

}  // namespace nccl_env::program
