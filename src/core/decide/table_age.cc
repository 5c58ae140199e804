// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/table_age.h"

namespace nccl_env {
namespace {

constexpr std::chrono::minutes kClockSkew{5};

}  // namespace

bool is_ahead(const std::optional<Timestamp>& dated, Timestamp now) {
  return dated && *dated > now + kClockSkew;
}

bool is_stale(const std::optional<Timestamp>& dated, const NodeContext& context) {
  if (!context.in_sync || !dated) return false;
  return context.now > *dated + context.max_table_age || is_ahead(dated, context.now);
}

std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context) {
  const std::string name(node);
  if (!table) return MissingTable{Reason::NoTable, name + ": there is no NodeFabric of that name."};
  if (context.other_boot)
    return MissingTable{Reason::StaleTable,
                        name + ": its NodeFabric is of another boot, and none of this one has come yet."};
  if (!is_stale(table->dated(), context)) return std::nullopt;
  return MissingTable{
      Reason::StaleTable,
      name + ": its NodeFabric is of " + format_timestamp(*table->dated()) +
          (is_ahead(table->dated(), context.now)
               ? ", which is yet to come: a clock is wrong."
               : ", older than " + std::to_string(context.max_table_age.count() / 60) + " minutes.")};
}

std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context) {
  const auto& dated = table.dated();
  if (!dated || !context.in_sync) return std::nullopt;
  if (is_ahead(dated, context.now)) return *dated - kClockSkew;
  const Timestamp end = *dated + context.max_table_age;
  return context.now > end ? std::nullopt : std::optional(end + std::chrono::seconds(1));
}

}  // namespace nccl_env
