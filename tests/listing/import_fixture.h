// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/listing/import.h"
#include "support/matchers.h"

namespace nccl_env {

inline ImportOutcome import_text(std::string text) {
  return import_listing({"a.txt", std::move(text)}, {.node = "gpu-node-1", .node_interface = {}});
}

inline std::vector<std::string> problems_of(const ImportOutcome& outcome) {
  std::vector<std::string> problems;
  for (const auto& problem : outcome.findings) problems.push_back(line_of(problem));
  return problems;
}

inline std::vector<std::string> problems_in(std::string text) {
  return problems_of(import_text(std::move(text)));
}

// The table of a text that must be accepted; an empty one where it isn't.
inline NodeFabric table_of(std::string text) {
  const auto outcome = import_text(std::move(text));
  EXPECT_THAT(problems_of(outcome), testing::IsEmpty());
  return outcome.report ? outcome.report->table : NodeFabric();
}

// The only port of a text that must be accepted.
inline Port port_of(std::string text) {
  const NodeFabric table = table_of(std::move(text));
  EXPECT_EQ(table.ports.size(), 1U);
  return table.ports.size() == 1 ? table.ports[0] : Port();
}

// "3 ::ffff:10.0.0.1 RoCEv2 10.0.0.1 eth0", '-' for what is absent.
inline std::string describe_row(const GidRow& row) {
  return std::to_string(row.index) + " " + format_ip(row.gid.address()) + " " +
         (row.type ? std::string(to_string(*row.type)) : "-") + " " +
         (row.address ? format_ip(*row.address) : "-") + " " + row.netdev.value_or("-");
}

inline std::vector<std::string> rows_of(const Port& port) {
  std::vector<std::string> rows;
  if (!port.gids) return {"unknown"};
  for (const auto& row : *port.gids) rows.push_back(describe_row(row));
  return rows;
}

// Empty if the table survives being written and read again; else what is wrong.
inline std::string round_trip(const NodeFabric& table) {
  const nlohmann::json written = to_json(table);
  const auto read = parse_node_fabric(written);
  if (!read.ok()) return read.error().message;
  const nlohmann::json again = to_json(*read);
  return again == written ? "" : nlohmann::json::diff(written, again).dump();
}

// Returns `text` with the first `from` in it, which must be there, as `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace nccl_env
