// SPDX-License-Identifier: Apache-2.0
#include "cluster/bundle.h"

#include <algorithm>
#include <set>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kKind = "nccl-env bug report";
constexpr int kFormat = 1;

// Each kind of the API by its plural, and the parts that several have, as a tree of what is kept. A list has
// the form of its items; "@part" stands for a part. Leaves say how a value is kept:
//   keep   as it is, with all below it
//   set    only that it is there
//   own    only if its key is nccl-env's, or its value is a number
//   path   only if it begins with /etc or /dev, or is / or nccl.conf; else only that it is there
//   image  only nccl-env's own, without its registry
constexpr const char* kForms = R"({
"metadata": {"name": "keep", "generateName": "keep", "namespace": "keep", "resourceVersion": "keep",
  "generation": "keep", "creationTimestamp": "keep", "deletionTimestamp": "keep", "labels": {"*": "own"},
  "annotations": {"*": "own"}, "ownerReferences": [{"apiVersion": "keep", "kind": "keep", "name": "keep",
    "controller": "keep"}]},
"namespaces": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata"},
"nodes": {"metadata": "@metadata", "status": {"allocatable": "keep"}},
"nodefabrics": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata", "observed": "keep"},
"ncclpolicies": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata", "spec": "keep",
  "status": "keep"},
"pods": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata",
  "spec": {"nodeName": "keep", "runtimeClassName": "keep", "hostNetwork": "keep", "hostIPC": "keep", "schedulingGates": [{"name": "keep"}],
    "securityContext": "@user", "resources": "keep",
    "resourceClaims": [{"name": "keep", "resourceClaimName": "keep", "resourceClaimTemplateName": "keep"}],
    "volumes": [{"name": "keep", "hostPath": {"path": "path"}, "emptyDir": "keep",
      "downwardAPI": {"items": [{"path": "keep", "fieldRef": {"fieldPath": "keep"}}]}}],
    "initContainers": ["@container"], "containers": ["@container"]},
  "status": {"phase": "keep", "reason": "keep",
    "conditions": [{"type": "keep", "status": "keep", "reason": "keep", "message": "keep"}],
    "initContainerStatuses": ["@state"], "containerStatuses": ["@state"]}},
"container": {"name": "keep", "image": "image", "imagePullPolicy": "keep", "env": ["@env"],
  "envFrom": [{"prefix": "keep"}],
  "resources": {"limits": "keep", "requests": "keep", "claims": "keep"},
  "volumeMounts": [{"name": "keep", "mountPath": "path", "subPath": "path", "readOnly": "keep"}],
  "securityContext": {"runAsUser": "keep", "runAsNonRoot": "keep", "privileged": "keep",
    "capabilities": {"add": "keep"}}},
"user": {"runAsUser": "keep", "runAsNonRoot": "keep"},
"env": {"name": "keep", "value": "keep", "valueFrom": {"fieldRef": {"fieldPath": "keep"},
  "fileKeyRef": {"volumeName": "keep", "path": "keep", "key": "keep", "optional": "keep"}}},
"state": {"name": "keep", "ready": "keep", "restartCount": "keep", "image": "image", "state": "@states",
  "lastState": "@states"},
"states": {"running": {"startedAt": "keep"}, "waiting": {"reason": "keep"},
  "terminated": {"exitCode": "keep", "reason": "keep", "message": "keep", "finishedAt": "keep"}},
"events": {"metadata": "@metadata", "type": "keep", "reason": "keep", "message": "keep", "count": "keep",
  "firstTimestamp": "keep", "lastTimestamp": "keep",
  "involvedObject": {"kind": "keep", "name": "keep", "namespace": "keep"}},
"deployments": {"metadata": "@metadata", "spec": "@workload", "status": "@rollout"},
"daemonsets": {"metadata": "@metadata", "spec": "@workload", "status": "@rollout"},
"workload": {"replicas": "keep", "strategy": "keep", "updateStrategy": "keep", "template": {"spec": {
  "hostNetwork": "keep", "containers": [{"name": "keep", "image": "image", "args": ["keep"],
    "resources": "keep"}]}}},
"rollout": {"replicas": "keep", "readyReplicas": "keep", "availableReplicas": "keep", "updatedReplicas": "keep",
  "observedGeneration": "keep", "desiredNumberScheduled": "keep", "currentNumberScheduled": "keep",
  "updatedNumberScheduled": "keep", "numberReady": "keep", "numberAvailable": "keep"},
"mutatingwebhookconfigurations": {"metadata": "@metadata", "webhooks": ["@hook"]},
"validatingwebhookconfigurations": {"metadata": "@metadata", "webhooks": ["@hook"]},
"hook": {"name": "keep", "rules": "keep", "failurePolicy": "keep", "matchPolicy": "keep",
  "reinvocationPolicy": "keep", "timeoutSeconds": "keep", "matchConditions": "keep",
  "namespaceSelector": "@selector", "objectSelector": "@selector",
  "clientConfig": {"caBundle": "set", "service": {"name": "keep", "namespace": "keep", "path": "keep",
    "port": "keep"}}},
"selector": {"matchLabels": {"*": "own"},
  "matchExpressions": [{"key": "keep", "operator": "keep", "values": ["keep"]}]},
"version": {"gitVersion": "keep", "platform": "keep"},
"list": {"apiVersion": "keep", "kind": "keep", "metadata": {"resourceVersion": "keep", "continue": "keep"}},
"refusal": {"message": "keep", "reason": "keep"}
})";

constexpr int kMaxLevels = 24;  // of a form with its parts put in

const Json& form_of(std::string_view part) {
  static const Json kTree = Json::parse(kForms);
  return member(kTree, part);
}

bool is_own(std::string_view key) {
  return key.find("nccl-env.io/") != key.npos;
}

// A path of the API as its words: {"api", "v1", "namespaces", "ml", "pods"}.
std::vector<std::string> words_of(std::string_view target) {
  std::vector<std::string> words;
  target = target.substr(0, target.find('?'));
  while (!target.empty()) {
    const std::string_view word = target.substr(0, target.find('/'));
    if (!word.empty()) words.emplace_back(word);
    target.remove_prefix(std::min(target.size(), word.size() + 1));
  }
  return words;
}

// Drops a container's termination message, unless it is that of nccl-env's init container.
void drop_message(Json& status) {
  if (member(status, "name") == std::string(conf_file::kResolver)) return;
  for (const char* state : {"state", "lastState"}) {
    const Json::json_pointer place(std::string("/") + state + "/terminated");
    if (status.contains(place)) status[place].erase("message");
  }
}

Json keep_leaf(const Json& value, std::string_view how, std::string_view key) {
  if (how == "keep") return value;
  if (!value.is_string()) return how == "set" ? Json(!value.is_null()) : Json();
  const std::string& text = value.get_ref<const std::string&>();
  if (how == "set") return text.empty() ? "" : "(set)";
  if (how == "own") {
    const bool number = !text.empty() && std::ranges::all_of(text, is_digit);
    return is_own(key) || number ? value : Json();
  }
  if (how == "path") {
    const auto is_below = [&](std::string_view place) { return text.starts_with(place); };
    const bool kept = is_below("/etc") || is_below("/dev") || is_below(conf_file::kFolder) || text == "/" ||
                      text == conf_file::kName;
    return kept ? text : "/left-out";
  }
  const std::string name = text.substr(text.rfind('/') + 1);
  return name.starts_with("nccl-env") ? Json(name) : Json();
}

Json keep(const Json& value, const Json& form, const std::string& key = "", int level = 0) {
  if (level > kMaxLevels) return {};
  if (form.is_string()) {
    const std::string& how = form.get_ref<const std::string&>();
    return how.front() == '@' ? keep(value, form_of(how.substr(1)), key, level) : keep_leaf(value, how, key);
  }
  if (value.type() != form.type()) return {};
  Json kept(value.type());
  if (form.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      const Json& here = member(form, form.contains("*") ? "*" : name);
      Json some = here.is_null() ? Json() : keep(inner, here, name, level + 1);
      if (!some.is_null()) kept[name] = std::move(some);
    }
    return kept;
  }
  const Json& of_item = form.front();
  for (const Json& item : value) {
    if (of_item == "@env" && !has_known_prefix(text_at(item, "name"))) continue;
    Json some = keep(item, of_item, "", level + 1);
    if (of_item == "@state") drop_message(some);
    if (!some.is_null()) kept.push_back(std::move(some));
  }
  return kept;
}

std::string line_of(const auto& json) {
  return dump_json(json) + "\n";
}

// True for agents and for pods with annotations of ours: a list of all namespaces' pods is kept for these
// alone.
bool is_of_interest(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  if (text_at(member(metadata, "labels"), "app.kubernetes.io/name") == "nccl-env-agent") return true;
  const Json& annotations = member(metadata, "annotations");
  return annotations.is_object() && std::ranges::any_of(annotations.get_ref<const Json::object_t&>(),
                                                        [](const auto& each) { return is_own(each.first); });
}

Json kept(std::string_view target, const kube::Reply& reply) {
  const Json body = parse_json(reply.body);
  if (reply.status != kube::kOk) return keep(body, form_of("refusal"));
  const Json& form = form_of(kind_at(target));
  if (form.is_null()) return {};
  const Json& items = member(body, "items");
  if (!body.is_object() || !body.contains("items")) return keep(body, form);
  Json list = keep(body, form_of("list"));
  list["items"] = items.is_null() ? items : Json::array();
  for (const Json& item : items) {
    if (target.starts_with(path_of(kube::kPods)) && !is_of_interest(item)) continue;
    list["items"].push_back(keep(item, form));
  }
  return list;
}

}  // namespace

std::string kind_at(std::string_view target) {
  const std::vector<std::string> words = words_of(target);
  std::size_t at = words.empty() || words.front() == "version" ? 0 : words.front() == "apis" ? 3 : 2;
  if (at + 2 < words.size() && words[at] == "namespaces") at += 2;
  if (at >= words.size()) return {};
  return words.size() == at + 3 ? words.back() : words[at];  // PODS/NAME/log
}

std::string kept_text(std::string_view target, const kube::Reply& reply) {
  return dump_json(kept(target, reply));
}

std::map<std::string, std::size_t> Bundle::kinds() const {
  std::map<std::string, std::set<std::string>> names;
  for (const auto& [target, reply] : answers) {
    const std::string kind = kind_at(target);
    if (reply.status != kube::kOk || kind.empty()) continue;
    const Json body = parse_json(reply.body);
    const bool list = member(body, "items").is_array();
    for (const Json& object : list ? body["items"] : Json::array({body})) {
      const Json& metadata = member(object, "metadata");
      names[kind].insert(text_at(metadata, "namespace") + "/" + text_at(metadata, "name"));
    }
  }
  std::map<std::string, std::size_t> counts;
  for (const auto& [kind, objects] : names) counts.emplace(kind, objects.size());
  return counts;
}

std::string render_bundle(const Bundle& bundle) {
  std::string text = line_of(OrderedJson{{"kind", kKind},
                                         {"format", kFormat},
                                         {"at", format_timestamp(bundle.at)},
                                         {"program", bundle.program},
                                         {"server", bundle.server},
                                         {"namespace", bundle.name_space}});
  for (const auto& [target, reply] : bundle.answers)
    text += line_of(OrderedJson{{"get", target}, {"status", reply.status}}) + reply.body + "\n";
  return text + line_of(Json{{"findings", bundle.findings}});
}

Result<kube::Reply> RecordingServer::call(const kube::Call& call) {
  if (call.method != "GET") return Error{"a bug report only reads"};
  auto reply = asked_->call(call);
  bundle_.answers[call.target] = reply ? kube::Reply{reply->status, kept_text(call.target, *reply)}
                                       : kube::Reply{0, dump_json(Json(reply.error().message))};
  return reply;
}

}  // namespace nccl_env::cli
