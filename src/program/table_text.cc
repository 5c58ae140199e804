// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/table_view.h"

namespace nccl_env::app {
namespace {

// A GID alone takes 39 characters.
constexpr std::size_t kRowWidth = 120;

// What is not known of a port is left out.
std::string facts_of(const Port& port) {
  std::string text;
  const auto add = [&](std::string_view fact) {
    if (!fact.empty()) text.append(text.empty() ? "" : ", ").append(fact);
  };
  if (port.state) add(to_string(*port.state));
  if (port.state_since) add("since " + format_timestamp(*port.state_since));
  if (const auto link_layer = link_layer_of(port)) add(to_string(*link_layer));
  if (port.transport) add(to_string(*port.transport));
  if (port.rate_gbps) {
    std::ostringstream rate;
    rate << *port.rate_gbps << " Gb/s";
    add(rate.str());
  }
  add(port.driver.value_or(""));
  add(port.board_id.value_or(""));
  add(port.pci_address.value_or(""));
  if (!port.pf_pci_address.value_or("").empty()) add("VF of " + *port.pf_pci_address);
  if (!port.lag.value_or("").empty()) add("LAG " + *port.lag);
  std::string netdevs;
  for (const std::string_view netdev : netdevs_of(port))
    netdevs.append(netdevs.empty() ? "netdev " : " ").append(netdev);
  add(netdevs);
  return text.empty() ? "nothing else is known" : text;
}

std::string rows_text(const Port& port, const std::vector<RowVerdict>& verdicts) {
  if (!port.gids) return "  its GID rows are not known\n";
  if (port.gids->empty()) return "  it has no valid GID row\n";
  TextColumns columns(2, kRowWidth);
  columns.add({"INDEX", "GID", "TYPE", "ADDRESS", "NETDEV", "USABLE"});
  for (std::size_t i = 0; i < port.gids->size(); ++i) {
    const GidRow& row = (*port.gids)[i];
    const RowVerdict& verdict = verdicts[i];
    const std::string why = verdict.usable ? "yes" : (verdict.known ? "no: " : "unknown: ") + verdict.why;
    columns.add({std::to_string(row.index), format_gid(row.gid),
                 row.type ? std::string(to_string(*row.type)) : "?",
                 row.address ? format_ip(*row.address) : "", row.netdev.value_or(""), why});
  }
  return columns.render();
}

// In the order in which the variables are injected.
std::string outcome_text(const NodeValues& values) {
  TextColumns columns(2);
  for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kIbAddrFamily,
                                      variable::kIbAddrRange, variable::kSocketIfname}) {
    if (const auto value = values.set.find(name); value != values.set.end())
      columns.add({std::string(name), value->second});
    for (const Omission& omission : values.omitted) {
      if (omission.name != name) continue;
      columns.add({omission.name, "- " + std::string(to_string(omission.reason)) + ": " + omission.detail});
      columns.add({"", std::string(remedy(omission.reason))});
    }
  }
  return columns.render();
}

}  // namespace

std::string render_text(const TableView& view) {
  const NodeFabric& table = *view.table;
  std::string text = "node " + printable(table.name) + ": " + std::to_string(table.ports.size()) +
                     (table.ports.size() == 1 ? " port" : " ports") + ", node interface " +
                     printable(table.node_interface.value_or("not known"));
  if (table.time) text += ", observed " + format_timestamp(*table.time);
  text += "\n";
  for (std::size_t i = 0; i < table.ports.size(); ++i) {
    const PortVerdict& verdict = view.choice.verdicts[i];
    text += "\n" + printable(table.ports[i].hca) + " port " + std::to_string(table.ports[i].number) + ": " +
            (verdict.fabric ? "fabric" : "not fabric, " + printable(verdict.why)) + "\n";
    for (const std::string& line : wrap(printable(facts_of(table.ports[i])), kTextWidth - 2))
      text += "  " + line + "\n";
    text += rows_text(table.ports[i], view.rows[i]);
  }
  return text + "\nhostNetwork pods on this node\n" + outcome_text(view.values);
}

}  // namespace nccl_env::app
