// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <utility>

namespace nccl_env::listing {

// A path of a file, in messages.
constexpr std::size_t kLongestName = 200;

std::string name_of(const Port& port) {
  return port.hca + " port " + std::to_string(port.number);
}

Subject Facts::subject_at(int line) const {
  Subject subject{.kind = "File", .name = printable(file, kLongestName)};
  if (line > 0) subject.path = std::to_string(line);
  return subject;
}

void Facts::problem(int line, std::string message) {
  if (++problem_count > kMostProblems) return;
  problems.push_back({Code::ListingLine, Severity::Error, subject_at(line), std::move(message)});
}

PortFacts* Facts::find(std::string_view hca, int number) {
  const auto position = positions_.find(std::pair(std::string(hca), number));
  return position == positions_.end() ? nullptr : &ports[position->second];
}

PortFacts* Facts::add(PortFacts told) {
  if (const PortFacts* first = find(told.port.hca, told.port.number)) {
    problem(told.line, name_of(told.port) + " stands twice, first in line " + std::to_string(first->line));
    return nullptr;
  }
  if (ports.size() == kMaxTablePorts) {
    problem(told.line, "expected at most " + std::to_string(kMaxTablePorts) + " ports");
    return nullptr;
  }
  positions_.emplace(std::pair(told.port.hca, told.port.number), ports.size());
  return &ports.emplace_back(std::move(told));
}

void Facts::add_row(PortFacts& told, RowFacts row) {
  const std::string what = "row " + std::to_string(row.row.index) + " of " + name_of(told.port);
  if (const auto known = told.rows.find(row.row.index); known != told.rows.end()) {
    return problem(row.line, what + " stands twice, first in line " + std::to_string(known->second.line));
  }
  if (rows_ == kMaxTableRows) {
    return problem(row.line, "expected at most " + std::to_string(kMaxTableRows) + " rows in all");
  }
  ++rows_;
  told.rows.emplace(row.row.index, std::move(row));
}

}  // namespace nccl_env::listing
