// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: each part of an installation has its judgement here, behind one table of parts.
#include "check/installed_parts.h"

#include <algorithm>

#include "cluster/live_pods.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/base64.h"
#include "nccl_env/kube/cures.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/net/tls/pki.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli {

namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

constexpr const char* kEnforce = "pod-security.kubernetes.io/enforce";
constexpr std::string_view kPodsHook = "pods.nccl-env.io";

// As the manifests have them. For namespaces that are strict the last two are called in place of the others.
struct OurHook {
  std::string_view name, resource;
  bool strict;
};
constexpr OurHook kOurHooks[] = {{kPodsHook, "pods", false},
                                 {"binding.nccl-env.io", "pods/binding", false},
                                 {"strict-pods.nccl-env.io", "pods", true},
                                 {"strict-binding.nccl-env.io", "pods/binding", true}};

constexpr std::string_view kVersionServed = "v1alpha1";
constexpr kube::Resource kBindings{"/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"};
constexpr kube::Resource kRoleBindings{"/apis/rbac.authorization.k8s.io/v1", "rolebindings"};
constexpr kube::Resource kClusterRoles{"/apis/rbac.authorization.k8s.io/v1", "clusterroles"};
constexpr kube::Resource kRoles{"/apis/rbac.authorization.k8s.io/v1", "roles"};
constexpr int kLeastMinor = 30;        // docs/operate/install.md
constexpr std::size_t kMostNamed = 5;  // nodes in a sentence
constexpr int kDefaultHookPort = 443;  // Kubernetes': where a hook names none
constexpr std::int64_t kQuarter = 4;   // the webhook and cert-manager renew with a third left
constexpr std::string_view kInstallAgain = "kubectl apply -k cluster  # Helm: helm upgrade";
constexpr std::string_view kApplyCrds =
    "kubectl apply --server-side -f manifests/base/crds; Helm installs them once and never again.";
// A roll-out takes some 15 s; what is away for longer has a reason.
constexpr std::chrono::seconds kStart{60};
constexpr std::string_view kRenew =
    "Managed certificates and cert-manager renew it in time: look at the log of the one that should. Files: "
    "put a new one into the Secret.";

using Installed = InstalledParts;

// A row of the table of parts: how a part is asked for, and what is wrong with it.
struct Part {
  Code code;
  Judged (*judge)(const InstalledParts& parts, const Part& part);  // an object that is there
  LookUp InstalledParts::*sight = nullptr;                         // null: not one object
  kube::Resource resource{};
  const char* kind = "";
  const char* name = "";
  OwnSpace Installed::*space = &Installed::webhook_space;  // null: of the whole cluster
  const char* loss = "";
  std::string_view remedy = kInstallAgain;  // where there is no such object
  LookUp InstalledParts::*role = nullptr;   // of a binding: what it binds, by the same name

  [[nodiscard]] const Json& object(const InstalledParts& parts) const { return (parts.*sight).object; }
  [[nodiscard]] Asked asked(const InstalledParts& parts) const {
    return space ? ask_in((parts.*space).name, resource, name) : ask(resource, name);
  }
  [[nodiscard]] std::string place(const InstalledParts& parts) const {
    return (space ? (parts.*space).name + "/" : "") + name;
  }
  // "Deployment nccl-env/nccl-env-webhook"
  [[nodiscard]] std::string text(const InstalledParts& parts) const {
    return std::string(kind) + " " + place(parts);
  }
};

int number_at(const Json& object, std::string_view name, int otherwise = 0) {
  const Json& value = member(object, name);
  return value.is_number_integer() ? value.get<int>() : otherwise;
}

bool has_condition(const Json& object, std::string_view type) {
  const Json& conditions = items_at(member(object, "status"), "conditions");
  return std::ranges::any_of(conditions, [&](const Json& condition) {
    return text_at(condition, "type") == type && text_at(condition, "status") == "True";
  });
}

Judged judge_crd(const InstalledParts& parts, const Part& part) {
  const Json& crd = part.object(parts);
  const std::string name = part.name;
  const Json& versions = member(member(crd, "spec"), "versions");
  const bool served = std::ranges::any_of(versions, [](const Json& version) {
    return text_at(version, "name") == kVersionServed && member(version, "served") == true;
  });
  if (!served)
    return {Severity::Error, name + " does not serve " + std::string(kVersionServed),
            "Apply the CRDs of this version, or take the command line of the version that is installed."};
  if (!has_condition(crd, "Established"))
    return {Severity::Error, name + " is not established", "kubectl describe crd " + name + " says why."};
  return {Sight::Good, name + " serves " + std::string(kVersionServed)};
}

const Json& hooks_of(const LookUp& configuration) {
  return member(configuration.object, "webhooks");
}

const Json* find_hook(const LookUp& configuration, std::string_view name) {
  for (const Json& hook : hooks_of(configuration)) {
    if (text_at(hook, "name") == name) return &hook;
  }
  return nullptr;
}

bool needs_opt_in(const Json& hook) {
  const Json& rules = member(member(hook, "namespaceSelector"), "matchExpressions");
  return std::ranges::any_of(rules, [](const Json& rule) {
    return text_at(rule, "key") == key::kPolicyLabel && text_at(rule, "operator") == "Exists";
  });
}

bool is_called(const Json& hook, std::string_view resource) {
  const auto holds = [](const Json& texts, std::string_view wanted) {
    return std::ranges::any_of(texts, [&](const Json& text) { return text == wanted || text == "*"; });
  };
  return std::ranges::any_of(items_at(hook, "rules"), [&](const Json& rule) {
    return holds(items_at(rule, "operations"), "CREATE") && holds(items_at(rule, "resources"), resource);
  });
}

Judged judge_hooks(const InstalledParts& parts, const Part& part) {
  std::vector<std::string> told;
  for (const auto& [hook_name, resource, strict] : kOurHooks) {
    const Json* hook = find_hook(parts.mutating, hook_name);
    const std::string name(hook_name);
    if (hook == nullptr) return {Severity::Error, part.text(parts) + " has no hook " + name, kInstallAgain};
    const std::string policy = text_at(*hook, "failurePolicy"),
                      path = text_at(member(member(*hook, "clientConfig"), "service"), "path"),
                      wrong =
                          !needs_opt_in(*hook)
                              ? "is called for namespaces without the label " + std::string(key::kPolicyLabel)
                          : !is_called(*hook, resource)
                              ? "is not called for CREATE of " + std::string(resource)
                          : !path.empty() && path != "/admit"
                              ? "calls " + path + ", and the webhook answers at /admit"
                          : strict && policy != "Fail"
                              ? "has failurePolicy " + policy +
                                    ": strict namespaces' pods pass without values while no webhook answers"
                              : "";
    if (!wrong.empty()) return {Severity::Error, "hook " + name + " " + wrong, kInstallAgain};
    told.push_back(name + " (" + policy + ")");
  }
  if (text_at(*find_hook(parts.mutating, kPodsHook), "failurePolicy") == "Fail")
    return {
        Severity::Warning,
        std::string(kPodsHook) +
            " has failurePolicy Fail: no pod of an opted-in namespace is created while no webhook answers",
        "Set it to Ignore, and label namespaces whose pods are to wait: nccl-env.io/strict=true."};
  return {Sight::Good, join(told)};
}

const Json& first_container(const LookUp& workload) {
  const Json& pod = member(member(member(workload.object, "spec"), "template"), "spec");
  const Json& containers = items_at(pod, "containers");
  return containers.empty() ? containers : containers.front();
}

// Whether the webhook makes its certificate itself, for which it needs a right.
bool makes_certificate(const InstalledParts& parts) {
  return std::ranges::any_of(items_at(first_container(parts.deployment), "args"), [](const Json& arg) {
    return text_of(arg).starts_with("--managed-certificates");
  });
}

Judged judge_rights(const InstalledParts& parts, const Part& part) {
  const bool agents = part.name == std::string_view(kAgentName);
  const std::string& space = (agents ? parts.agent_space : parts.webhook_space).name;
  const std::string name = agents ? kAgentName : kWebhookName,
                    account = "ServiceAccount " + space + "/" + name;
  const LookUp& role = parts.*part.role;
  if (role.outcome != Outcome::Found && role.outcome != Outcome::Absent)
    return {Sight::NotSeen, role.problem};
  if (items_at(role.object, "rules").empty())
    return {Severity::Error,
            std::string(part.space ? "Role " : "ClusterRole ") + part.name +
                " is not there, or gives nothing" + part.loss,
            kInstallAgain};
  const Json& subjects = items_at(part.object(parts), "subjects");
  const bool named = std::ranges::any_of(subjects, [&](const Json& subject) {
    return text_at(subject, "name") == name && text_at(subject, "namespace") == space;
  });
  if (named) return {Sight::Good, account + " has its " + (part.space ? "Role" : "ClusterRole")};
  return {Severity::Error, part.text(parts) + " does not name " + account + part.loss, kInstallAgain};
}

Judged judge_validator(const InstalledParts& parts, const Part& part) {
  constexpr std::string_view kHook = "policies.nccl-env.io";
  if (find_hook(parts.validating, kHook) == nullptr)
    return {Severity::Error, part.text(parts) + " has no hook " + std::string(kHook), kInstallAgain};
  return {Sight::Good, std::string(kHook)};
}

std::string bundle_of(const Json& hook) {
  return kube::decode_base64(text_at(member(hook, "clientConfig"), "caBundle")).value_or("");
}

// Returns the names of both configurations' hooks whose caBundle passes `test`.
template <class Test>
std::vector<std::string> hooks_where(const InstalledParts& parts, Test test) {
  std::vector<std::string> names;
  for (const LookUp* configuration : {&parts.mutating, &parts.validating}) {
    for (const Json& hook : hooks_of(*configuration)) {
      if (test(bundle_of(hook))) names.push_back(text_at(hook, "name"));
    }
  }
  return names;
}

bool has_hooks(const InstalledParts& parts) {
  return !hooks_of(parts.mutating).empty() || !hooks_of(parts.validating).empty();
}

Judged judge_bundle(const InstalledParts& parts, const Part&) {
  if (!has_hooks(parts)) return {Sight::NotSeen, "no hook was seen"};
  const auto empty = hooks_where(parts, [](const std::string& bundle) { return bundle.empty(); });
  if (empty.empty()) return {Sight::Good, "each hook has one"};
  return {Severity::Error, "the API server trusts no certificate at " + join(empty) + ": caBundle is empty",
          "Managed certificates: the webhook writes it, and its log says why not. cert-manager: look at its "
          "cainjector. Files: give the CA (certificates.caBundle)."};
}

// Returns the clientConfig of the hooks: a Service, or a URL.
Json hook_config(const InstalledParts& parts) {
  const Json* hook = find_hook(parts.mutating, kPodsHook);
  return hook ? member(*hook, "clientConfig") : Json();
}

Judged judge_service(const InstalledParts& parts, const Part& part) {
  const int port = number_at(member(hook_config(parts), "service"), "port", kDefaultHookPort);
  const Json &spec = member(part.object(parts), "spec"), &ports = items_at(spec, "ports"),
             &pods = member(member(parts.deployment.object, "spec"), "template"),
             &labels = member(member(pods, "metadata"), "labels");
  const auto called =
      std::ranges::find_if(ports, [port](const Json& each) { return number_at(each, "port") == port; });
  std::string wrong;
  if (called == ports.end()) {
    wrong = "has no port " + std::to_string(port) + ", which the hooks call";
  } else if (parts.deployment.outcome == Outcome::Found) {
    const Json& target = member(*called, "targetPort");
    const auto is_target = [&](const Json& each) {
      return member(each, "name") == target || member(each, "containerPort") == target;
    };
    if (std::ranges::none_of(items_at(first_container(parts.deployment), "ports"), is_target))
      wrong = "leads to port " + dump_json(target) + ", which the webhook does not have";
    for (const auto& [label, value] : member(spec, "selector").items()) {
      if (member(labels, label) != value)
        wrong =
            "selects pods with " + label + "=" + text_of(value) + ", and the webhook's have another or none";
    }
  }
  if (!wrong.empty()) return {Severity::Error, part.text(parts) + " " + wrong, kInstallAgain};
  return {Sight::Good, part.place(parts) + ", port " + std::to_string(port)};
}

Judged judge_certificate(const InstalledParts& parts, const Part& part) {
  const std::string name = part.text(parts);
  const std::string_view look = kRenew;
  const std::string pem =
      kube::decode_base64(text_at(member(part.object(parts), "data"), "tls.crt")).value_or("");
  if (pem.empty()) return {Severity::Error, name + " holds no certificate (tls.crt)", look};
  const auto info = net::read_certificate(pem, name);
  if (!info) return {Severity::Error, info.error().message, look};
  const auto day = [](auto time) { return format_timestamp(std::chrono::floor<std::chrono::seconds>(time)); };
  if (parts.now < info->not_before)
    return {Severity::Error, name + " is valid only from " + day(info->not_before) + " on", look};
  if (parts.now >= info->not_after)
    return {Severity::Error, name + " ended on " + day(info->not_after), look};
  const std::string host = std::string(kWebhookName) + "." + parts.webhook_space.name + ".svc";
  if (parts.service.outcome == Outcome::Found && std::ranges::find(info->names, host) == info->names.end())
    return {Severity::Error, name + " is for " + join(info->names) + " and not for " + host, look};
  const auto strange = hooks_where(
      parts, [&](const std::string& bundle) { return !bundle.empty() && !net::is_signed_by(pem, bundle); });
  if (!strange.empty())
    return {Severity::Error, name + " is not signed by a CA of the caBundle of " + join(strange),
            "Managed certificates mend it at the API server's next call: if not, look at the webhook's log. "
            "cert-manager: look at its cainjector. Files: give the CA (certificates.caBundle)."};
  const std::string until =
      "valid until " + day(info->not_after) + " (" +
      count_of(static_cast<std::size_t>((info->not_after - parts.now) / std::chrono::days(1)), "day") + ")";
  if (!has_hooks(parts)) return {Sight::NotSeen, until + "; whether the hooks trust it was not seen"};
  if ((info->not_after - parts.now) * kQuarter < info->not_after - info->not_before)
    return {Severity::Warning, until + ", and not renewed", look};
  return {Sight::Good, until + ", trusted by the hooks"};
}

// Pods of a Deployment or DaemonSet: as many as are wanted, ready, and of its newest form.
struct Rollout {
  int wanted, ready, updated;
  const char* unit;
  std::string where{};  // nodes without one
};

Judged judge_rollout(const InstalledParts& parts, const Part& part, const Rollout& rollout) {
  const auto& [wanted, ready, updated, unit, where] = rollout;
  const std::string of = " of " + count_of(static_cast<std::size_t>(wanted), unit);
  const std::string own = "kubectl -n " + (parts.*part.space).name + " ";
  const auto found = parts.troubles.find(part.name);
  const std::string trouble = found == parts.troubles.end() ? "" : "; " + found->second;
  const std::string look = own + "describe pods -l app.kubernetes.io/name=" + part.name;
  if (ready < wanted)
    return {ready == 0 ? Severity::Error : Severity::Warning,
            std::to_string(ready) + of + " ready" + where + trouble, look};
  if (updated < wanted)
    return {Severity::Warning, std::to_string(updated) + of + " of the newest roll-out" + trouble,
            trouble.empty() ? own + "rollout status " + std::string(part.resource.plural) + "/" + part.name
                            : own + "rollout undo " + std::string(part.resource.plural) + "/" + part.name};
  return {Sight::Good, std::to_string(ready) + of + " ready"};
}

Judged judge_webhook(const InstalledParts& parts, const Part& part) {
  const Json& status = member(part.object(parts), "status");
  const int wanted = number_at(member(part.object(parts), "spec"), "replicas", 1);
  if (wanted == 0)
    return {Severity::Error, part.text(parts) + " is scaled to 0",
            "kubectl -n " + parts.webhook_space.name + " scale deployment " + kWebhookName + " --replicas=2"};
  Judged judged = judge_rollout(
      parts, part,
      {wanted, number_at(status, "readyReplicas"), number_at(status, "updatedReplicas"), "replica"});
  if (!judged.good && parts.secret.outcome == Outcome::Absent) judged.finding.remedy = kube::kSecretAgain;
  return judged;
}

Judged judge_agents(const InstalledParts& parts, const Part& part) {
  const Json& status = member(part.object(parts), "status");
  const int wanted = number_at(status, "desiredNumberScheduled");
  if (member(status, "observedGeneration").is_null())
    return {Severity::Warning, part.text(parts) + " was not looked at by its controller yet"};
  if (wanted == 0)
    return {
        Severity::Warning, part.text(parts) + " is for no node",
        "Compare its nodeSelector and tolerations (agent.nodeSelector, agent.tolerations) with the nodes."};
  std::vector<std::string> away;
  for (const auto& [node, is_ready] : parts.agents.items) {
    if (!is_ready) away.push_back(node);
  }
  return judge_rollout(parts, part,
                       {wanted, number_at(status, "numberReady"), number_at(status, "updatedNumberScheduled"),
                        "agent", away.empty() ? "" : ": not on " + join_some(away, kMostNamed)});
}

Judged judge_tables(const InstalledParts& parts, const Part&) {
  for (const std::string& problem : {parts.agents.problem, parts.tables.problem}) {
    if (!problem.empty()) return {Sight::NotSeen, problem};
  }
  std::vector<std::string> without;
  for (const auto& agent : parts.agents.items) {
    if (parts.tables.items.count(agent.first) == 0) without.push_back(agent.first);
  }
  const std::size_t nodes = parts.agents.items.size();
  if (nodes == 0)
    return {parts.tables.items.empty() ? Severity::Warning : Severity::Info,
            count_of(parts.tables.items.size(), "table") + ", and no agent that would write one",
            "Mend Agents first."};
  if (without.empty()) return {Sight::Good, "each of " + count_of(nodes, "node") + " with an agent has one"};
  return {without.size() == nodes ? Severity::Error : Severity::Warning,
          count_of(without.size(), "node") +
              " with an agent and without a table: " + join_some(without, kMostNamed),
          "The agent's log says why it wrote none: kubectl -n " + parts.agent_space.name +
              " logs -l app.kubernetes.io/name=" + kAgentName};
}

// Returns the version that is an image's tag, without a leading v; "" if it has none, such as an image that
// is named by digest, or by a tag without a point.
std::string version_of(const std::string& image) {
  const std::string name = image.substr(0, image.find('@'));
  const std::size_t slash = name.rfind('/'), colon = name.rfind(':');
  if (colon == name.npos || (slash != name.npos && colon < slash)) return {};
  const std::string tag = name.substr(name.compare(colon + 1, 1, "v") == 0 ? colon + 2 : colon + 1);
  return !tag.empty() && is_digit(tag.front()) && tag.find('.') != tag.npos ? tag : std::string();
}

std::string resolver_image(const LookUp& deployment) {
  for (const Json& entry : member(first_container(deployment), "env")) {
    if (text_at(entry, "name") == "RESOLVER_IMAGE") return text_at(entry, "value");
  }
  return {};
}

Judged judge_images(const InstalledParts& parts, const Part&) {
  const std::pair<const char*, std::string> images[] = {
      {"webhook", text_at(first_container(parts.deployment), "image")},
      {"init container", resolver_image(parts.deployment)},
      {"agent", text_at(first_container(parts.daemon_set), "image")}};
  std::vector<std::string> told;
  bool differs = false;
  for (const auto& [part, image] : images) {
    if (image.empty()) continue;
    const std::string version = version_of(image);
    differs = differs || (!version.empty() && version != program::kVersion);
    told.push_back(std::string(part) + " " + (version.empty() ? "not known from " + image : version));
  }
  if (told.empty()) return {Sight::NotSeen, "no image was seen"};
  const std::string all = join(told) + ", this program " + std::string(program::kVersion);
  if (differs)
    return {Severity::Warning, all,
            "Bring all to one version (docs/operate/operations.md#upgrade), or take the command line of the "
            "one installed."};
  return {Sight::Good, all};
}

// Lists objects, each of which `on_item` adds by its node.
template <class OnItem>
void list_by_node(kube::ApiServer& client, const std::string& path, SeenByNode& into, const OnItem& on_item) {
  const Status listed =
      kube::list_all(client, path, [&](const Json& object) { on_item(object, into.items); });
  if (!listed) into.problem = listed.error().message;
}

// In the order of the answer. The first rows are of the whole cluster, and tell where the others are.
const Part kParts[] = {
    {Code::ApiServer, [](const InstalledParts& parts, const Part&) { return judge_version(parts.version); }},
    {Code::Crds, judge_crd, &Installed::policy_crd, kube::kCrds, "CustomResourceDefinition", kPolicyCrd,
     nullptr, "", kApplyCrds},
    {Code::Crds, judge_crd, &Installed::table_crd, kube::kCrds, "CustomResourceDefinition", kTableCrd,
     nullptr, "", kApplyCrds},
    {Code::Hooks, judge_hooks, &Installed::mutating, kMutatingHooks, "MutatingWebhookConfiguration",
     "nccl-env", nullptr, ": no pod gets values"},
    {Code::Validator, judge_validator, &Installed::validating, kValidatingHooks,
     "ValidatingWebhookConfiguration", "nccl-env", nullptr, ": a wrong policy is told by its status alone"},
    {Code::CaBundle, judge_bundle},
    {Code::Rights, judge_rights, &Installed::webhook_rights, kBindings, "ClusterRoleBinding", kWebhookName,
     nullptr, ": the webhook can follow no policy and no table", kInstallAgain, &Installed::webhook_role},
    {Code::Rights, judge_rights, &Installed::agent_rights, kBindings, "ClusterRoleBinding", kAgentName,
     nullptr, ": no agent can write its table", kInstallAgain, &Installed::agent_role},
    {Code::Rights, judge_rights, &Installed::secret_rights, kRoleBindings, "RoleBinding", kCertificate,
     &Installed::webhook_space, ": the webhook cannot renew its certificate", kInstallAgain,
     &Installed::secret_role},
    {Code::Namespace,
     [](const InstalledParts& parts, const Part&) { return judge_space(parts.webhook_space); }},
    {Code::Namespace,
     [](const InstalledParts& parts, const Part&) { return judge_space(parts.agent_space); }},
    {Code::Service, judge_service, &Installed::service, kube::kServices, "Service", kWebhookName},
    {Code::Certificate, judge_certificate, &Installed::secret, kube::kSecrets, "Secret", kCertificate,
     &Installed::webhook_space, "", kube::kSecretAgain},
    {Code::Webhook, judge_webhook, &Installed::deployment, kube::kDeployments, "Deployment", kWebhookName},
    {Code::Agents, judge_agents, &Installed::daemon_set, kube::kDaemonSets, "DaemonSet", kAgentName,
     &Installed::agent_space},
    {Code::Tables, judge_tables},
    {Code::Versions, judge_images}};

// A Service where the hooks call one, a right to the Secret where the webhook writes it; others always.
bool is_needed(const InstalledParts& parts, const Part& part) {
  if (part.sight == &Installed::secret_rights)
    return parts.deployment.outcome != Outcome::Found || makes_certificate(parts);
  return part.code != Code::Service || text_at(hook_config(parts), "url").empty();
}

Judged judge_part(const InstalledParts& parts, const Part& part) {
  if (part.sight == nullptr) return part.judge(parts, part);
  if (!is_needed(parts, part)) return {Sight::Good, std::string("no ") + part.kind + " is needed"};
  const LookUp& sight = parts.*part.sight;
  if (sight.outcome == Outcome::Found) return part.judge(parts, part);
  if (sight.outcome != Outcome::Absent) return {Sight::NotSeen, sight.problem};
  return {Severity::Error, "there is no " + part.text(parts) + part.loss, part.remedy};
}

void look_up_parts(kube::ApiServer& client, bool own, InstalledParts& into) {
  for (const Part& part : kParts) {
    if (!part.sight || (part.space != nullptr) != own) continue;
    into.*part.sight = look_up(client, part.asked(into));
    if (part.role)
      into.*part.role = look_up(
          client, own ? ask_in((into.*part.space).name, kRoles, part.name) : ask(kClusterRoles, part.name));
  }
}

// Reads why a pod of ours does not run.
void add_trouble(const Json& object, const std::string& of, InstalledParts& into) {
  const auto live = LivePod::read(object);
  if (has_condition(object, "Ready") || !live || (*live)->record().trouble.empty()) return;
  into.troubles.try_emplace(of, (*live)->record().trouble);
}

std::string pods_path(const std::string& name_space, const char* name) {
  return kube::by_label(path_in(name_space, kube::kPods), std::string("app.kubernetes.io/name=") + name);
}

}  // namespace

std::string service_namespace(const Json& webhook_configuration) {
  for (const Json& hook : member(webhook_configuration, "webhooks")) {
    std::string name = text_at(member(member(hook, "clientConfig"), "service"), "namespace");
    if (!name.empty()) return name;
  }
  return {};
}

std::string agent_namespace(kube::ApiServer& client, const std::string& otherwise) {
  std::string found;
  (void)kube::list_all(client, kube::by_field(path_of(kube::kDaemonSets), "metadata.name=nccl-env-agent"),
                       [&](const Json& set) {
                         if (found != otherwise) found = text_at(member(set, "metadata"), "namespace");
                       });
  return is_dns_subdomain(found) ? found : otherwise;
}

Judged judge_space(const OwnSpace& space) {
  const auto& [name, level, why, found] = space;
  const std::string cure = "kubectl label namespace " + name + " --overwrite " + kEnforce + "=" + level;
  if (found.outcome == Outcome::Absent)
    return {Severity::Info, "there is no namespace " + name + " yet",
            "The manifests make it; if you do: " + cure};
  if (found.outcome != Outcome::Found) return {Sight::NotSeen, found.problem};
  if (text_at(member(found.object, "status"), "phase") == "Terminating")
    return {Severity::Error, "namespace " + name + " is being removed", "Wait until it is gone."};
  std::string enforced = text_at(member(member(found.object, "metadata"), "labels"), kEnforce);
  if (enforced == level) return {Sight::Good, "namespace " + name + ", Pod Security " + level};
  const bool refuses = !enforced.empty() && level != "restricted";
  if (enforced.empty()) enforced = "nothing";
  return {refuses ? Severity::Error : Severity::Info,
          "Pod Security of namespace " + name + " enforces " + enforced + ": " + why, cure};
}

bool is_nothing(const InstalledParts& parts) {
  const LookUp* const all[] = {&parts.policy_crd, &parts.table_crd,  &parts.mutating,
                               &parts.validating, &parts.deployment, &parts.daemon_set};
  return std::ranges::all_of(all, [](const LookUp* part) { return part->outcome == Outcome::Absent; });
}

Judged judge_version(const LookUp& version) {
  if (version.outcome != Outcome::Found) return {Sight::NotSeen, version.problem};
  const std::string name = text_at(version.object, "gitVersion");
  const std::string minor = text_at(version.object, "minor");  // "30", "30+"
  const std::string digits = minor.substr(0, minor.find_first_not_of("0123456789"));
  if (text_at(version.object, "major") != "1" || digits.empty() || digits.size() > 3)
    return {Sight::NotSeen, "its version is not one that is known: " + name};
  if (std::stoi(digits) < kLeastMinor)
    return {Severity::Error, "Kubernetes " + name + " is older than 1." + std::to_string(kLeastMinor),
            "Upgrade the cluster: agents' tokens name their node from 1.30 on."};
  return {Sight::Good, "Kubernetes " + name};
}

Checks judge_parts(const InstalledParts& parts) {
  Checks checks;
  for (const Part& part : kParts)
    checks.push_back(while_starting(parts, {part.code, judge_part(parts, part)}));
  return checks;
}

std::string uncallable(const Checks& checks) {
  constexpr Code kOnTheWay[] = {Code::Crds, Code::Hooks, Code::CaBundle, Code::Service};
  const auto found = std::ranges::find_if(checks, [&](const Checked& each) {
    return !each.good && each.finding.severity == Severity::Error &&
           std::ranges::find(kOnTheWay, each.finding.code) != std::end(kOnTheWay);
  });
  return found == checks.end() ? "" : std::string(to_string(found->finding.code));
}

Checked while_starting(const InstalledParts& parts, Checked checked) {
  constexpr Code kSlow[] = {Code::CaBundle, Code::Certificate, Code::Webhook,
                            Code::Agents,   Code::Tables,      Code::Answers};
  const auto created =
      parse_timestamp(text_at(member(parts.deployment.object, "metadata"), "creationTimestamp"));
  // No time brings what is absent.
  const bool young = created && parts.now < *created + kStart && parts.troubles.empty() &&
                     parts.secret.outcome != Outcome::Absent && parts.daemon_set.outcome != Outcome::Absent;
  // No matter of time: an info that no namespace is opted in, a warning that its policy is missing.
  const Severity least = checked.finding.code == Code::Answers ? Severity::Error : Severity::Warning;
  const bool bad = !checked.good && checked.seen && checked.finding.severity <= least;
  if (!young || !bad || std::ranges::find(kSlow, checked.finding.code) == std::end(kSlow)) return checked;
  return {checked.finding.code, Severity::Warning, "starting: " + checked.finding.sentence,
          "nccl-env check --wait 2m"};
}

Status survey_version(kube::ApiServer& client, InstalledParts& into) {
  const auto reply = client.call({"GET", "/version", "", ""});
  if (!reply) return reply.error();
  Json version = parse_json(reply->body);
  if (reply->status == kube::kOk && text_at(version, "gitVersion").empty())
    return Error{client.server() + ": answers, but not as a Kubernetes API server"};
  into.version = reply->status == kube::kOk
                     ? LookUp{Outcome::Found, std::move(version), {}}
                     : LookUp{Outcome::Failed, {}, "get /version: " + kube::status_message(*reply)};
  return done();
}

Result<InstalledParts> survey_parts(kube::ApiServer& client, Timestamp now) {
  InstalledParts parts;
  parts.now = now;
  if (const Status seen = survey_version(client, parts); !seen) return seen.error();
  look_up_parts(client, false, parts);
  for (const LookUp* configuration : {&parts.validating, &parts.mutating}) {
    const std::string found = service_namespace(configuration->object);
    if (!found.empty()) parts.webhook_space.name = found;
  }
  parts.agent_space.name = agent_namespace(client, parts.agent_space.name);
  look_up_parts(client, true, parts);
  if (is_nothing(parts)) return parts;
  for (OwnSpace* space : {&parts.webhook_space, &parts.agent_space})
    space->found = look_up(client, ask_namespace(space->name));
  const std::string agents = pods_path(parts.agent_space.name, kAgentName);
  list_by_node(client, agents, parts.agents, [&](const Json& pod, auto& items) {
    const std::string node = text_at(member(pod, "spec"), "nodeName");
    // While a pod is replaced there are two.
    if (!node.empty()) items[node] = items[node] || has_condition(pod, "Ready");
    add_trouble(pod, kAgentName, parts);
  });
  // Without them the Deployment's own count is left.
  (void)kube::list_all(client, pods_path(parts.webhook_space.name, kWebhookName),
                       [&](const Json& pod) { add_trouble(pod, kWebhookName, parts); });
  // Pods that are refused are not there to be read.
  for (const Json& condition : items_at(member(parts.deployment.object, "status"), "conditions")) {
    if (text_at(condition, "type") == "ReplicaFailure")
      parts.troubles.try_emplace(kWebhookName, text_at(condition, "message"));
  }
  list_by_node(client, path_of(kube::kTables), parts.tables, [](const Json& table, auto& items) {
    items[text_at(member(table, "metadata"), "name")] = true;
  });
  return parts;
}

}  // namespace nccl_env::cli
