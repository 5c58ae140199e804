// SPDX-License-Identifier: Apache-2.0
#include "check/removal.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/objects.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

// A projected volume's item is six levels below spec.
constexpr int kMaxFieldDepth = 16;

constexpr std::size_t kMaxShown = 20;  // names in a sentence

bool reads_node_key(const std::string& path) {
  const std::string around = field_path("");  // metadata.annotations['']
  const std::string_view before = std::string_view(around).substr(0, around.size() - 2);
  return path.size() > around.size() && path.starts_with(before) &&
         is_node_key(std::string_view(path).substr(before.size(), path.size() - around.size()));
}

// Env and volumes alike name a field by `fieldPath`.
bool reads_node_keys(const Json& value, int depth) {
  if (depth > kMaxFieldDepth) return false;
  if (value.is_object() && reads_node_key(text_at(value, "fieldPath"))) return true;
  if (!value.is_structured()) return false;
  return std::ranges::any_of(value, [depth](const Json& inner) { return reads_node_keys(inner, depth + 1); });
}

// Null if there is no such object.
Result<Json> find_object(kube::ApiServer& client, const Asked& asked) {
  LookUp found = look_up(client, asked);
  if (found.outcome == LookUp::Outcome::Absent) return Json();
  if (found.outcome != LookUp::Outcome::Found) return Error{found.problem};
  return std::move(found.object);
}

Status find_hooks(kube::ApiServer& client, const std::string& plural, std::vector<std::string>& into) {
  const auto found = find_object(client, ask_hooks(plural));
  if (!found) return found.error();
  for (const Json& hook : member(*found, "webhooks")) into.push_back(text_at(hook, "name"));
  return done();
}

Status find_crds(kube::ApiServer& client, std::vector<std::string>& into) {
  for (const char* name : {kPolicyCrd, kTableCrd}) {
    const auto found = find_object(client, ask_crd(name));
    if (!found) return found.error();
    if (!found->is_null()) into.emplace_back(name);
  }
  return done();
}

bool has_ended(const Json& pod) {
  const std::string phase = text_at(member(pod, "status"), "phase");
  return phase == "Failed" || phase == "Succeeded";
}

void add_pod(const Json& pod, PodsByNamespace& into) {
  const Json& metadata = member(pod, "metadata");
  NamedPods& pods = into[text_at(metadata, "namespace")];
  if (++pods.count <= NamedPods::kMaxNames) pods.names.push_back(text_at(metadata, "name"));
}

std::string names_of(const std::pair<const std::string, NamedPods>& some) {
  const auto& [name_space, pods] = some;
  const std::size_t hidden = pods.count - pods.names.size();
  return name_space + ": " + join(pods.names) +
         (hidden > 0 ? " and " + std::to_string(hidden) + " more" : "");
}

std::size_t count_of_pods(const PodsByNamespace& pods) {
  std::size_t count = 0;
  for (const auto& [name, named] : pods) count += named.count;
  return count;
}

Judged judge_waiting(const Installation& found) {
  const std::string pods = count_of(count_of_pods(found.waiting), "pod");
  const std::string where = join_some(found.waiting, kMaxShown, names_of);
  if (count_of_pods(found.waiting) == 0) return {Sight::Good, "no pod waits for values from its Binding"};
  if (found.has_hook(kBindingHook))
    return {Severity::Error, pods + " without a node, whose Binding has to bring values: " + where,
            "Wait until they have a node, or delete them."};
  return {Severity::Error,
          pods + " will start with NCCL's own choices, since the binding hook is gone: " + where,
          "Install nccl-env again before they get a node, or delete them."};
}

Judged judge_image(const Installation& found) {
  const std::size_t count = count_of_pods(found.of_image);
  if (count == 0) return {Sight::Good, "no pod needs nccl-env's image"};
  const bool one = count == 1;
  return {Severity::Info,
          count_of(count, "pod") + (one ? " has" : " have") +
              " the init container nccl-env-resolve, of image " + join(found.images) + ": " +
              join_some(found.of_image, kMaxShown, names_of),
          std::string("Keep the image in its registry until ") + (one ? "it has" : "they have") +
              " ended: a node that restarts runs the init container again."};
}

// Judges the hooks that see new pods. They have to be removed first; the remedy does that.
Judged judge_new_pods(const std::vector<std::string>& hooks) {
  std::vector<std::string> names;
  std::string steps;
  for (std::size_t i = hooks.size(); i-- > 0;) {  // from the last one: a removal moves later hooks
    if (hooks[i] != kPodsHook && hooks[i] != kStrictPodsHook) continue;
    names.insert(names.begin(), hooks[i]);
    const std::string place = "/webhooks/" + std::to_string(i);
    steps += std::string(steps.empty() ? "" : ", ") + R"({"op": "test", "path": ")" + place +
             R"(/name", "value": ")" + hooks[i] + R"("}, {"op": "remove", "path": ")" + place + R"("})";
  }
  if (names.empty()) return {Sight::Good, "they are left alone"};
  return {Severity::Error, join(names) + ": new pods get references that their Binding has to fill",
          "kubectl patch mutatingwebhookconfiguration nccl-env --type json -p '[" + steps + "]'"};
}

// A part that may be there or not: `remedy` removes it.
Judged judge_rest(const std::vector<std::string>& names, const char* remedy) {
  if (names.empty()) return {Sight::Good, "none"};
  return {Severity::Info, "left: " + join_some(names, kMaxShown), remedy};
}

}  // namespace

bool Installation::has_hook(std::string_view name) const {
  return std::ranges::find(hooks, name) != hooks.end();
}

bool waits_for_binding(const Json& pod) {
  const Json& spec = member(pod, "spec");
  return text_at(spec, "nodeName").empty() && !has_ended(pod) && reads_node_keys(spec, 0);
}

namespace {

// The image of the pod's init container nccl-env-resolve; "" without one, and for a pod that has ended.
std::string image_needed(const Json& pod) {
  if (has_ended(pod)) return {};
  for (const Json& init : items_at(member(pod, "spec"), "initContainers")) {
    if (text_at(init, "name") == conf_file::kResolver) return text_at(init, "image");
  }
  return {};
}

}  // namespace

Result<Installation> find_installation(kube::ApiServer& client) {
  Installation found;
  if (Status read = find_hooks(client, "mutatingwebhookconfigurations", found.hooks); !read)
    return read.error();
  if (Status read = find_hooks(client, "validatingwebhookconfigurations", found.validators); !read)
    return read.error();
  if (Status read = find_crds(client, found.crds); !read) return read.error();
  auto opted_in = list_opted_in(client);
  if (!opted_in) return opted_in.error();
  found.opted_in = *std::move(opted_in);
  const auto note = [&](const Json& pod) {
    if (waits_for_binding(pod)) add_pod(pod, found.waiting);
    const std::string image = image_needed(pod);
    if (image.empty()) return;
    add_pod(pod, found.of_image);
    if (found.images.size() < NamedPods::kMaxNames) found.images.insert(image);
  };
  const std::string running =
      kube::by_field(path_of(kube::kPods), "status.phase!=Succeeded,status.phase!=Failed");
  if (Status read = kube::list_all(client, running, note); !read) return read.error();
  return found;
}

Checks judge_removal(const Installation& found) {
  std::vector<std::string> hooks = found.hooks;
  hooks.insert(hooks.end(), found.validators.begin(), found.validators.end());
  return {{Code::NewPods, judge_new_pods(found.hooks)},
          {Code::WaitingPods, judge_waiting(found)},
          {Code::ImageUsers, judge_image(found)},
          {Code::Hooks,
           judge_rest(hooks,
                      "kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration nccl-env")},
          {Code::Crds, judge_rest(found.crds, "Remove them last: policies and tables go with them.")},
          {Code::OptedIn, judge_rest(found.opted_in, "kubectl label namespace NAME nccl-env.io/policy-")}};
}

}  // namespace nccl_env::cli
