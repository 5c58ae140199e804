// SPDX-License-Identifier: Apache-2.0
#include "check/installed_parts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "check/removal.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/base64.h"
#include "nccl_env/net/tls/pki.h"
#include "nccl_env/net/tls/tls.h"
#include "nccl_env/program/version.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using Outcome = LookUp::Outcome;

constexpr std::string_view kVersionServed = "v1alpha1";
constexpr int kLeastMinor = 30;        // docs/operate/install.md
constexpr std::size_t kMostNamed = 5;  // nodes in a sentence
constexpr int kDefaultHookPort = 443;  // Kubernetes': where a hook names none
constexpr std::int64_t kQuarter = 4;   // the webhook and cert-manager renew with a third left
constexpr std::string_view kInstallAgain = "Install again: kubectl apply -k, or helm upgrade.";

std::optional<Checked> unless_found(Code check, const LookUp& sight, std::string_view what,
                                    std::string_view remedy) {
  if (sight.outcome == Outcome::Found) return std::nullopt;
  if (sight.outcome == Outcome::Absent)
    return Checked{check, Severity::Error, "there is no " + std::string(what), std::string(remedy)};
  return Checked{check, Sight::NotSeen, sight.problem};
}

int number_at(const Json& object, std::string_view name, int otherwise = 0) {
  const Json& value = member(object, name);
  return value.is_number_integer() ? value.get<int>() : otherwise;
}

Checked judge_crd(const char* name, const LookUp& crd) {
  constexpr Code kCheck = Code::Crds;
  if (auto line = unless_found(kCheck, crd, std::string("CustomResourceDefinition ") + name,
                               "kubectl apply --server-side -f manifests/base/crds; Helm installs them once "
                               "and never again."))
    return *line;
  const Json& versions = member(member(crd.object, "spec"), "versions");
  const bool served = std::ranges::any_of(versions, [](const Json& version) {
    return text_at(version, "name") == kVersionServed && member(version, "served") == true;
  });
  if (!served)
    return {kCheck, Severity::Error, std::string(name) + " does not serve " + std::string(kVersionServed),
            "Apply the CRDs of this version, or take the command line of the version that is installed."};
  const Json& conditions = member(member(crd.object, "status"), "conditions");
  const bool established = std::ranges::any_of(conditions, [](const Json& condition) {
    return text_at(condition, "type") == "Established" && text_at(condition, "status") == "True";
  });
  if (!established)
    return {kCheck, Severity::Error, std::string(name) + " is not established",
            std::string("kubectl describe crd ") + name + " says why."};
  return {kCheck, Sight::Good, std::string(name) + " serves " + std::string(kVersionServed)};
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

Checked judge_hooks(const LookUp& mutating) {
  constexpr Code kCheck = Code::Hooks;
  if (auto line = unless_found(kCheck, mutating, "MutatingWebhookConfiguration nccl-env: no pod gets values",
                               kInstallAgain))
    return *line;
  std::vector<std::string> told;
  for (const std::string_view name : {kPodsHook, kBindingHook, kStrictPodsHook, kStrictBindingHook}) {
    const Json* hook = find_hook(mutating, name);
    if (hook == nullptr)
      return {kCheck, Severity::Error,
              "MutatingWebhookConfiguration nccl-env has no hook " + std::string(name),
              std::string(kInstallAgain)};
    if (!needs_opt_in(*hook))
      return {kCheck, Severity::Error,
              "hook " + std::string(name) + " is called for namespaces without the label " +
                  std::string(key::kPolicyLabel),
              std::string(kInstallAgain)};
    told.push_back(std::string(name) + " (" + text_at(*hook, "failurePolicy") + ")");
  }
  if (text_at(*find_hook(mutating, kPodsHook), "failurePolicy") == "Fail")
    return {
        kCheck, Severity::Warning,
        std::string(kPodsHook) +
            " has failurePolicy Fail: no pod of an opted-in namespace is created while no webhook answers",
        "Set it to Ignore, and label namespaces whose pods are to wait: nccl-env.io/strict=true."};
  return {kCheck, Sight::Good, join(told)};
}

Checked judge_validator(const LookUp& validating) {
  constexpr Code kCheck = Code::Validator;
  constexpr std::string_view kHook = "policies.nccl-env.io";
  if (auto line =
          unless_found(kCheck, validating,
                       "ValidatingWebhookConfiguration nccl-env: a wrong policy is told by its status alone",
                       kInstallAgain))
    return *line;
  if (find_hook(validating, kHook) == nullptr)
    return {kCheck, Severity::Error,
            "ValidatingWebhookConfiguration nccl-env has no hook " + std::string(kHook),
            std::string(kInstallAgain)};
  return {kCheck, Sight::Good, std::string(kHook)};
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

Checked judge_bundle(const InstalledParts& parts) {
  constexpr Code kCheck = Code::CaBundle;
  if (!has_hooks(parts)) return {kCheck, Sight::NotSeen, "no hook was seen"};
  const auto empty = hooks_where(parts, [](const std::string& bundle) { return bundle.empty(); });
  if (empty.empty()) return {kCheck, Sight::Good, "each hook has one"};
  return {kCheck, Severity::Error,
          "the API server trusts no certificate at " + join(empty) + ": caBundle is empty",
          "Managed certificates: the webhook writes it, and its log says why not. cert-manager: look at its "
          "cainjector. Files: give the CA (certificates.caBundle)."};
}

Checked judge_service(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Service;
  const std::string name = parts.name_space + "/" + kWebhookName;
  const Json* hook = find_hook(parts.mutating, kPodsHook);
  const Json config = hook == nullptr ? Json() : member(*hook, "clientConfig");
  if (const std::string url = text_at(config, "url"); !url.empty())
    return {kCheck, Severity::Info, "the hooks call " + url + " and no Service"};
  if (auto line = unless_found(kCheck, parts.service, "Service " + name, kInstallAgain)) return *line;
  const int port = number_at(member(config, "service"), "port", kDefaultHookPort);
  const Json& ports = member(member(parts.service.object, "spec"), "ports");
  if (std::ranges::none_of(ports, [port](const Json& each) { return number_at(each, "port") == port; }))
    return {kCheck, Severity::Error,
            "Service " + name + " has no port " + std::to_string(port) + ", which the hooks call",
            std::string(kInstallAgain)};
  return {kCheck, Sight::Good, name + ", port " + std::to_string(port)};
}

std::string days(std::chrono::system_clock::duration time) {
  return count_of(static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::days>(time).count()),
                  "day");
}

Checked judge_certificate(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Certificate;
  const std::string name = "Secret " + parts.name_space + "/" + kCertificate;
  const std::string look =
      "Managed certificates and cert-manager renew it in time: look at the log of the "
      "one that should. Files: put a new one into the Secret.";
  if (auto line = unless_found(kCheck, parts.secret, name, look)) return *line;
  const std::string pem =
      kube::decode_base64(text_at(member(parts.secret.object, "data"), "tls.crt")).value_or("");
  if (pem.empty()) return {kCheck, Severity::Error, name + " holds no certificate (tls.crt)", look};
  const auto info = net::read_certificate(pem, name);
  if (!info) return {kCheck, Severity::Error, info.error().message, look};
  const auto day = [](auto time) { return format_timestamp(std::chrono::floor<std::chrono::seconds>(time)); };
  if (parts.now < info->not_before)
    return {kCheck, Severity::Error, name + " is valid only from " + day(info->not_before) + " on", look};
  if (parts.now >= info->not_after)
    return {kCheck, Severity::Error, name + " ended on " + day(info->not_after), look};
  const std::string host = std::string(kWebhookName) + "." + parts.name_space + ".svc";
  if (parts.service.outcome == Outcome::Found && std::ranges::find(info->names, host) == info->names.end())
    return {kCheck, Severity::Error, name + " is for " + join(info->names) + " and not for " + host, look};
  const auto strange = hooks_where(
      parts, [&](const std::string& bundle) { return !bundle.empty() && !net::is_signed_by(pem, bundle); });
  if (!strange.empty())
    return {kCheck, Severity::Error, name + " is not signed by a CA of the caBundle of " + join(strange),
            "Managed certificates mend it at the API server's next call: if not, look at the webhook's log. "
            "cert-manager: look at its cainjector. Files: give the CA (certificates.caBundle)."};
  const std::string until =
      "valid until " + day(info->not_after) + " (" + days(info->not_after - parts.now) + ")";
  if (!has_hooks(parts)) return {kCheck, Sight::NotSeen, until + "; whether the hooks trust it was not seen"};
  if ((info->not_after - parts.now) * kQuarter < info->not_after - info->not_before)
    return {kCheck, Severity::Warning, until + ", and not renewed", look};
  return {kCheck, Sight::Good, until + ", trusted by the hooks"};
}

std::string pods_command(const InstalledParts& parts, const char* name) {
  return "kubectl -n " + parts.name_space + " describe pods -l app.kubernetes.io/name=" + name;
}

Checked judge_webhook(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Webhook;
  const std::string name = "Deployment " + parts.name_space + "/" + kWebhookName;
  if (auto line = unless_found(kCheck, parts.deployment, name, kInstallAgain)) return *line;
  const Json& status = member(parts.deployment.object, "status");
  const int wanted = number_at(member(parts.deployment.object, "spec"), "replicas", 1);
  const int ready = number_at(status, "readyReplicas"), updated = number_at(status, "updatedReplicas");
  const std::string all = std::to_string(wanted), log = pods_command(parts, kWebhookName);
  if (wanted == 0)
    return {kCheck, Severity::Error, name + " is scaled to 0",
            "kubectl -n " + parts.name_space + " scale deployment " + kWebhookName + " --replicas=2"};
  if (ready == 0)
    return {kCheck, Severity::Error,
            "none of " + count_of(static_cast<std::size_t>(wanted), "replica") + " is ready", log};
  if (ready < wanted)
    return {kCheck, Severity::Warning, std::to_string(ready) + " of " + all + " replicas are ready", log};
  if (updated < wanted)
    return {kCheck, Severity::Warning,
            std::to_string(updated) + " of " + all + " replicas are of the newest roll-out", log};
  return {kCheck, Sight::Good, std::to_string(ready) + " of " + all + " replicas ready"};
}

Checked judge_agents(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Agents;
  const std::string name = "DaemonSet " + parts.name_space + "/" + kAgentName;
  if (auto line = unless_found(kCheck, parts.daemon_set, name, kInstallAgain)) return *line;
  const Json& status = member(parts.daemon_set.object, "status");
  const int wanted = number_at(status, "desiredNumberScheduled"), ready = number_at(status, "numberReady");
  const int updated = number_at(status, "updatedNumberScheduled");
  if (member(status, "observedGeneration").is_null())
    return {kCheck, Severity::Warning, name + " was not looked at by its controller yet"};
  if (wanted == 0)
    return {
        kCheck, Severity::Warning, name + " is for no node",
        "Compare its nodeSelector and tolerations (agent.nodeSelector, agent.tolerations) with the nodes."};
  std::vector<std::string> away;
  for (const auto& [node, is_ready] : parts.agents.items) {
    if (!is_ready) away.push_back(node);
  }
  const std::string where = away.empty() ? "" : ": not on " + join_some(away, kMostNamed);
  const std::string seen =
      std::to_string(ready) + " of " + count_of(static_cast<std::size_t>(wanted), "agent") + " ready";
  if (ready < wanted)
    return {kCheck, ready == 0 ? Severity::Error : Severity::Warning, seen + where,
            pods_command(parts, kAgentName)};
  if (updated < wanted)
    return {kCheck, Severity::Warning,
            std::to_string(updated) + " of " + std::to_string(wanted) + " agents are of the newest roll-out",
            "kubectl -n " + parts.name_space + " rollout status daemonset/" + kAgentName};
  return {kCheck, Sight::Good, seen};
}

Checked judge_tables(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Tables;
  for (const std::string& problem : {parts.agents.problem, parts.tables.problem}) {
    if (!problem.empty()) return {kCheck, Sight::NotSeen, problem};
  }
  std::vector<std::string> without;
  for (const auto& agent : parts.agents.items) {
    if (parts.tables.items.count(agent.first) == 0) without.push_back(agent.first);
  }
  const std::size_t nodes = parts.agents.items.size();
  if (nodes == 0)
    return {kCheck, parts.tables.items.empty() ? Severity::Warning : Severity::Info,
            count_of(parts.tables.items.size(), "table") + ", and no agent that would write one"};
  if (without.empty())
    return {kCheck, Sight::Good, "each of " + count_of(nodes, "node") + " with an agent has one"};
  return {kCheck, without.size() == nodes ? Severity::Error : Severity::Warning,
          count_of(without.size(), "node") +
              " with an agent and without a table: " + join_some(without, kMostNamed),
          "The agent's log says why it wrote none: kubectl -n " + parts.name_space +
              " logs -l app.kubernetes.io/name=" + kAgentName};
}

// Returns an image's tag without a leading v; "" if it has none, such as an image that is named by digest.
std::string tag_of(const std::string& image) {
  const std::string name = image.substr(0, image.find('@'));
  const std::size_t slash = name.rfind('/'), colon = name.rfind(':');
  if (colon == name.npos || (slash != name.npos && colon < slash)) return {};
  const std::string tag = name.substr(colon + 1);
  return tag.starts_with('v') ? tag.substr(1) : tag;
}

bool is_version(const std::string& tag) {
  return !tag.empty() && tag[0] >= '0' && tag[0] <= '9';
}

const Json& first_container(const LookUp& workload) {
  static const Json kNone;
  const Json& containers =
      member(member(member(member(workload.object, "spec"), "template"), "spec"), "containers");
  return containers.is_array() && !containers.empty() ? containers.front() : kNone;
}

std::string resolver_image(const LookUp& deployment) {
  for (const Json& entry : member(first_container(deployment), "env")) {
    if (text_at(entry, "name") == "RESOLVER_IMAGE") return text_at(entry, "value");
  }
  return {};
}

Checked judge_images(const InstalledParts& parts) {
  constexpr Code kCheck = Code::Versions;
  const std::pair<const char*, std::string> images[] = {
      {"webhook", text_at(first_container(parts.deployment), "image")},
      {"init container", resolver_image(parts.deployment)},
      {"agent", text_at(first_container(parts.daemon_set), "image")}};
  std::vector<std::string> told;
  bool differs = false, unknown = false;
  for (const auto& [part, image] : images) {
    if (image.empty()) continue;
    const std::string tag = tag_of(image);
    differs = differs || (is_version(tag) && tag != program::kVersion);
    unknown = unknown || !is_version(tag);
    told.push_back(std::string(part) + " " + (is_version(tag) ? tag : "not known from " + image));
  }
  if (told.empty()) return {kCheck, Sight::NotSeen, "no image was seen"};
  const std::string all = join(told) + ", this program " + std::string(program::kVersion);
  if (differs)
    return {
        kCheck, Severity::Warning, all,
        "Bring all to one version (docs/operate/upgrade.md), or take the command line of the one installed."};
  if (unknown) return {kCheck, Severity::Info, all};
  return {kCheck, Sight::Good, all};
}

Checked judge_agent_versions(const InstalledParts& parts) {
  constexpr Code kCheck = Code::AgentVersions;
  if (!parts.tables.problem.empty()) return {kCheck, Sight::NotSeen, parts.tables.problem};
  const std::string tag = tag_of(text_at(first_container(parts.daemon_set), "image"));
  const std::string wanted = is_version(tag) ? tag : std::string(program::kVersion);
  std::set<std::string> versions;
  std::vector<std::string> nodes;
  std::size_t told = 0;
  for (const auto& [node, version] : parts.tables.items) {
    if (version.empty()) continue;
    ++told;
    if (version == wanted) continue;
    versions.insert(version);
    nodes.push_back(node);
  }
  if (nodes.empty())
    return told > 0 ? Checked{kCheck, Sight::Good, "all tables are of " + wanted}
                    : Checked{kCheck, Severity::Info, "no table names its agent's version"};
  return {kCheck, Severity::Warning,
          count_of(nodes.size(), "table") + " of an agent " + join_some(versions, kMostNamed) +
              " instead of " + wanted + ": " + join_some(nodes, kMostNamed),
          "Wait for the roll-out of the DaemonSet; a node that is down keeps its old table."};
}

}  // namespace

std::string service_namespace(const Json& webhook_configuration) {
  for (const Json& hook : member(webhook_configuration, "webhooks")) {
    std::string name = text_at(member(member(hook, "clientConfig"), "service"), "namespace");
    if (!name.empty()) return name;
  }
  return {};
}

bool is_nothing(const InstalledParts& parts) {
  const LookUp* const all[] = {&parts.policy_crd, &parts.table_crd,  &parts.mutating,
                               &parts.validating, &parts.deployment, &parts.daemon_set};
  return std::all_of(std::begin(all), std::end(all),
                     [](const LookUp* part) { return part->outcome == Outcome::Absent; });
}

Checked judge_version(const LookUp& version) {
  constexpr Code kCheck = Code::ApiServer;
  if (version.outcome != Outcome::Found) return {kCheck, Sight::NotSeen, version.problem};
  const std::string name = text_at(version.object, "gitVersion");
  const std::string minor = text_at(version.object, "minor");  // "30", "30+"
  const std::string digits = minor.substr(0, minor.find_first_not_of("0123456789"));
  if (text_at(version.object, "major") != "1" || digits.empty() || digits.size() > 3)
    return {kCheck, Sight::NotSeen, "its version is not one that is known: " + name};
  if (std::stoi(digits) < kLeastMinor)
    return {kCheck, Severity::Error, "Kubernetes " + name + " is older than 1." + std::to_string(kLeastMinor),
            "Upgrade the cluster: agents' tokens name their node from 1.30 on."};
  return {kCheck, Sight::Good, "Kubernetes " + name};
}

Checks judge_parts(const InstalledParts& parts) {
  return {judge_version(parts.version),
          judge_crd(kPolicyCrd, parts.policy_crd),
          judge_crd(kTableCrd, parts.table_crd),
          judge_hooks(parts.mutating),
          judge_validator(parts.validating),
          judge_bundle(parts),
          judge_service(parts),
          judge_certificate(parts),
          judge_webhook(parts),
          judge_agents(parts),
          judge_tables(parts),
          judge_images(parts),
          judge_agent_versions(parts)};
}

}  // namespace nccl_env::cli
