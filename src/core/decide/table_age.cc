// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/table_age.h"

namespace nccl_env {

bool is_stale(const std::optional<Timestamp>& observed, const NodeContext& context) {
  return context.in_sync && observed && context.now > *observed + context.max_table_age;
}

bool is_ahead(const std::optional<Timestamp>& observed, Timestamp now) {
  constexpr std::chrono::minutes kClockSkew{5};
  return observed && *observed > now + kClockSkew;
}

std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context) {
  const std::string name(node);
  if (!table) return MissingTable{Reason::NoTable, name + ": there is no NodeFabric of that name."};
  if (!is_stale(table->time, context)) return std::nullopt;
  return MissingTable{Reason::StaleTable,
                      name + ": its NodeFabric is of " + format_timestamp(*table->time) + ", older than " +
                          std::to_string(context.max_table_age.count() / 60) + " minutes."};
}

std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context) {
  if (!table.time || !context.in_sync) return std::nullopt;
  return *table.time + context.max_table_age + std::chrono::seconds(1);
}

}  // namespace nccl_env
