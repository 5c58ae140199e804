// SPDX-License-Identifier: Apache-2.0
#include "cluster/disguise.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {

namespace {

constexpr std::size_t kMaxWord = 64;  // of an address; longer words are not looked at

constexpr std::string_view kWordLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-";

bool is_everywhere(std::string_view name) {
  return name.empty() || name == "default" || name.starts_with("kube-") || name.starts_with("nccl-env");
}

bool is_link_local(const IpAddress& address) {
  const Gid gid{address.bytes};
  return gid.is_link_local() || gid.is_v4_link_local();
}

// ::, ::1, 0.0.0.0, 127.0.0.1
bool is_of_no_host(const IpAddress& address) {
  return address.is_v4() ? address.bytes[12] == 0 || address.bytes[12] == 127 : address.bytes[0] == 0;
}

// b83f:d203:00b4:f5a2
bool is_guid(std::string_view text) {
  if (text.size() != 19) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separator = i % 5 == 4;
    if (separator ? text[i] != ':' : !is_hex_digit(text[i])) return false;
  }
  return text.find_first_not_of("0:") != text.npos;
}

// Joins what `change` makes of the parts between separators.
template <class Change>
std::string by_parts(std::string_view text, char separator, Change change) {
  std::string made;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    made += change(text.substr(0, end));
    if (end == text.size()) return made;
    made += separator;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string Disguise::counted(const std::string& kind, const std::string& real, Counters& counters) {
  const auto [found, made] = counters.try_emplace(real);
  if (made) found->second = kind + "-" + std::to_string(counters.size());
  return found->second;
}

std::string Disguise::name(const std::string& real) {
  return is_everywhere(real) ? real : counted("name", real, names_);
}

std::optional<std::string> Disguise::address(std::string_view word) {
  if (word.size() > kMaxWord || word.find_first_of(".:") == word.npos) return std::nullopt;
  const auto of = [this](const IpAddress& real) {
    if (is_of_no_host(real)) return format_ip(real);
    return is_link_local(real) ? counted("link-local", format_ip(real), local_addresses_)
                               : counted("address", format_ip(real), addresses_);
  };
  if (const auto cidr = parse_cidr(word)) return of(cidr->address) + "/" + std::to_string(cidr->prefix);
  if (const auto ip = parse_ip(word)) return of(*ip);
  if (is_guid(word)) return counted("guid", std::string(word), guids_);
  return std::nullopt;
}

std::optional<std::string> Disguise::whole(std::string_view word, Words words) {
  if (auto made = address(word)) return made;
  const auto known = words == Words::All ? names_.find(word) : names_.end();
  return known == names_.end() ? std::nullopt : std::optional(known->second);
}

// A word may end a sentence, and be "NAMESPACE/NAME" or "ADDRESS:PORT".
std::string Disguise::word(std::string_view word, Words words, bool in_quotes) {
  const std::string_view end = word.substr(word.find_last_not_of(".:/-") + 1);
  const std::string_view core = word.substr(0, word.size() - end.size());
  if (auto made = whole(core, words)) return made->append(end);
  const bool own = core.find("nccl-env") != core.npos && core.find('/') == core.npos;
  if (in_quotes && words == Words::All && !own) return name(std::string(word));
  const auto change = [&](std::string_view part) { return whole(part, words).value_or(std::string(part)); };
  return by_parts(core, '/',
                  [&](std::string_view part) {
                    const auto made = whole(part, words);
                    return made ? *made : by_parts(part, ':', change);
                  })
      .append(end);
}

std::string Disguise::replaced(std::string_view text, Words words) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = std::min(text.find_first_of(kWordLetters, at), text.size());
    const std::size_t end = std::min(text.find_first_not_of(kWordLetters, start), text.size());
    made += text.substr(at, start - at);
    const bool in_quotes = start > 0 && text[start - 1] == '"' && end < text.size() && text[end] == '"';
    made += word(text.substr(start, end - start), words, in_quotes);
    at = end;
  }
  return made;
}

std::string Disguise::addresses(std::string_view text) {
  return replaced(text, Words::Addresses);
}

std::string Disguise::text(std::string_view text) {
  // The webhook's refusal may be the only text that names a node without a table:
  // "nccl-env: NoTable: NODE: …".
  constexpr std::string_view kRefusal = "nccl-env: ";
  if (const std::size_t at = text.find(kRefusal); at != text.npos) {
    const std::string_view words = text.substr(at + kRefusal.size());
    const std::string_view reason = words.substr(0, words.find(": "));
    const std::string_view behind = words.substr(std::min(words.size(), reason.size() + 2));
    const std::string node(behind.substr(0, behind.find(':')));
    if (parse_reason(reason) && is_dns_subdomain(node)) name(node);
  }
  return replaced(text, Words::All);
}

namespace {

using Json = nlohmann::json;

// Each kind of the API by its plural, and the parts that several have, as a tree of what is kept. A list has
// the form of its items; "@part" stands for a part. Leaves say how a value is kept:
//   keep   as it is, with all below it
//   name   a name of a node, namespace, policy, pod, owner or claim
//   addresses  as it is, with all below it; each text may hold addresses
//   text   a sentence, which may hold names and addresses
//   words  a refusal of the API server, which names the user
//   page   the token of a list's next page, which names an object
//   set    only that it is there
//   own    only if its key is nccl-env's or tells a pod's role in its job, or its value is a number
//   path   only if it begins with /etc or /dev, or is / or nccl.conf; else only that it is there
//   image  only nccl-env's own, without its registry
constexpr const char* kForms = R"({
"metadata": {"name": "name", "generateName": "name", "namespace": "name", "resourceVersion": "keep",
  "generation": "keep", "creationTimestamp": "keep", "deletionTimestamp": "keep", "labels": {"*": "own"},
  "annotations": {"*": "own"}, "ownerReferences": [{"apiVersion": "keep", "kind": "keep", "name": "name",
    "controller": "keep"}]},
"namespaces": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata"},
"nodes": {"metadata": "@metadata", "status": {"allocatable": "keep"}},
"nodefabrics": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata", "observed": "addresses"},
"ncclpolicies": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata", "spec": "addresses",
  "status": "addresses"},
"pods": {"apiVersion": "keep", "kind": "keep", "metadata": "@metadata",
  "spec": {"nodeName": "name", "runtimeClassName": "keep", "hostNetwork": "keep", "hostIPC": "keep", "schedulingGates": [{"name": "keep"}],
    "securityContext": "@user", "resources": "keep",
    "resourceClaims": [{"name": "keep", "resourceClaimName": "name", "resourceClaimTemplateName": "name"}],
    "volumes": [{"name": "keep", "hostPath": {"path": "path"}, "emptyDir": "keep",
      "downwardAPI": {"items": [{"path": "keep", "fieldRef": {"fieldPath": "keep"}}]}}],
    "initContainers": ["@container"], "containers": ["@container"]},
  "status": {"phase": "keep", "reason": "keep",
    "conditions": [{"type": "keep", "status": "keep", "reason": "keep", "message": "text"}],
    "initContainerStatuses": ["@state"], "containerStatuses": ["@state"]}},
"container": {"name": "keep", "image": "image", "imagePullPolicy": "keep", "env": ["@env"],
  "envFrom": [{"prefix": "keep"}],
  "resources": {"limits": "keep", "requests": "keep", "claims": "keep"},
  "volumeMounts": [{"name": "keep", "mountPath": "path", "subPath": "path", "readOnly": "keep"}],
  "securityContext": {"runAsUser": "keep", "runAsNonRoot": "keep", "privileged": "keep",
    "capabilities": {"add": "keep"}}},
"user": {"runAsUser": "keep", "runAsNonRoot": "keep"},
"env": {"name": "keep", "value": "addresses", "valueFrom": {"fieldRef": {"fieldPath": "keep"},
  "fileKeyRef": {"volumeName": "keep", "path": "keep", "key": "keep", "optional": "keep"}}},
"state": {"name": "keep", "ready": "keep", "restartCount": "keep", "image": "image", "state": "@states",
  "lastState": "@states"},
"states": {"running": {"startedAt": "keep"}, "waiting": {"reason": "keep"},
  "terminated": {"exitCode": "keep", "reason": "keep", "message": "addresses", "finishedAt": "keep"}},
"events": {"metadata": "@metadata", "type": "keep", "reason": "keep", "message": "text", "count": "keep",
  "firstTimestamp": "keep", "lastTimestamp": "keep",
  "involvedObject": {"kind": "keep", "name": "name", "namespace": "name"}},
"deployments": {"metadata": "@metadata", "spec": "@workload", "status": "@rollout"},
"daemonsets": {"metadata": "@metadata", "spec": "@workload", "status": "@rollout"},
"workload": {"replicas": "keep", "strategy": "keep", "updateStrategy": "keep", "template": {"spec": {
  "hostNetwork": "keep", "containers": [{"name": "keep", "image": "image", "args": ["text"],
    "resources": "keep"}]}}},
"rollout": {"replicas": "keep", "readyReplicas": "keep", "availableReplicas": "keep", "updatedReplicas": "keep",
  "observedGeneration": "keep", "desiredNumberScheduled": "keep", "currentNumberScheduled": "keep",
  "updatedNumberScheduled": "keep", "numberReady": "keep", "numberAvailable": "keep"},
"mutatingwebhookconfigurations": {"metadata": "@metadata", "webhooks": ["@hook"]},
"validatingwebhookconfigurations": {"metadata": "@metadata", "webhooks": ["@hook"]},
"hook": {"name": "keep", "rules": "keep", "failurePolicy": "keep", "matchPolicy": "keep",
  "reinvocationPolicy": "keep", "timeoutSeconds": "keep", "matchConditions": "keep",
  "namespaceSelector": "@selector", "objectSelector": "@selector",
  "clientConfig": {"caBundle": "set", "service": {"name": "keep", "namespace": "name", "path": "keep",
    "port": "keep"}}},
"selector": {"matchLabels": {"*": "own"},
  "matchExpressions": [{"key": "keep", "operator": "keep", "values": ["name"]}]},
"version": {"gitVersion": "keep", "platform": "keep"},
"list": {"apiVersion": "keep", "kind": "keep", "metadata": {"resourceVersion": "keep", "continue": "page"}},
"refusal": {"message": "words", "reason": "keep"},
"findings": {"code": "keep", "severity": "keep", "subject": {"kind": "keep", "namespace": "name", "name": "name",
  "path": "keep", "file": "keep", "parts": ["text"]}, "sentence": "text", "remedy": "text", "impact": "keep",
  "document": "keep"}
})";

constexpr int kMaxLevels = 24;  // of a form with its parts put in

// Labels that tell a pod's role in its job; explain names ranks by them. Other labels of jobs hold names.
constexpr std::array<std::string_view, 4> kRoles{
    "training.kubeflow.org/replica-type", "training.kubeflow.org/job-role",
    "jobset.sigs.k8s.io/replicatedjob-name", "volcano.sh/task-spec"};

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
  explicit Keeper(Disguise* disguise) : disguise_(disguise) {}

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
      if (form == "@env" && text_at(item, "name") == "NCCL_ENV_POLICY") name_policy(some);
      if (!some.is_null()) kept.push_back(std::move(some));
    }
    return kept;
  }

  Json keep_leaf(const Json& value, const std::string& how, const std::string& key) {
    if (how == "keep") return value;
    if (how == "addresses") return disguised(value, 0);
    if (!value.is_string()) return how == "set" ? Json(!value.is_null()) : Json();
    const std::string& text = value.get_ref<const std::string&>();
    if (disguise_ && how == "name") return disguise_->name(text);
    if (disguise_ && how == "text") return disguise_->text(text);
    if (disguise_ && how == "page") return {};
    if (disguise_ && how == "words") return "the server's words are left out";
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

  // Replaces the policy's name in the text that the init container has.
  void name_policy(Json& variable) {
    Json policy = disguise_ ? parse_json(text_at(variable, "value")) : Json();
    const std::string name = text_at(member(policy, "metadata"), "name");
    if (name.empty()) return;
    policy["metadata"]["name"] = disguise_->name(name);
    variable["value"] = dump_json(policy);
  }

  // Replaces addresses in all texts of a value.
  Json disguised(const Json& value, int level) {
    if (!disguise_) return value;
    if (value.is_string()) return disguise_->addresses(value.get_ref<const std::string&>());
    Json made = value;
    if (made.is_structured() && level < kMaxJsonDepth) {
      for (Json& inner : made) inner = disguised(inner, level + 1);
    }
    return made;
  }

  // Keeps numbers, roles and annotations of ours. Notes name a node and a policy, and a namespace's label
  // names a policy, which may have the namespace's name.
  Json keep_own(const std::string& text, const std::string& key) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    const bool role = std::ranges::find(kRoles, key) != kRoles.end();
    if (!is_own(key)) return number || role ? Json(text) : Json();
    if (disguise_ && key == key::kPolicyLabel && is_dns_subdomain(text)) return disguise_->name(text);
    Json note = disguise_ && (key == key::kNode || key == key::kStatus) ? parse_json(text) : Json();
    if (!note.is_object()) return disguised(text, 0);
    for (const char* named : {"node", "policy"}) {
      if (const std::string real = text_at(note, named); !real.empty()) note[named] = disguise_->name(real);
    }
    return disguised(dump_json(note), 0);
  }

  static Json keep_path(const std::string& path) {
    for (const char* place : {"/etc", "/dev"}) {
      if (path.starts_with(place)) return path;
    }
    const bool ours =
        path == conf_file::kName || path.starts_with(conf_file::kFolder) || is_engine_file(path);
    return path == "/" || ours ? path : "/left-out";
  }

  static bool is_engine_file(std::string_view name) {
    return std::ranges::any_of(
        other_engines(), [&](const Engine* engine) { return !engine->file.empty() && engine->file == name; });
  }

  static Json keep_image(const std::string& image) {
    const std::string name = image.substr(image.rfind('/') + 1);
    return name.starts_with("nccl-env") ? Json(name) : Json();
  }

  Disguise* const disguise_;
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

Json kept(std::string_view target, const kube::Reply& reply, Disguise* disguise) {
  const Json body = parse_json(reply.body);
  Keeper keeper(disguise);
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

std::string kept_text(std::string_view target, const kube::Reply& reply, Disguise* disguise) {
  return dump_json(kept(target, reply, disguise));
}

}  // namespace nccl_env::cli
