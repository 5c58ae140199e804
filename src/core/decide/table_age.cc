// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/table_age.h"

namespace nccl_env {
namespace {

constexpr std::chrono::minutes kClockSkew{5};

}  // namespace

bool is_ahead(const std::optional<Timestamp>& observed, Timestamp now) {
  return observed && *observed > now + kClockSkew;
}

bool is_stale(const std::optional<Timestamp>& observed, const NodeContext& context) {
  if (!context.in_sync || !observed) return false;
  return context.now > *observed + context.max_table_age || is_ahead(observed, context.now);
}

std::optional<MissingTable> missing_table(std::string_view node, const NodeFabric* table,
                                          const NodeContext& context) {
  const std::string name(node);
  if (!table) return MissingTable{Reason::NoTable, name + ": there is no NodeFabric of that name."};
  if (!is_stale(table->time, context)) return std::nullopt;
  return MissingTable{
      Reason::StaleTable,
      name + ": its NodeFabric is of " + format_timestamp(*table->time) +
          (is_ahead(table->time, context.now)
               ? ", which is yet to come: a clock is wrong."
               : ", older than " + std::to_string(context.max_table_age.count() / 60) + " minutes.")};
}

std::optional<Timestamp> table_limit(const NodeFabric& table, const NodeContext& context) {
  if (!table.time || !context.in_sync) return std::nullopt;
  if (is_ahead(table.time, context.now)) return *table.time - kClockSkew;
  const Timestamp end = *table.time + context.max_table_age;
  return context.now > end ? std::nullopt : std::optional(end + std::chrono::seconds(1));
}

}  // namespace nccl_env
