// SPDX-License-Identifier: Apache-2.0
#include "decide/resolver_container.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/policy/writer.h"
#include "nccl_env/json_text.h"

namespace nccl_env {
namespace {

using json::append_string;

constexpr std::string_view kDirectory = "/nccl-env";
// Linux takes 128 KiB for one variable (MAX_ARG_STRLEN), its name included.
constexpr std::size_t kMaxPolicyText = 120u << 10;
// The image's own user, and the only one that is known not to be root.
constexpr std::string_view kUser = "65532";

// Kubernetes expands $(NAME) and takes $$ for $.
std::string without_expansion(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

// True if our container may have sizes of its own. A pod whose containers ask for neither cpu nor memory is
// BestEffort and has to stay so; a pod with pod-level resources has its class from these.
bool is_sized(const Pod& pod) {
  const auto has_compute = [&](const Container& container) {
    const bool ours = pod.own_container && &container == &pod.containers[pod.own_container->position];
    return !ours && container.has_compute;
  };
  return !pod.has_resources && std::any_of(pod.containers.begin(), pod.containers.end(), has_compute);
}

void append_quantities(std::string& out, std::string_view name, const Compute& compute) {
  append_string(out, name);
  out += ":{";
  const auto append = [&](std::string_view what, const std::string& quantity) {
    if (quantity.empty()) return;
    if (out.back() != '{') out += ',';
    append_string(out, what);
    out += ':';
    append_string(out, quantity);
  };
  append("cpu", compute.cpu);
  append("memory", compute.memory);
  append("ephemeral-storage", compute.ephemeral_storage);
  out += '}';
}

// True if all containers always pull. The AlwaysPullImages plugin sets this on containers that exist before
// webhooks are called, and refuses the pod if a container that was added later lacks it.
bool all_pull(const Pod& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(), [](const Container& container) {
    return container.always_pulls || container.name == conf_file::kResolver;
  });
}

void append_mounts(std::string& out) {
  out += R"(,"volumeMounts":[{"name":)";
  append_string(out, conf_file::kVolume);
  out += R"(,"mountPath":)";
  append_string(out, kDirectory);
  out += R"(},{"name":)";
  append_string(out, conf_file::kVolume);
  // The ServiceAccount plugin mounts no token where something is mounted already: here an empty directory.
  out +=
      R"(,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","subPath":"no-token","readOnly":true}])";
}

}  // namespace

std::optional<ResolverContainer> ResolverContainer::make(const Pod& pod, const NcclPolicy& policy,
                                                         const Resolver& resolver, const Container& served,
                                                         const InitWork& work) {
  ResolverContainer made;
  made.image_ = resolver.image;
  made.requests_ = served.requests;
  made.limits_ = served.limits;
  made.compute_ = served.has_compute;
  // A size from the command line is both request and limit.
  const auto take = [&](const std::string& size, std::string Compute::*member) {
    if (size.empty()) return;
    made.requests_.*member = made.limits_.*member = size;
    made.compute_ = made.compute_ || member != &Compute::ephemeral_storage;
  };
  if (is_sized(pod)) {
    take(resolver.cpu, &Compute::cpu);
    take(resolver.memory, &Compute::memory);
  }
  take(resolver.ephemeral_storage, &Compute::ephemeral_storage);
  made.args_ = {"resolve", "--out", "/nccl-env/nccl.conf"};
  if (work.env_file) {
    made.args_.insert(made.args_.end(), {"--env-out", "/nccl-env/" + std::string(conf_file::kEnvName)});
    made.texts_.emplace_back(init_variable::kNode, field_path(key::kNode));
  }
  if (!work.files.empty())
    made.args_.insert(made.args_.end(), {"--engine-files", std::string(conf_file::kFolder)});
  if (!work.conf_key.empty()) made.texts_.emplace_back(init_variable::kConf, field_path(work.conf_key));
  if (work.given.empty()) {
    const std::string text = to_json(policy).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (text.size() > kMaxPolicyText) return std::nullopt;
    made.policy_ = without_expansion(text);
  } else {
    made.args_.insert(made.args_.end(), {"--given", work.given});
    for (const auto& [file, key] : work.files)
      made.texts_.emplace_back(std::string(init_variable::kFile).append(file), field_path(key));
  }
  made.always_pull_ = all_pull(pod);
  made.set_user_ = pod.runs_as_root;
  return made;
}

std::string ResolverContainer::render() const {
  std::string out;
  out.reserve(2048);
  out += "{\"name\":";
  append_string(out, conf_file::kResolver);
  out += ",\"image\":";
  append_string(out, image_);
  if (always_pull_) out += R"(,"imagePullPolicy":"Always")";
  out += ",\"args\":";
  char before = '[';
  for (const std::string_view word : args_) {
    out += before;
    append_string(out, word);
    before = ',';
  }
  out += "],\"env\":[";
  if (!policy_.empty()) {
    out += "{\"name\":";
    append_string(out, init_variable::kPolicy);
    out += ",\"value\":";
    append_string(out, policy_);
    out += '}';
  }
  for (const auto& [name, path] : texts_) {
    if (out.back() != '[') out += ',';
    out += "{\"name\":";
    append_string(out, name);
    out += R"(,"valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":)";
    append_string(out, path);
    out += "}}}";
  }
  out += "],\"resources\":{";
  append_quantities(out, "limits", limits_);
  out += ',';
  append_quantities(out, "requests", requests_);
  out += "},\"securityContext\":{\"runAsNonRoot\":true,";
  if (set_user_) out.append("\"runAsUser\":").append(kUser).append(",");
  out += R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true,)"
         R"("seccompProfile":{"type":"RuntimeDefault"}})";
  append_mounts(out);
  return out += '}';
}

bool ResolverContainer::is_same(const Pod& pod, const OwnContainer& standing) const {
  const Container& container = pod.containers[standing.position];
  const auto is_policy = [&](const EnvEntry& entry) {
    return entry.name == init_variable::kPolicy && !entry.has_source && entry.value == policy_;
  };
  const auto brings = [&](const auto& text) {
    return std::any_of(container.env.begin(), container.env.end(), [&](const EnvEntry& entry) {
      return entry.name == text.first && entry.field_path == text.second;
    });
  };
  const auto holds_file = [](const VolumeMount& mount) {
    return mount.volume == conf_file::kVolume && mount.mount_path == kDirectory && mount.sub_path.empty() &&
           !mount.read_only;
  };
  // In a pod with pod-level resources, the defaults that a LimitRange adds to a container do not count.
  const bool sized = container.has_compute == compute_ || pod.has_resources;
  return sized && standing.image == image_ &&
         std::equal(standing.args.begin(), standing.args.end(), args_.begin(), args_.end()) &&
         (policy_.empty() || std::any_of(container.env.begin(), container.env.end(), is_policy)) &&
         std::all_of(texts_.begin(), texts_.end(), brings) &&
         std::any_of(container.mounts.begin(), container.mounts.end(), holds_file);
}

}  // namespace nccl_env
