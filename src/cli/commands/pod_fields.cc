// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

std::string text_in(const Json& quantity) {
  return quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
}

// The API server keeps whole numbers of devices, and no request without the same limit: nodes cannot lend
// more of them than they have (validation.go, ValidateContainerResourceRequirements).
std::string quantity_problem(const std::string& name, const Json& value) {
  const std::string text = text_in(value);
  const auto number = parse_quantity(text);
  if (number && *number >= 0 && std::floor(*number) == *number) return {};
  return name + ": " + printable(text) + " is no whole number, which the API server refuses";
}

bool is_of_containers(std::string_view resource) {
  constexpr std::array<std::string_view, 3> kOwn{"cpu", "memory", "ephemeral-storage"};
  return std::ranges::find(kOwn, resource) != kOwn.end() || resource.starts_with("hugepages-");
}

std::string resource_problem(const Json& resources) {
  const Json &limits = member(resources, "limits"), &requests = member(resources, "requests");
  for (const Json* list : {&limits, &requests}) {
    if (!list->is_object()) continue;
    for (const auto& [name, value] : list->items()) {
      if (name.find('/') == name.npos && !is_of_containers(name))
        return printable(name) +
               " is no resource of containers: a device's name has a domain, as in rdma/hca";
      if (!is_extended_resource(name) || value.is_null()) continue;
      if (std::string problem = quantity_problem(name, value); !problem.empty()) return problem;
    }
  }
  if (!requests.is_object()) return {};
  for (const auto& [name, value] : requests.items()) {
    if (!is_extended_resource(name) || value.is_null()) continue;
    const Json& limit = member(limits, name);
    if (parse_quantity(text_in(limit)) != parse_quantity(text_in(value)))
      return name +
             " is requested without the same limit, which the API server refuses: write it into limits";
  }
  return {};
}

}  // namespace

std::string field_problem(const Json& pod) {
  const Json& spec = member(pod, "spec");
  for (const char* list : {"initContainers", "containers"}) {
    std::size_t place = 0;
    for (const Json& container : items_at(spec, list)) {
      const std::string path = std::string("spec.") + list + "[" + std::to_string(place++) + "].resources: ";
      if (const std::string problem = resource_problem(member(container, "resources")); !problem.empty())
        return path + problem;
    }
  }
  return {};
}

}  // namespace nccl_env::cli
