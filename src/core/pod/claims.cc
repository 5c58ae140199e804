// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/claims.h"

#include <algorithm>
#include <map>

#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/strict.h"
#include "text/json_fields.h"

namespace nccl_env {
namespace {

using json::each_item;
using json::Element;
using json::Failure;
using json::Path;
using json::pick;
using Keys = std::string_view;

// Kubernetes' own limits (resource/v1 types.go): DeviceRequestsMaxSize, FirstAvailableDeviceRequestMaxSize.
constexpr std::size_t kMaxRequests = 32;
constexpr std::size_t kMaxAlternatives = 8;

void read_class(Element from, const Path& path, DeviceRequest& request, Failure& failure) {
  const auto [device_class] = pick(from, path, std::array<Keys, 1>{"deviceClassName"}, failure);
  const std::string_view name = json::text(device_class, path.field("deviceClassName"), failure);
  if (!name.empty()) request.classes.emplace_back(name);
}

// v1 and v1beta2 have `exactly`; v1beta1 has the class in the request itself.
void read_request(Element item, const Path& path, DeviceRequests& into, Failure& failure) {
  if (into.size() == kMaxRequests) return failure.add(path, "more than 32 requests");
  const auto [name, exactly, alternatives] =
      pick(item, path, std::array<Keys, 3>{"name", "exactly", "firstAvailable"}, failure);
  DeviceRequest& request = into.emplace_back();
  request.name = json::text(name, path.field("name"), failure);
  read_class(item, path, request, failure);
  if (exactly) read_class(*exactly, path.field("exactly"), request, failure);
  each_item(alternatives, path.field("firstAvailable"), failure, [&](Element one, const Path& here) {
    if (request.classes.size() == kMaxAlternatives) return failure.add(here, "more than 8 alternatives");
    read_class(one, here, request, failure);
  });
}

DeviceRequests read_spec(Element spec, const Path& path, Failure& failure) {
  DeviceRequests requests;
  const auto [devices] = pick(spec, path, std::array<Keys, 1>{"devices"}, failure);
  if (!devices) return requests;
  const Path at = path.field("devices");
  const auto [list] = pick(*devices, at, std::array<Keys, 1>{"requests"}, failure);
  each_item(list, at.field("requests"), failure,
            [&](Element item, const Path& here) { read_request(item, here, requests, failure); });
  return requests;
}

// Places of claims by name, the first claim of each name. Searching the list each time would take a second
// for a hostile pod of 3 MiB.
using Positions = std::map<std::string_view, std::size_t>;
Positions positions_of(const Pod& pod) {
  Positions positions;
  for (std::size_t i = 0; i < pod.claims.size(); ++i) positions.try_emplace(pod.claims[i].name, i);
  return positions;
}

// Visits the device classes of the requests that a container uses.
template <class Visit>
void each_class(const ClaimUse& use, const DeviceRequests& requests, Visit visit) {
  for (const DeviceRequest& request : requests) {
    if (!use.request.empty() && use.request != request.name) continue;
    for (const std::string& device_class : request.classes) visit(device_class);
  }
}

}  // namespace

std::string_view to_string(ClaimRef::Kind kind) {
  return kind == ClaimRef::Kind::Claim ? "ResourceClaim" : "ResourceClaimTemplate";
}

std::string describe(const ClaimRef& ref) {
  const std::string kind(to_string(ref.kind));
  // The API server checks names only after admission, and this text goes into warnings.
  const bool without_namespace = ref.name_space.empty();  // of a manifest that names none
  if (!is_dns_subdomain(ref.name) || !(without_namespace || is_dns_subdomain(ref.name_space)))
    return kind + " with an impossible name";
  return kind + " " + (without_namespace ? "" : ref.name_space + "/") + ref.name;
}

Result<DeviceRequests> parse_device_requests(std::string_view text) {
  constexpr std::size_t kMaxBytes = 4u << 20;  // the API server takes objects of 3 MiB
  if (text.size() > kMaxBytes) return Error{"the document is larger than 4 MiB"};
  simdjson::dom::parser parser(kMaxBytes);
  const Result<Element> root = json::parse(parser, text);
  if (!root) return root.error();
  Failure failure;
  const Path top;
  const auto [kind, spec] = pick(*root, top, std::array<Keys, 2>{"kind", "spec"}, failure);
  const std::string_view word = json::text(kind, top.field("kind"), failure);
  const bool is_template = word == to_string(ClaimRef::Kind::Template);
  if (!is_template && word != to_string(ClaimRef::Kind::Claim))
    failure.add(top.field("kind"), "must be ResourceClaim or ResourceClaimTemplate");
  if (!spec) failure.add(top.field("spec"), "must be an object");
  if (failure.failed()) return failure.error();
  DeviceRequests requests;
  const Path at = top.field("spec");
  if (is_template) {
    const auto [inner] = pick(*spec, at, std::array<Keys, 1>{"spec"}, failure);
    if (inner) requests = read_spec(*inner, at.field("spec"), failure);
  } else {
    requests = read_spec(*spec, at, failure);
  }
  if (failure.failed()) return failure.error();
  return requests;
}

ClaimRef claim_ref(const PodClaim& claim, std::string_view name_space) {
  if (!claim.claim_template.empty())
    return {ClaimRef::Kind::Template, std::string(name_space), std::string(claim.claim_template)};
  return {ClaimRef::Kind::Claim, std::string(name_space), std::string(claim.resource_claim)};
}

bool needs_claims(const Pod& pod, const NcclPolicy& policy) {
  return !policy.device_classes.empty() && !pod.claims.empty();
}

std::vector<bool> used_claims(const Pod& pod) {
  const Positions positions = positions_of(pod);
  std::vector<bool> used(pod.claims.size());
  for (const Container& container : pod.containers) {
    for (const ClaimUse& use : container.claims) {
      if (const auto claim = positions.find(use.claim); claim != positions.end()) used[claim->second] = true;
    }
  }
  return used;
}

ClaimMatch match_claims(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims) {
  ClaimMatch match;
  if (!needs_claims(pod, policy)) return match;
  match.containers.resize(pod.containers.size());
  const Positions positions = positions_of(pod);
  const auto& wanted = policy.device_classes;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    for (const ClaimUse& use : pod.containers[i].claims) {
      const auto claim = positions.find(use.claim);
      if (claim == positions.end()) continue;  // the API server refuses such a pod
      const bool given = claims != nullptr && claim->second < claims->entries.size();
      if (!given || !claims->entries[claim->second].requests) {
        if (match.unknown.empty()) {
          match.unknown =
              given ? claims->entries[claim->second].problem
                    : describe(claim_ref(pod.claims[claim->second], pod.name_space)) + " was not looked up";
        }
        continue;
      }
      each_class(use, *claims->entries[claim->second].requests, [&](const std::string& device_class) {
        if (is_efa_class(device_class)) match.not_verbs = device_class;
        if (is_compute_domain_class(device_class)) return;
        if (std::find(wanted.begin(), wanted.end(), device_class) != wanted.end()) match.containers[i] = true;
      });
    }
  }
  return match;
}

}  // namespace nccl_env
