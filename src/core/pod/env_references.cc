// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/env_references.h"

#include <algorithm>
#include <iterator>

#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

constexpr std::string_view kBegin = "$(";
// Thirty entries of "$(A)$(A)" would make a gigabyte.
constexpr std::size_t kMostBytes = 4096;

// True for variables that the kubelet makes of the namespace's Services (enableServiceLinks), and for those
// that controllers put before a container's own: LeaderWorkerSet (pkg/utils/pod), Grove, Volcano's plugins,
// Kubeflow.
bool may_come_later(std::string_view name) {
  constexpr std::string_view kOfControllers[] = {"LWS_", "GROVE_",  "VC_",    "VK_",
                                                 "PET_", "MASTER_", "JOBSET_"};
  return name.find("_SERVICE_") != name.npos || name.find("_PORT") != name.npos || name == "RANK" ||
         name == "WORLD_SIZE" ||
         std::any_of(std::begin(kOfControllers), std::end(kOfControllers),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

using Known = std::map<std::string_view, const std::optional<std::string>*>;

std::optional<std::string> expand(std::string_view value, const Known& known, bool env_from) {
  std::string text;
  if (first_reference(value).empty()) return std::string(value);
  for (std::string_view found = first_reference(value); !found.empty(); found = first_reference(value)) {
    const std::string_view name = found.substr(kBegin.size(), found.size() - kBegin.size() - 1);
    const auto before = static_cast<std::size_t>(found.data() - value.data());
    text += value.substr(0, before);
    value.remove_prefix(before + found.size());
    const auto place = known.find(name);
    if (place == known.end() ? env_from || may_come_later(name) : !*place->second) return std::nullopt;
    text += place == known.end() ? std::string(found) : **place->second;
    if (text.size() > kMostBytes) return std::nullopt;
  }
  text += value;
  return text.size() > kMostBytes ? std::nullopt : std::optional(std::move(text));
}

}  // namespace

std::string_view first_reference(std::string_view value) {
  for (std::size_t at = value.find('$'); at != value.npos; at = value.find('$', at)) {
    if (value.substr(at, 2) == "$$") {  // an escaped '$'
      at += 2;
    } else if (value.substr(at, kBegin.size()) == kBegin) {
      const std::size_t end = value.find(')', at);
      return end == value.npos ? std::string_view() : value.substr(at, end + 1 - at);
    } else {
      ++at;
    }
  }
  return {};
}

std::string reference_problem(std::string_view variable, std::string_view value) {
  return std::string(variable) + ": nothing before it defines " + printable(first_reference(value)) +
         ", so the text stays as it is";
}

EnvReferences::Values EnvReferences::expanded() const {
  Values values;
  values.reserve(container_.env.size());
  Known known;
  for (const EnvEntry& entry : container_.env) {
    values.push_back(entry.has_source ? std::nullopt
                                      : expand(entry.value, known, !container_.env_from_prefixes.empty()));
    known.insert_or_assign(entry.name, &values.back());  // `values` does not move
  }
  return values;
}

const std::optional<std::string>& EnvReferences::value_of(const EnvEntry& entry) const {
  if (!values_) values_ = expanded();
  return (*values_)[static_cast<std::size_t>(&entry - container_.env.data())];
}

}  // namespace nccl_env
