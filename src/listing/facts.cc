// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <array>
#include <cstdio>
#include <utility>

namespace nccl_env::listing {

// A path of a file, in messages.
constexpr std::size_t kLongestName = 200;

namespace {

Subject subject_at(const Place& place) {
  Subject subject;
  if (!place.file.empty()) subject = {.kind = "File", .name = printable(place.file, kLongestName)};
  if (place.line > 0) subject.path = std::to_string(place.line);
  return subject;
}

}  // namespace

void Facts::problem(const Place& place, std::string message, Code code) {
  if (++problem_count > kMostProblems) return;
  problems.push_back({code, Severity::Error, subject_at(place), std::move(message)});
}

void Facts::note(const Place& place, std::string message, Code code) {
  if (notes.size() == kMostProblems) return;
  notes.push_back({code, Severity::Warning, subject_at(place), std::move(message)});
}

void Facts::contradiction(const Place& place, const std::string& message) {
  if (problem_count >= kMostProblems || contradictions.insert(message).second) problem(place, message);
}

void Facts::add(PortFacts port) {
  const bool fitted = statements_ <= kMostStatements;
  statements_ += 1 + port.rows.size();
  if (statements_ <= kMostStatements) {
    ports.push_back(std::move(port));
  } else if (fitted) {
    problem(port.place,
            "expected at most " + std::to_string(kMostStatements) + " ports and rows in all files");
  }
}

std::string describe(const Gid& value) {
  return format_gid(value);
}
std::string describe(const std::string& value) {
  return quote(value);
}
std::string describe(int value) {
  return std::to_string(value);
}

std::string describe(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

}  // namespace nccl_env::listing
