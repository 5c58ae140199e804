// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/env_references.h"

#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

constexpr std::string_view kBegin = "$(";

// Variables that the kubelet makes of the namespace's Services (enableServiceLinks).
bool may_be_a_services(std::string_view name) {
  return name.find("_SERVICE_") != name.npos || name.find("_PORT") != name.npos;
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

const EnvReferences::Places& EnvReferences::places() const {
  if (places_) return *places_;
  places_.emplace();
  for (std::size_t i = 0; i < container_.env.size(); ++i) places_->emplace(container_.env[i].name, i);
  return *places_;
}

bool EnvReferences::stays_text(const EnvEntry& entry) const {
  if (entry.has_source || !container_.env_from_prefixes.empty()) return false;
  std::string_view rest = entry.value;
  for (std::string_view found = first_reference(rest); !found.empty(); found = first_reference(rest)) {
    const std::string_view name = found.substr(kBegin.size(), found.size() - kBegin.size() - 1);
    const auto place = places().find(name);
    const bool defined =
        place != places().end() && place->second < static_cast<std::size_t>(&entry - container_.env.data());
    if (!defined && !may_be_a_services(name)) return true;
    rest.remove_prefix(static_cast<std::size_t>(found.data() + found.size() - rest.data()));
  }
  return false;
}

}  // namespace nccl_env
