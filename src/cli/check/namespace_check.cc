// SPDX-License-Identifier: Apache-2.0
#include "check/namespace_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "cluster/live_pods.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/kube/paths.h"
#include "nccl_env/program/resolver_options.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostTried = 5;  // namespaces: each takes three calls or more
constexpr std::size_t kMostShown = 4;  // names in a line

// The members of an object; anything else has none.
Json members_of(const Json& object) {
  return object.is_object() ? object : Json::object();
}

void read_status(const std::string& text, SampleOutcome& into) {
  const Json status = parse_json(text);
  into.exposure = text_at(status, "exposure");
  const Json& container = member(member(status, "containers"), "sample");
  into.set = members_of(member(container, "set"));
  into.omitted = members_of(member(container, "omitted"));
}

// Reads from the pod, as the dry run returned it, what the webhook said and did.
void read_pod(const Json& pod, SampleOutcome& into) {
  const std::string text = text_at(member(member(pod, "metadata"), "annotations"), key::kStatus);
  into.touched = !text.empty();
  read_status(text, into);
  const auto live = LivePod::read(pod);
  if (live && (*live)->record().status) into.form = (*live)->record().status->form;
  into.resolver = std::ranges::any_of(items_at(member(pod, "spec"), "initContainers"), [](const Json& init) {
    return text_at(init, "name") == conf_file::kResolver;
  });
}

Result<Plan> plan_sample(const NcclPolicy& policy, const Json& sample) {
  ReviewParser parser;
  const std::string text = sample.dump();
  const Result<Pod> pod = parser.parse_pod(text);
  if (!pod) return pod.error();
  return plan_pod(*pod, policy, program::installed_plan(&policy, false));
}

// Returns why this policy gives a pod like this nothing; "" if it should give it something.
std::string why_skipped(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  if (plan->inject) return "";
  return (plan->reason ? std::string(to_string(*plan->reason)) + ": " : "") + plan->detail;
}

Finding wrong(std::string sentence, std::string remedy) {
  return {Code::Answers, Severity::Error, {}, std::move(sentence), std::move(remedy)};
}

// `policy` may be null: not known. Adds what a policy in mode DryRun would set.
std::optional<Finding> judge_admitted(const NcclPolicy* policy, const Json& sample, SampleOutcome& outcome) {
  if (outcome.touched) return std::nullopt;
  if (policy) {
    const Result<Plan> plan = plan_sample(*policy, sample);
    if (plan && plan->reason == Reason::DryRun) {
      read_status(plan->status, outcome);
      return std::nullopt;
    }
    if (const std::string why = why_skipped(plan); !why.empty())
      return wrong("the policy leaves such a pod alone: " + why,
                   "If its pods should get values, correct the policy's match.");
  }
  outcome.unanswered = policy != nullptr;
  return wrong(
      policy ? "the pod is admitted, and the webhook was not called or gave no answer"
             : "the pod is admitted as it is: the policy leaves it alone, or the webhook was not called",
      "nccl-env check names what is broken on the way: hook, caBundle, Service or the webhook's pods. If "
      "nothing is, the hook's namespaceSelector leaves this namespace out.");
}

std::string remedy_for(Refuser refuser) {
  const std::string label = "label the namespace nccl-env.io/resolve=Binding, which adds no container.";
  if (refuser == Refuser::Quota || refuser == Refuser::LimitRange)
    return "Size nccl-env's init container by the webhook's flags, give the namespace room, or " + label;
  if (refuser == Refuser::Policy || refuser == Refuser::Webhook)
    return "Allow nccl-env's agent image there, or " + label;
  return "Report the sentence, and " + label;
}

Finding judge_refused(const DryRun& with_us, const DryRun& without_us) {
  if (with_us.refuser == Refuser::Silence)
    return wrong("no webhook answers, and the namespace is strict: no pod is created meanwhile",
                 "Look at the webhook's pods and the hook's caBundle: nccl-env check.");
  if (without_us.admitted)
    return wrong("what nccl-env adds to the pod is refused by " + std::string(to_string(with_us.refuser)),
                 remedy_for(with_us.refuser));
  return wrong(
      "the pod is refused by " + std::string(to_string(without_us.refuser)) + ", without nccl-env, too",
      without_us.refuser == Refuser::Rights
          ? "Ask as somebody who may create pods there: dry runs need the same right."
          : "This is not nccl-env's doing. If it is the sample's size or image, try --cpu, --memory, "
            "--image and --resource.");
}

Result<SampleOutcome> try_sample(kube::ApiServer& client, const NcclPolicy* policy,
                                 const std::string& name_space, const std::string& resource,
                                 const SampleSize& size) {
  SampleOutcome outcome;
  Json sample = sample_pod(resource, size);
  auto tried = try_create(client, name_space, sample);
  if (!tried) return tried.error();
  outcome.with_us = *std::move(tried);
  if (outcome.with_us.admitted) {
    read_pod(outcome.with_us.pod, outcome);
    outcome.finding = judge_admitted(policy, sample, outcome);
    return outcome;
  }
  // The label keeps the hook itself from being called; the annotation would only tell the webhook.
  sample["metadata"]["labels"][std::string(key::kInject)] = "false";
  auto without = try_create(client, name_space, sample);
  if (!without) return without.error();
  outcome.without_us = *std::move(without);
  outcome.finding = judge_refused(outcome.with_us, *outcome.without_us);
  return outcome;
}

// Returns nothing if the check has a problem now, or if the caller, like most tenants, may not read policies:
// then the resource has to be `named`.
Result<std::optional<NcclPolicy>> get_policy(kube::ApiServer& client, bool named, NamespaceCheck& check) {
  const std::string what = "NcclPolicy " + check.policy;
  const LookUp found = look_up(client, ask(kube::kPolicies, check.policy));
  if (found.outcome == LookUp::Outcome::Failed) return Error{found.problem};
  if (found.outcome == LookUp::Outcome::Forbidden) {
    if (!named)
      return Error{found.problem +
                   ": so no resource is known that the policy matches; give one with --resource"};
    check.notes.push_back("You may not read " + what + ", so what it wants is not known here.");
  } else if (found.outcome == LookUp::Outcome::Absent) {
    check.finding = wrong("PolicyMissing: there is no " + what, "Correct the label, or apply the policy.");
  } else if (PolicyReading reading = read_policy(found.object, {true}); reading.policy) {
    // Accepts constants that load code: the webhook's flag decides about them, and the sample does not depend
    // on it.
    return std::move(reading.policy);
  } else {
    check.finding = wrong("PolicyInvalid: " + what + " is not usable",
                          "kubectl get ncclp " + check.policy + " -o wide says why.");
  }
  return std::optional<NcclPolicy>();
}

void note_untried(const NcclPolicy& policy, NamespaceCheck& check) {
  if (policy.host_devices)
    check.notes.emplace_back("match.hostDevices is not tried: such pods need the host's network.");
  if (!policy.device_classes.empty())
    check.notes.emplace_back("match.deviceClasses is not tried: such pods need a claim.");
  if (!policy.networks.empty())
    check.notes.emplace_back("match.networks is not tried: such pods ask for a network of theirs.");
}

// Puts those resources together whose pods get the same by the policy, in their order.
std::vector<std::vector<std::string>> alike(const std::vector<std::string>& resources,
                                            const NcclPolicy* policy, const SampleSize& size) {
  std::vector<std::vector<std::string>> groups;
  std::map<std::string, std::size_t> group_of;
  for (const std::string& resource : resources) {
    const Result<Plan> plan = policy ? plan_sample(*policy, sample_pod(resource, size)) : Error{resource};
    const auto [group, first] =
        group_of.emplace(plan ? plan->status + why_skipped(plan) : plan.error().message, groups.size());
    if (first) groups.emplace_back();
    groups[group->second].push_back(resource);
  }
  return groups;
}

// "NCCL_IB_HCA (Node), NCCL_IB_TC (Policy)": those that each pod gets, or those that depend on its node.
std::string list_of(const Json& set, bool certain) {
  std::vector<std::string> told;
  for (const auto& [name, source] : set.items()) {
    if ((source == "Policy") == certain) told.push_back(name + " (" + text_of(source) + ")");
  }
  return join(told);
}

// "NCCL_IB_TIMEOUT (Policy); as far as its node has a value: NCCL_IB_HCA (File)"
std::string told(const Json& set) {
  const std::string certain = list_of(set, true), of_node = list_of(set, false);
  if (of_node.empty()) return certain.empty() ? "nothing" : certain;
  return certain + (certain.empty() ? "" : "; ") + "as far as its node has a value: " + of_node;
}

// Returns nothing where the namespace proves nothing: its policy changes no pod.
std::optional<Judged> answer_in(const NamespaceCheck& check) {
  const std::string where = "namespace " + check.name_space + ": ";
  if (check.finding) return Judged{Severity::Warning, where + check.finding->sentence, check.finding->remedy};
  for (const SampleOutcome& sample : check.samples) {
    if (sample.touched && !sample.finding)
      return Judged{Sight::Good, "a pod with " + sample.resources.front() + " in namespace " +
                                     check.name_space + " would get " + told(sample.set)};
    if (sample.unanswered)
      return Judged{Severity::Error, where + sample.finding->sentence, sample.finding->remedy};
    if (sample.finding)
      return Judged{Severity::Warning, where + sample.finding->sentence,
                    "nccl-env check --namespace " + check.name_space};
  }
  return std::nullopt;
}

// `first`: the sentence that the first line has told.
void add_finding(const std::optional<Finding>& finding, std::string_view first, TextColumns& columns) {
  if (!finding) return;
  if (finding->sentence != first) columns.add({"problem", printable(finding->sentence)});
  columns.add({"remedy", printable(finding->remedy)});
}

std::string sample_text(const SampleOutcome& sample, bool dry_run, std::string_view first) {
  TextColumns columns(2);
  if (sample.with_us.admitted) {
    columns.add({"admitted", sample.touched ? "form " + printable(sample.form) + ", exposure " +
                                                  printable(sample.exposure)
                             : dry_run ? "unchanged: the policy says mode DryRun"
                                       : "unchanged"});
  } else {
    columns.add({"refused", printable(sample.with_us.sentence)});
  }
  if (!sample.touched && !sample.set.empty())
    columns.add({"would get", "under mode Enforce: " + printable(told(sample.set))});
  if (sample.touched) {
    columns.add({"gets", printable(told(sample.set))});
    if (!sample.omitted.empty()) columns.add({"left out", printable(list_of(sample.omitted, false))});
    columns.add(
        {"resolver", sample.resolver ? "has the init container nccl-env-resolve" : "no init container"});
  }
  if (sample.without_us) {
    columns.add({"without us", sample.without_us->admitted
                                   ? "the same pod would be admitted (nccl-env.io/inject: \"false\")"
                                   : "refused, too: " + printable(sample.without_us->sentence)});
  }
  add_finding(sample.finding, first, columns);
  return "\n" + paragraph(printable("a pod with " + join_some(sample.resources, kMostShown))) +
         columns.render();
}

std::string verdict_of(const NamespaceCheck& check) {
  const std::vector<Finding> findings = check.findings();
  return findings.empty() ? "its pods can get what the policy wants" : findings.front().sentence;
}

// The pattern without its star: "rdma/hca*" -> "rdma/hca".
std::optional<std::string> name_for(const std::string& pattern, const NcclPolicy& policy) {
  std::string name = pattern;
  std::erase(name, '*');
  const auto takes = [&](const std::string& glob) { return glob_matches(glob, name); };
  const bool plain =
      is_extended_resource(name) && is_alphanumeric(name.back()) && name.find_first_of("?[") == name.npos;
  return plain && std::ranges::none_of(policy.skip_resources, takes) ? std::optional(name) : std::nullopt;
}

OrderedJson refusal_json(const DryRun& tried) {
  if (tried.admitted) return {};
  return {{"by", to_string(tried.refuser)}, {"sentence", tried.sentence}};
}

// `spaces`: those whose policy is there.
Judged try_webhook(kube::ApiServer& client, const std::vector<std::string>& spaces,
                   const std::string& first) {
  if (spaces.empty())
    return {Severity::Info, "no namespace is opted in to a policy, so that no pod was tried",
            "kubectl label namespace NAME nccl-env.io/policy=POLICY"};
  // A connection that the API server keeps may answer for a moment longer.
  if (!first.empty()) return {Severity::Warning, "no pod was tried", "Mend " + first + " first."};
  Judged line{Severity::Info, "no policy of an opted-in namespace changes pods: mode DryRun"};
  for (std::size_t i = 0; i < std::min(spaces.size(), kMostTried); ++i) {
    const auto check = check_namespace(client, spaces[i], "", {}, 1);
    if (!check) {
      line = {Sight::NotSeen, check.error().message};
    } else if (auto answer = answer_in(*check)) {
      line = *std::move(answer);
      if (line.good || line.finding.severity == Severity::Error) break;
    }
  }
  return line;
}

}  // namespace

std::vector<Finding> NamespaceCheck::findings() const {
  std::vector<Finding> all;
  const auto add = [&](const std::optional<Finding>& one, const std::string& resource) {
    if (!one) return;
    all.push_back(*one);
    all.back().subject = {.kind = "Namespace", .name = name_space, .path = resource};
  };
  add(finding, "");
  for (const SampleOutcome& sample : samples) add(sample.finding, sample.resources.front());
  std::ranges::stable_sort(all, {}, &Finding::severity);
  return all;
}

Result<NamespaceCheck> check_namespace(kube::ApiServer& client, const std::string& name_space,
                                       const std::string& resource, const SampleSize& size,
                                       std::size_t most) {
  NamespaceCheck check;
  check.name_space = name_space;
  const LookUp found = look_up(client, ask_namespace(name_space));
  if (found.outcome != LookUp::Outcome::Found) return Error{found.problem};
  check.policy = store::policy_label(found.object);
  if (check.policy.empty()) {
    check.finding =
        wrong("it has no label " + std::string(key::kPolicyLabel) + ", so nothing reaches the webhook",
              "kubectl label namespace " + name_space + " " + std::string(key::kPolicyLabel) + "=POLICY");
    return check;
  }
  const auto policy = get_policy(client, !resource.empty(), check);
  if (!policy) return policy.error();
  if (check.finding) return check;
  if (*policy) {
    check.mode = (*policy)->mode == PolicyMode::DryRun ? "DryRun" : "Enforce";
    note_untried(**policy, check);
  }
  std::vector<std::string> resources{resource};
  if (resource.empty()) resources = *policy ? sample_resources(**policy) : std::vector<std::string>();
  if (resources.empty()) {
    check.finding = wrong("no pod was tried: no resource name is known that the policy matches",
                          "Give one with --resource.");
  }
  const NcclPolicy* const known = *policy ? &**policy : nullptr;
  for (std::vector<std::string>& each : alike(resources, known, size)) {
    if (check.samples.size() == most) break;
    auto outcome = try_sample(client, known, name_space, each.front(), size);
    if (!outcome) return outcome.error();
    outcome->resources = std::move(each);
    check.samples.push_back(*std::move(outcome));
  }
  return check;
}

Checks judge_namespaces(kube::ApiServer& client, const std::string& first) {
  KnownObjects known;
  const auto spaces = list_opted_in(client, &known);
  if (!spaces) return {{Code::Answers, Sight::NotSeen, spaces.error().message}};
  std::set<std::string> policies;
  const Status listed = kube::list_all(client, path_of(kube::kPolicies), [&](const Json& policy) {
    policies.insert(text_at(member(policy, "metadata"), "name"));
  });
  if (!listed)
    return {{Code::Answers, Sight::NotSeen, listed.error().message},
            {Code::Answers, try_webhook(client, *spaces, first)}};
  std::vector<std::string> right, wrong;
  std::string remedy;
  for (const std::string& space : *spaces) {
    const std::string name = store::policy_label(known[ask_namespace(space).target].object);
    if (policies.contains(name)) {
      right.push_back(space);
      continue;
    }
    const std::string near(nearest(name, std::vector<std::string_view>(policies.begin(), policies.end())));
    wrong.push_back(space + " names " + name + ", which is not there" +
                    (near.empty() ? "" : ": do you mean " + near + "?"));
    if (remedy.empty())
      remedy = near.empty() ? "Apply NcclPolicy " + name + ", or correct the label of the namespace."
                            : "kubectl label namespace " + space + " --overwrite " +
                                  std::string(key::kPolicyLabel) + "=" + near;
  }
  Checks told;
  if (!right.empty() || wrong.empty()) told.emplace_back(Code::Answers, try_webhook(client, right, first));
  if (!wrong.empty())
    told.emplace_back(Code::Answers,
                      Judged{Severity::Warning, "PolicyMissing: " + join_some(wrong, kMostShown), remedy});
  return told;
}

std::string render_text(const NamespaceCheck& check) {
  const std::string first = verdict_of(check);
  std::string head = "namespace " + check.name_space;
  if (!check.policy.empty()) head += ", policy " + check.policy;
  std::string text = paragraph(printable(head + ": " + first));
  TextColumns columns(2);
  add_finding(check.finding, first, columns);
  for (const std::string& note : check.notes) columns.add({"note", printable(note)});
  text += columns.render();
  for (const SampleOutcome& sample : check.samples)
    text += sample_text(sample, check.mode == "DryRun", first);
  return text;
}

OrderedJson to_json(const NamespaceCheck& check) {
  OrderedJson samples = OrderedJson::array();
  for (const SampleOutcome& sample : check.samples) {
    samples.push_back({{"resource", sample.resources.front()},
                       {"alike", std::vector(sample.resources.begin() + 1, sample.resources.end())},
                       {"admitted", sample.with_us.admitted},
                       {"refused", refusal_json(sample.with_us)},
                       {"admittedWithoutUs", sample.with_us.admitted || sample.without_us->admitted},
                       {"changed", sample.touched},
                       {"form", text_or_null(sample.form)},
                       {"exposure", text_or_null(sample.exposure)},
                       {"set", sample.set},
                       {"omitted", sample.omitted},
                       {"resolver", sample.resolver}});
  }
  return {{"namespace", check.name_space},
          {"good", is_good(check.findings())},
          {"sentence", verdict_of(check)},
          {"policy", text_or_null(check.policy)},
          {"mode", text_or_null(check.mode)},
          {"findings", nccl_env::to_json(check.findings())},
          {"notes", check.notes},
          {"samples", std::move(samples)}};
}

Json sample_pod(const std::string& resource, const SampleSize& size) {
  const Json amount{{resource, "1"}, {"cpu", size.cpu}, {"memory", size.memory}};
  const Json container{
      {"name", "sample"},
      {"image", size.image},
      {"resources", {{"limits", amount}, {"requests", amount}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}}};
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"generateName", "nccl-env-check-"}}},
      {"spec",
       {{"restartPolicy", "Never"},
        {"automountServiceAccountToken", false},
        {"securityContext",
         {{"runAsNonRoot", true}, {"runAsUser", 65532}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
        {"containers", Json::array({container})}}}};
}

Json sample_agent_pod() {
  Json pod = sample_pod("cpu", {});
  pod["spec"]["hostNetwork"] = true;
  pod["spec"]["containers"][0]["volumeMounts"] =
      Json::array({{{"name", "sys"}, {"mountPath", "/sys"}, {"readOnly", true}}});
  pod["spec"]["volumes"] =
      Json::array({{{"name", "sys"}, {"hostPath", {{"path", "/sys"}, {"type", "Directory"}}}}});
  return pod;
}

std::vector<std::string> sample_resources(const NcclPolicy& policy) {
  std::vector<std::string> names;
  for (const ResourceMatch& entry : policy.resources) {
    const auto name = name_for(entry.name, policy);
    if (name && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
  }
  return names;
}

}  // namespace nccl_env::cli
