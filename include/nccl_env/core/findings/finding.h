// SPDX-License-Identifier: Apache-2.0
// Something is so; this bad; here; do that. Everything that tells people what is wrong returns these:
//
//   [ Finding ] --code--> [ Named ]    the code's row in the catalogue, which lives as long as the program
//        +-------subject-> [ Subject ]  an object by name, and what of it: a field, ports, ranks
//   [ Findings ] --> the first ones of a reader, which owns them; the others are counted
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {

enum class Severity { Error, Warning, Info };  // most urgent first
inline std::string_view to_string(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"error", "warning", "info"};
  return name_in(kNames, severity);
}

struct Subject {
  std::string kind{};        // Node, Pool, Pod, Job, NcclPolicy, File; "" where it is about no object
  std::string name_space{};  // "" for objects without one
  std::string name{};
  std::string path{};                // a field, a variable, a line; "" where it is about the whole
  std::string file{};                // that the object was read from; "" for one of a cluster
  int line = 0;                      // of the file, from 1; 0 where it is not known
  std::vector<std::string> parts{};  // ports of a node, ranks of a job; none where it is about the whole
};

inline Subject of_node(std::string name, std::vector<std::string> ports = {}) {
  return {.kind = "Node", .name = std::move(name), .parts = std::move(ports)};
}

struct Finding {
  Code code = Code::ObjectRefused;
  Severity severity = Severity::Error;
  Subject subject{};
  std::string sentence{};  // what was seen, and what it was compared with
  std::string remedy{};    // "": the code's
  // Clause for its cause's sentence ("; so …"); "": only what the table of causes says.
  std::string clause{};
  bool slight = false;  // stands behind the others of its severity
};

// The finding's own remedy, else its code's; "" where the sentence says what is expected.
std::string_view remedy_of(const Finding& finding);

std::size_t count(const std::vector<Finding>& findings, Severity severity);
// True if nothing is worse than an info.
bool is_good(const std::vector<Finding>& findings);
// Takes out those whose mark is set.
void erase_marked(const std::vector<bool>& marks, std::vector<Finding>& findings);
// By severity and weight, code, subject and sentence; names in their natural order.
bool more_urgent(const Finding& left, const Finding& right);

// The first findings of a reader, in the order of reading: its input may hold a million.
class Findings {
 public:
  static constexpr std::size_t kMost = 100;

  explicit Findings(Code code) : code_(code) {}

  void error(std::string path, std::string sentence) {
    add(Severity::Error, std::move(path), std::move(sentence));
  }
  void warning(std::string path, std::string sentence) {
    add(Severity::Warning, std::move(path), std::move(sentence));
  }
  [[nodiscard]] bool has_errors() const { return has_errors_; }
  // True once further ones are left out: making them would be in vain. That counts as an error.
  [[nodiscard]] bool is_full() const { return all_.size() > kMost; }
  // All of them, of this object.
  [[nodiscard]] std::vector<Finding> take(const Subject& of);

 private:
  void add(Severity severity, std::string path, std::string sentence);

  const Code code_;
  std::vector<Finding> all_;
  bool has_errors_ = false;
};

}  // namespace nccl_env
