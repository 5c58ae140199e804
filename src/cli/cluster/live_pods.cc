// SPDX-License-Identifier: Apache-2.0
#include "cluster/live_pods.h"

#include <algorithm>
#include <istream>
#include <set>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/explain/job.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
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

class Listing {
 public:
  Listing(kube::ApiServer& client, const std::string& name_space)
      : client_(client), path_(path_in(name_space, kube::kPods)) {}

  Status add_labelled(const std::string& label, const std::string& name) {
    std::size_t found = 0;
    const auto add = [&](const Json& pod) {
      ++found;
      take(pod);
    };
    Status listed = kube::list_all(client_, kube::by_label(path_, label + "=" + name), add);
    if (!listed) return listed;
    if (found == 0) return done();
    found_.labels.push_back(label);
    most_ = std::max(most_, found);
    return full();
  }

  Status add_owned(const std::string& name) {
    const auto add = [&](const Json& pod) {
      if (is_owned_by(pod, name)) take(pod);
    };
    Status listed = kube::list_all(client_, path_, add);
    return listed ? full() : listed;
  }

  [[nodiscard]] bool empty() const { return found_.pods.empty(); }
  JobPods result() {
    found_.several = !found_.labels.empty() && most_ < found_.pods.size();
    return std::move(found_);
  }

 private:
  void take(const Json& pod) {
    if (found_.pods.size() > kMaxLivePods || !names_.insert(text_at(member(pod, "metadata"), "name")).second)
      return;
    Json& kept = found_.pods.emplace_back(pod);
    kept["metadata"].erase("managedFields");  // half of a pod, and not looked at
  }
  [[nodiscard]] Status full() const {
    if (found_.pods.size() <= kMaxLivePods) return done();
    return Error{"the job has more than " + std::to_string(kMaxLivePods) + " pods"};
  }

  kube::ApiServer& client_;
  const std::string path_;
  std::set<std::string> names_;
  std::size_t most_ = 0;  // pods that one label found
  JobPods found_;
};

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
  const auto add = [&](Json& object) {
    if (text_at(object, "kind") != "Pod") return false;
    pods.push_back(std::move(object));
    return pods.size() <= kMaxLivePods;
  };
  for (Json& document : *documents) {
    const bool list = member(document, "items").is_array();
    for (std::size_t i = 0; i < (list ? document["items"].size() : 1); ++i) {
      if (add(list ? document["items"][i] : document)) continue;
      return Error{
          file +
          (pods.size() > kMaxLivePods
               ? ": holds more than " + std::to_string(kMaxLivePods) + " pods"
               : ": holds something that is not a Pod; it has to be what kubectl get pods -o json prints")};
    }
  }
  if (!pods.empty() && std::ranges::none_of(pods, was_created))
    return Error{file + ": holds a manifest, of which no API server has made a pod: nccl-env explain -f " +
                 file + ", without a TARGET, tells what it would get"};
  return pods;
}

Result<JobPods> list_job_pods(kube::ApiServer& client, const std::string& name_space,
                              const std::string& name) {
  Listing listing(client, name_space);
  if (name.size() <= kMaxLabelValue) {
    for (const std::string_view label : kJobLabels) {
      if (const Status added = listing.add_labelled(std::string(label), name); !added) return added.error();
    }
  }
  if (listing.empty()) {
    if (const Status added = listing.add_owned(name); !added) return added.error();
  }
  if (listing.empty())
    return Error{
        "job " + name_space + "/" + name +
        ": there are no pods with its label, nor any that it owns; a finished job may have lost them, and "
        "`kubectl -n " +
        name_space + " describe` of the job says why it has none yet"};
  return listing.result();
}

}  // namespace nccl_env::cli
