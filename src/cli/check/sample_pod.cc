// SPDX-License-Identifier: Apache-2.0
#include "check/sample_pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// The pattern with its special characters taken for plain ones: "rdma/hca_?" → "rdma/hca_a".
std::string plain(const std::string& pattern, const std::string& star) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      name += star;
    } else if (pattern[i] == '?') {
      name += 'a';
    } else if (pattern[i] == '[' && i + 1 < pattern.size()) {
      name += pattern[i + 1];
      i = std::min(pattern.find(']', i + 2), pattern.size());
    } else {
      name += pattern[i];
    }
  }
  return name;
}

std::optional<std::string> name_for(const std::string& pattern, const NcclPolicy& policy) {
  for (const std::string star : {"", "a", "hca", "rdma/hca"}) {
    const std::string name = plain(pattern, star);
    const auto takes = [&](const std::string& glob) { return glob_matches(glob, name); };
    const bool skipped = std::ranges::any_of(policy.skip_resources, takes);
    const std::size_t slash = name.find('/');
    const bool whole =
        slash != name.npos && slash > 0 && slash + 1 < name.size() && name.find('/', slash + 1) == name.npos;
    if (whole && is_alphanumeric(name.back()) && is_alphanumeric(name.front()) && takes(pattern) && !skipped)
      return name;
  }
  return std::nullopt;
}

}  // namespace

Json sample_pod(const std::string& resource, const SampleSize& size) {
  const Json amount{{resource, "1"}, {"cpu", size.cpu}, {"memory", size.memory}};
  const Json container{
      {"name", "sample"},
      {"image", size.image},
      {"resources", {{"limits", amount}, {"requests", amount}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}}};
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"generateName", "nccl-env-check-"}}},
      {"spec",
       {{"restartPolicy", "Never"},
        {"automountServiceAccountToken", false},
        {"securityContext",
         {{"runAsNonRoot", true}, {"runAsUser", 65532}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
        {"containers", Json::array({container})}}}};
}

Json sample_agent_pod() {
  Json pod = sample_pod("cpu", {});
  pod["spec"]["hostNetwork"] = true;
  pod["spec"]["containers"][0]["volumeMounts"] =
      Json::array({{{"name", "sys"}, {"mountPath", "/sys"}, {"readOnly", true}}});
  pod["spec"]["volumes"] =
      Json::array({{{"name", "sys"}, {"hostPath", {{"path", "/sys"}, {"type", "Directory"}}}}});
  return pod;
}

std::vector<std::string> sample_resources(const NcclPolicy& policy) {
  std::vector<std::string> names;
  for (const ResourceMatch& entry : policy.resources) {
    const auto name = name_for(entry.name, policy);
    if (name && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  return names;
}

}  // namespace nccl_env::cli
