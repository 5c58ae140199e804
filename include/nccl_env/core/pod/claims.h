// SPDX-License-Identifier: Apache-2.0
// Dynamic Resource Allocation: what a pod's claims ask for. From ResourceClaims and ResourceClaimTemplates
// (resource.k8s.io/v1, v1beta2 and v1beta1) only the requests' device classes are used.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/result.h"

namespace nccl_env {

struct DeviceRequest {
  std::string name;
  std::vector<std::string> classes;  // several: alternatives of firstAvailable
};
using DeviceRequests = std::vector<DeviceRequest>;
using SharedRequests = std::shared_ptr<const DeviceRequests>;

// Where a pod's claim is described. Both kinds are namespaced, and their specs cannot be changed.
struct ClaimRef {
  enum class Kind { Claim, Template } kind = Kind::Claim;
  std::string name_space;
  std::string name;

  friend auto operator<=>(const ClaimRef&, const ClaimRef&) = default;
};
std::string_view to_string(ClaimRef::Kind kind);  // ResourceClaim, ResourceClaimTemplate
std::string describe(const ClaimRef& ref);        // "ResourceClaimTemplate ml/nics"

// The requests of a ResourceClaim's or ResourceClaimTemplate's JSON text, which is untrusted. Errors name the
// path of the offending field.
Result<DeviceRequests> parse_device_requests(std::string_view json);

// The known part of a pod's claims.
struct PodClaims {
  struct Entry {
    SharedRequests requests;  // null: not known
    std::string problem;      // why they are not known: "ResourceClaimTemplate ml/nics does not exist"
  };
  std::vector<Entry> entries;  // in the order of Pod::claims; missing ones are not known
};

// The object that describes a claim of a pod; with an empty name there is no such object.
ClaimRef claim_ref(const PodClaim& claim, std::string_view name_space);

// Whether a decision under this policy depends on the pod's claims.
bool needs_claims(const Pod& pod, const NcclPolicy& policy);
// Says of each of Pod::claims whether a container names it; if none does, no container gets its devices.
std::vector<bool> used_claims(const Pod& pod);

// How a policy sees a pod's claims.
struct ClaimMatch {
  std::vector<bool> containers;  // per Pod::containers: names a request of a matching class; empty: none does
  std::string not_verbs;         // a class of a fabric that NCCL does not reach through verbs; "" if none
  std::string unknown;           // why a claim that a container names is not known; "" if all are
};
ClaimMatch match_claims(const Pod& pod, const NcclPolicy& policy, const PodClaims* claims);

}  // namespace nccl_env
