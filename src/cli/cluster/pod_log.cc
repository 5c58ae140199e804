// SPDX-License-Identifier: Apache-2.0
#include "cluster/pod_log.h"

#include "cluster/objects.h"

namespace nccl_env::cli {
namespace {

// The kubelet reads a file; between two pieces there is nothing that takes long.
constexpr std::chrono::seconds kIdle{30};

}  // namespace

Result<bool> read_pod_log(kube::ApiServer& client, const PodName& pod, const std::string& container,
                          const PodLogOptions& options,
                          const std::function<void(std::string_view part)>& on_part) {
  const std::uint64_t limit = static_cast<std::uint64_t>(options.limit_mib) << 20;
  std::string target = ask_pod(pod.name_space, pod.name).target +
                       "/log?container=" + kube::escaped(container) + "&limitBytes=" + std::to_string(limit);
  if (options.tail > 0) target += "&tailLines=" + std::to_string(options.tail);
  if (options.previous) target += "&previous=true";
  std::uint64_t received = 0;
  const auto reply = client.stream_parts(target, kIdle, [&](std::string_view part) {
    // The limit holds for a server that does not know it, too.
    part = part.substr(0, limit - std::min(limit, received));
    received += part.size();
    on_part(part);
    return received < limit;
  });
  if (!reply) return Error{pod.text() + ", its log: " + reply.error().message};
  if (reply->status != kube::kOk) return Error{pod.text() + ": " + kube::status_message(*reply)};
  return received >= limit;
}

}  // namespace nccl_env::cli
