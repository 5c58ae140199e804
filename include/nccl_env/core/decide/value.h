// SPDX-License-Identifier: Apache-2.0
// A variable of NCCL or a related library: as a policy wants it, as a container has it or is to have it, or
// why it has none. One type from the decision to the screen.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/policy/reasons.h"

namespace nccl_env {

// The giver of a value, and its carrier if only one is left. The words stand in the status annotation.
enum class Source {
  Policy,   // a constant of the policy
  Node,     // an annotation that Binding writes
  File,     // nccl.conf alone, as Binding writes it
  Pod,      // written inside the pod before the container starts: into nccl.conf, or the file of EnvFile
  Command,  // the user's own, by a container's command; of ranks, by that of the launcher (Value::container)
};
std::string_view to_string(Source source);

enum class State {
  Given,    // the container has it or is to get it; without a text, its node has the text
  Present,  // the container has exactly this entry of ours already, from an earlier review
  Later,    // it comes with the Binding or, by Source::Pod, with the pod's start
  LeftOut,  // it does not come: `reason` or `detail` says why, if that is known
  Users,    // the manifest's own; a valueFrom or $(…) has no text here
  Foreign,  // as Given, and no Binding of this pod wrote it (PodRecord::foreign)
};

struct Value {
  std::string name;  // also nccl.conf itself (conf_file::kName), whose source is Node or Pod
  std::optional<std::string> value = {};
  Source source = Source::Policy;
  State state = State::Given;
  bool in_env = false;       // carried by the container's env: a literal, or a fileKeyRef
  bool in_file = false;      // carried by nccl.conf
  bool by_file_key = false;  // that env entry is a fileKeyRef (EnvFile): not set where the file lacks it
  std::optional<Reason> reason = {};
  // One sentence on a value that is left out, or a clause where there is no reason; "" stands for that of the
  // reason. A constant that differs from node to node has the variant that gives it.
  std::string detail = {};
  std::string container = {};   // where values of several containers stand together
  bool in_engine_file = false;  // carried by the file of its engine (ucx.conf), and by nothing else

  // True for a file itself, which carries lines.
  [[nodiscard]] bool is_file() const { return !in_env && !in_file && !in_engine_file; }
  // True for a value of ours by that source.
  [[nodiscard]] bool is_from(Source by) const {
    return source == by && state != State::Users && state != State::Foreign;
  }

  auto operator<=>(const Value&) const = default;
};

// Returns the word for a planned value in the status annotation: EnvFile, or that of its source.
std::string_view status_word(const Value& value);
// Returns the word for a value's source on screens: that of the source, or Binding, User or Foreign.
std::string_view source_word(const Value& value);

inline Value left_out(std::string_view name, Reason reason, std::string_view detail = {}) {
  return {
      .name = std::string(name), .state = State::LeftOut, .reason = reason, .detail = std::string(detail)};
}

// Returns null if no value has the name.
inline const Value* find_named(const std::vector<Value>& values, std::string_view name) {
  for (const Value& value : values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

}  // namespace nccl_env
