// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/table_view.h"

#include <nlohmann/json.hpp>

namespace nccl_env::app {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson rows_json(const OrderedJson& rows, const std::vector<RowVerdict>& verdicts) {
  OrderedJson judged = rows;
  for (std::size_t i = 0; i < verdicts.size() && i < judged.size(); ++i) {
    judged[i]["usable"] = verdicts[i].known ? OrderedJson(verdicts[i].usable) : OrderedJson();
    judged[i]["why"] = verdicts[i].why;
  }
  return judged;
}

}  // namespace

TableView view_table(const NodeFabric& table, const NcclPolicy& policy, Timestamp now) {
  TableView view;
  view.table = &table;
  view.choice = choose_ports(table, policy.fabric, Exposure::Host, now);
  for (const Port& port : table.ports) {
    auto& verdicts = view.rows.emplace_back();
    if (!port.gids) continue;
    for (const GidRow& row : *port.gids) verdicts.push_back(judge_row(table, row, policy.fabric.subnets));
  }
  NodeContext context;
  context.now = now;
  context.in_sync = false;
  view.values = node_values(policy, table.name, &table, Exposure::Host, context);
  return view;
}

OrderedJson to_json(const TableView& view) {
  const OrderedJson table = nccl_env::to_json(*view.table);
  OrderedJson json = OrderedJson::object();
  json["node"] = view.table->name;
  json["nodeInterface"] =
      view.table->node_interface ? OrderedJson(*view.table->node_interface) : OrderedJson();
  json["ports"] = OrderedJson::array();
  for (std::size_t i = 0; i < view.table->ports.size(); ++i) {
    OrderedJson port = table["observed"]["ports"][i];
    port["fabric"] = view.choice.verdicts[i].fabric;
    port["why"] = view.choice.verdicts[i].why;
    if (port.contains("gids")) port["gids"] = rows_json(port["gids"], view.rows[i]);
    json["ports"].push_back(std::move(port));
  }
  json["values"] = OrderedJson::object();
  for (const auto& [name, value] : view.values.set) json["values"][name] = value;
  json["omitted"] = OrderedJson::array();
  for (const Omission& omission : view.values.omitted) {
    json["omitted"].push_back({{"name", omission.name},
                               {"reason", to_string(omission.reason)},
                               {"detail", omission.detail},
                               {"remedy", remedy(omission.reason)}});
  }
  return json;
}

}  // namespace nccl_env::app
