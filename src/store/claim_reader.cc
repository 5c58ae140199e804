// SPDX-License-Identifier: Apache-2.0
#include "claim_reader.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/paths.h"

namespace nccl_env::store {
namespace {

// As for a pod: the hook has 5 s, and a pod may have several claims.
constexpr std::chrono::milliseconds kDeadline{300};

// v1 since Kubernetes 1.34, v1beta2 since 1.33, v1beta1 since 1.32 (KEP-4381).
constexpr std::array<std::string_view, 3> kVersions{"v1", "v1beta2", "v1beta1"};

// A server that does not serve the version says so in plain text; for a missing object it sends a Status
// that names it.
bool serves_version(const kube::Reply& reply) {
  if (reply.status != kube::kNotFound) return true;
  const auto status = parse_json(reply.body);
  if (!status.is_object() || !status.contains("details")) return false;
  const auto& details = status["details"];
  return details.is_object() && details.contains("name");
}

std::string target(const ClaimRef& ref, std::string_view version) {
  const std::string group = "/apis/resource.k8s.io/" + std::string(version);
  const char* plural = ref.kind == ClaimRef::Kind::Claim ? "resourceclaims" : "resourceclaimtemplates";
  return kube::path_in(ref.name_space, {group, plural}, ref.name);
}

}  // namespace

SharedRequests ClaimReader::known(const ClaimRef& ref, Moment now) const {
  return recent_.known(ref, now).value_or(nullptr);
}

Result<SharedRequests> ClaimReader::read(const ClaimRef& ref, Moment now) {
  if (!is_dns_subdomain(ref.name_space) || !is_dns_subdomain(ref.name))
    return Error{describe(ref) + " does not exist"};
  const std::size_t first = version_;
  for (std::size_t i = 0; i < kVersions.size(); ++i) {
    const std::size_t version = (first + i) % kVersions.size();
    kube::Call call;
    call.target = target(ref, kVersions[version]);
    call.deadline = kDeadline;
    const auto reply = client_.call(call);
    if (!reply) return Error{describe(ref) + " could not be read: " + reply.error().message};
    if (!serves_version(*reply)) continue;
    version_ = version;
    if (reply->status == kube::kNotFound) return Error{describe(ref) + " does not exist"};
    if (reply->status != kube::kOk)
      return Error{describe(ref) + " could not be read: " + kube::status_message(*reply)};
    auto requests = parse_device_requests(reply->body);
    if (!requests) return Error{describe(ref) + ": " + requests.error().message};
    auto shared = std::make_shared<const DeviceRequests>(*std::move(requests));
    recent_.keep(ref, shared, now);
    return SharedRequests(std::move(shared));
  }
  return Error{describe(ref) + " could not be read: the server does not serve resource.k8s.io"};
}

}  // namespace nccl_env::store
