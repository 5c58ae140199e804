// SPDX-License-Identifier: Apache-2.0
#include "cluster/kept_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;

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

class Keeper {
 public:
  Json keep(const Json& value, const Json& form, const std::string& key, int level) {
    if (level > kMaxLevels) return {};
    if (form.is_object()) return keep_members(value, form, level);
    if (form.is_array()) return keep_items(value, form.front(), level);
    const std::string& how = form.get_ref<const std::string&>();
    if (how.front() == '@') return keep(value, form_of(how.substr(1)), key, level);
    return keep_leaf(value, how, key);
  }

 private:
  Json keep_members(const Json& value, const Json& form, int level) {
    if (!value.is_object()) return {};
    Json kept = Json::object();
    for (const auto& [name, inner] : value.items()) {
      const Json& here = member(form, form.contains("*") ? "*" : name);
      if (here.is_null()) continue;
      Json some = keep(inner, here, name, level + 1);
      if (!some.is_null()) kept[name] = std::move(some);
    }
    return kept;
  }

  Json keep_items(const Json& value, const Json& form, int level) {
    if (!value.is_array()) return {};
    Json kept = Json::array();
    for (const Json& item : value) {
      if (form == "@env" && !has_known_prefix(text_at(item, "name"))) continue;
      Json some = keep(item, form, "", level + 1);
      if (form == "@state") drop_message(some);
      if (!some.is_null()) kept.push_back(std::move(some));
    }
    return kept;
  }

  Json keep_leaf(const Json& value, const std::string& how, const std::string& key) {
    if (how == "keep") return value;
    if (!value.is_string()) return how == "set" ? Json(!value.is_null()) : Json();
    const std::string& text = value.get_ref<const std::string&>();
    if (how == "set") return text.empty() ? "" : "(set)";
    if (how == "own") return keep_own(text, key);
    if (how == "path") return keep_path(text);
    if (how == "image") return keep_image(text);
    return value;
  }

  // Drops a container's termination message, unless it is that of nccl-env's init container.
  static void drop_message(Json& status) {
    if (member(status, "name") == std::string(conf_file::kResolver)) return;
    for (const char* state : {"state", "lastState"}) {
      const Json::json_pointer place(std::string("/") + state + "/terminated");
      if (status.contains(place)) status[place].erase("message");
    }
  }

  static Json keep_own(const std::string& text, const std::string& key) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return is_own(key) || number ? Json(text) : Json();
  }

  static Json keep_path(const std::string& path) {
    for (const char* place : {"/etc", "/dev"}) {
      if (path.starts_with(place)) return path;
    }
    const bool ours = path == conf_file::kName || path.starts_with(conf_file::kFolder);
    return path == "/" || ours ? path : "/left-out";
  }

  static Json keep_image(const std::string& image) {
    const std::string name = image.substr(image.rfind('/') + 1);
    return name.starts_with("nccl-env") ? Json(name) : Json();
  }
};

// True for agents and for pods with annotations of ours: a list of all namespaces' pods is kept for these
// alone.
bool is_of_interest(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  if (text_at(member(metadata, "labels"), "app.kubernetes.io/name") == "nccl-env-agent") return true;
  const Json& annotations = member(metadata, "annotations");
  if (!annotations.is_object()) return false;
  for (const auto& [key, value] : annotations.items()) {
    if (is_own(key)) return true;
  }
  return false;
}

Json kept(std::string_view target, const kube::Reply& reply) {
  const Json body = parse_json(reply.body);
  Keeper keeper;
  if (reply.status != kube::kOk) return keeper.keep(body, form_of("refusal"), "", 0);
  const Json& form = form_of(kind_at(target));
  if (form.is_null()) return {};
  const Json& items = member(body, "items");
  if (!body.is_object() || !body.contains("items")) return keeper.keep(body, form, "", 0);
  Json list = keeper.keep(body, form_of("list"), "", 0);
  list["items"] = items.is_null() ? items : Json::array();
  for (const Json& item : items) {
    if (target.starts_with(path_of(kube::kPods)) && !is_of_interest(item)) continue;
    list["items"].push_back(keeper.keep(item, form, "", 0));
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

}  // namespace nccl_env::cli
