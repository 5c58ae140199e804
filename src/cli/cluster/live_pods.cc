// SPDX-License-Identifier: Apache-2.0
#include "cluster/live_pods.h"

#include <algorithm>
#include <istream>
#include <set>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/judge/explain/job.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// A longer name cannot be a label's value.
constexpr std::size_t kMaxLabelValue = 63;

bool is_owned_by(const Json& pod, const std::string& name) {
  const Json& owners = items_at(member(pod, "metadata"), "ownerReferences");
  return std::ranges::any_of(owners, [&](const Json& owner) { return text_at(owner, "name") == name; });
}

// False if the object is as its author wrote it: an API server adds an identity and a status, our webhook an
// annotation.
bool was_created(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  return metadata.contains("uid") || metadata.contains("creationTimestamp") || pod.contains("status") ||
         member(metadata, "annotations").contains(key::kStatus);
}

}  // namespace

Result<std::unique_ptr<LivePod>> LivePod::read(const Json& object) {
  std::unique_ptr<LivePod> live(new LivePod);
  const std::string text = dump_json(object);
  const auto pod = live->parser_.parse_pod(text);
  if (!pod) return pod.error();
  live->pod_ = *pod;
  if (live->pod_.name.empty()) return Error{"the pod has no metadata.name"};
  live->record_ = read_pod_record(live->pod_, object);
  return live;
}

Result<std::vector<Json>> read_pod_file(const std::string& file, std::istream& in) {
  auto documents = program::read_documents(file, in);
  if (!documents) return documents.error();
  std::vector<Json> pods;
  for (Json& document : *documents) {
    const bool list = member(document, "items").is_array();
    for (std::size_t i = 0; i < (list ? document["items"].size() : 1); ++i) {
      Json& object = list ? document["items"][i] : document;
      if (text_at(object, "kind") != "Pod")
        return Error{
            file + ": holds something that is not a Pod; it has to be what kubectl get pods -o json prints"};
      if (pods.size() == kMaxLivePods)
        return Error{file + ": holds more than " + std::to_string(kMaxLivePods) + " pods"};
      pods.push_back(std::move(object));
    }
  }
  if (!pods.empty() && std::ranges::none_of(pods, was_created))
    return Error{file + ": holds a manifest, of which no API server has made a pod: nccl-env explain -f " +
                 file + ", without a TARGET, tells what it would get"};
  return pods;
}

Result<JobPods> list_job_pods(kube::ApiServer& client, const std::string& name_space,
                              const std::string& name) {
  JobPods found;
  std::set<std::string> names;
  // Adds the pods there that belong to the owner, "" being anybody; returns how many there are.
  const auto add = [&](const std::string& path, const std::string& owner) -> Result<std::size_t> {
    std::size_t seen = 0;
    const Status listed = kube::list_all(client, path, [&](const Json& pod) {
      if (!owner.empty() && !is_owned_by(pod, owner)) return;
      ++seen;
      if (found.pods.size() > kMaxLivePods || !names.insert(text_at(member(pod, "metadata"), "name")).second)
        return;
      Json& kept = found.pods.emplace_back(pod);
      kept["metadata"].erase("managedFields");  // half of a pod, and not looked at
    });
    if (!listed) return listed.error();
    if (found.pods.size() > kMaxLivePods)
      return Error{"the job has more than " + std::to_string(kMaxLivePods) + " pods"};
    return seen;
  };
  const std::string path = path_in(name_space, kube::kPods);
  std::size_t most = 0;  // pods that one label found
  for (const std::string_view label : kJobLabels) {
    if (name.size() > kMaxLabelValue) break;
    const auto seen = add(kube::by_label(path, std::string(label) + "=" + name), "");
    if (!seen) return seen.error();
    if (*seen > 0) found.labels.emplace_back(label);
    most = std::max(most, *seen);
  }
  if (found.pods.empty()) {
    if (const auto owned = add(path, name); !owned) return owned.error();
  }
  if (found.pods.empty())
    return Error{
        "job " + name_space + "/" + name +
        ": there are no pods with its label, nor any that it owns; a finished job may have lost them, and "
        "`kubectl -n " +
        name_space + " describe` of the job says why it has none yet"};
  found.several = !found.labels.empty() && most < found.pods.size();
  return found;
}

}  // namespace nccl_env::cli
