// SPDX-License-Identifier: Apache-2.0
#include "cluster/namespace_check.h"

#include <algorithm>

#include "nccl_env/core/decide/decide.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

// Of the init container that writes nccl.conf in the pod.
constexpr std::string_view kResolver = "nccl-env-resolve";

Result<Json> get_namespace(kube::Client& client, const std::string& name) {
  const auto reply = client.call({"GET", "/api/v1/namespaces/" + kube::escaped(name), "", ""});
  if (!reply) return Error{"namespace " + name + ": " + reply.error().message};
  if (reply->status != kube::kOk) return Error{"namespace " + name + ": " + kube::status_message(*reply)};
  auto object = Json::parse(reply->body, nullptr, false);
  if (!object.is_object())
    return Error{"namespace " + name + ": the answer of " + client.server() + " is no object"};
  return object;
}

void read_pairs(const Json& object, std::vector<std::pair<std::string, std::string>>& into) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) into.emplace_back(name, text_of(value));
}

// What the webhook said and did, from the pod as it would be.
void read_pod(const Json& pod, SampleOutcome& into) {
  const Json& annotations = member(member(pod, "metadata"), "annotations");
  const std::string text = text_of(member(annotations, key::kStatus));
  into.touched = !text.empty();
  const Json status = Json::parse(text, nullptr, false);
  into.form = text_of(member(status, "form"));
  into.exposure = text_of(member(status, "exposure"));
  const Json& container = member(member(status, "containers"), "sample");
  read_pairs(member(container, "set"), into.set);
  read_pairs(member(container, "omitted"), into.omitted);
  for (const Json& init : member(member(pod, "spec"), "initContainers"))
    into.resolver = into.resolver || text_of(member(init, "name")) == kResolver;
}

// Why this policy gives a pod like this nothing; "" if it should give it something.
std::string why_skipped(const NcclPolicy& policy, const Json& sample) {
  ReviewParser parser;
  const std::string text = sample.dump();
  const Result<Pod> pod = parser.parse_pod(text);
  if (!pod) return pod.error().message;
  const Plan plan = plan_pod(*pod, policy);
  if (plan.inject) return "";
  return (plan.reason ? std::string(to_string(*plan.reason)) + ": " : "") + plan.detail;
}

// `policy` may be null: not known.
void judge_admitted(const NcclPolicy* policy, const Json& sample, SampleOutcome& outcome) {
  if (outcome.touched) return;
  const std::string why = policy ? why_skipped(*policy, sample) : "";
  if (!why.empty() && policy->mode == PolicyMode::DryRun) return;
  if (!why.empty()) {
    outcome.problem = "the policy leaves such a pod alone: " + why;
    outcome.remedy = "If its pods should get values, correct the policy's match.";
    return;
  }
  outcome.problem =
      policy ? "the pod is admitted, and the webhook was not called or gave no answer"
             : "the pod is admitted as it is: the policy leaves it alone, or the webhook was not called";
  outcome.remedy =
      "Look at the hook pods.nccl-env.io of MutatingWebhookConfiguration nccl-env (is it there, does it "
      "leave this "
      "namespace out?), at its caBundle, and at the webhook's pods.";
}

std::string remedy_for(Refuser refuser) {
  switch (refuser) {
    case Refuser::Quota:
    case Refuser::LimitRange:
      return "Size nccl-env's init container by the webhook's flags, give the namespace room, or set "
             "resolve: Binding "
             "in the policy, which adds no container.";
    case Refuser::Policy:
    case Refuser::Webhook:
      return "Allow nccl-env's agent image there, or set resolve: Binding in the policy, which adds no "
             "container.";
    default:
      return "Set resolve: Binding in the policy, which adds no container, and report the sentence.";
  }
}

void judge_refused(SampleOutcome& outcome) {
  const DryRun& with = outcome.with_us;
  const DryRun& without = *outcome.without_us;
  if (without.admitted) {
    outcome.problem = "what nccl-env adds to the pod is refused by " + std::string(to_string(with.refuser));
    outcome.remedy = remedy_for(with.refuser);
    return;
  }
  outcome.problem =
      "the pod is refused by " + std::string(to_string(without.refuser)) + ", without nccl-env, too";
  outcome.remedy =
      without.refuser == Refuser::Rights
          ? "Ask as somebody who may create pods there: dry runs need the same right."
          : "This is not nccl-env's doing. If it is the sample's size or image, try --cpu, --memory, "
            "--image and --resource.";
}

Result<SampleOutcome> try_sample(kube::Client& client, const NcclPolicy* policy,
                                 const std::string& name_space, const std::string& resource,
                                 const SampleSize& size) {
  SampleOutcome outcome;
  outcome.resource = resource;
  Json sample = sample_pod(resource, size);
  auto tried = try_create(client, name_space, sample);
  if (!tried) return tried.error();
  outcome.with_us = *std::move(tried);
  if (outcome.with_us.admitted) {
    read_pod(outcome.with_us.pod, outcome);
    judge_admitted(policy, sample, outcome);
    return outcome;
  }
  // The label keeps the hook itself from being called; the annotation would only tell it.
  sample["metadata"]["labels"][std::string(key::kInject)] = "false";
  auto without = try_create(client, name_space, sample);
  if (!without) return without.error();
  outcome.without_us = *std::move(without);
  judge_refused(outcome);
  return outcome;
}

// Nothing where the check has a problem now, or where the caller may not read policies, as most tenants.
Result<std::optional<NcclPolicy>> get_policy(kube::Client& client, NamespaceCheck& check) {
  const std::string what = "NcclPolicy " + check.policy;
  const auto reply =
      client.call({"GET", "/apis/nccl-env.io/v1alpha1/ncclpolicies/" + kube::escaped(check.policy), "", ""});
  if (!reply) return Error{what + ": " + reply.error().message};
  if (reply->status == kube::kForbidden) {
    check.notes.push_back("You may not read " + what + ", so what it wants is not known here.");
    return std::optional<NcclPolicy>();
  }
  if (reply->status == kube::kNotFound) {
    check.problem = "PolicyMissing: there is no " + what;
    check.remedy = "Correct the label, or apply the policy.";
    return std::optional<NcclPolicy>();
  }
  if (reply->status != kube::kOk) return Error{what + ": " + kube::status_message(*reply)};
  // Constants that load code: the webhook's flag decides, and the sample does not turn on them.
  PolicyReading reading = read_policy(Json::parse(reply->body, nullptr, false), {true});
  if (reading.policy) return std::move(reading.policy);
  check.problem = "PolicyInvalid: " + what + " is not usable";
  check.remedy = "kubectl get ncclp " + check.policy + " -o wide says why.";
  return std::optional<NcclPolicy>();
}

void note_untried(const NcclPolicy& policy, NamespaceCheck& check) {
  if (policy.host_devices)
    check.notes.emplace_back("match.hostDevices is not tried: such pods need the host's network.");
  if (!policy.device_classes.empty())
    check.notes.emplace_back("match.deviceClasses is not tried: such pods need a claim.");
}

}  // namespace

bool NamespaceCheck::good() const {
  return problem.empty() && std::all_of(samples.begin(), samples.end(),
                                        [](const SampleOutcome& sample) { return sample.problem.empty(); });
}

Result<NamespaceCheck> check_namespace(kube::Client& client, const std::string& name_space,
                                       const std::string& resource, const SampleSize& size) {
  NamespaceCheck check;
  check.name_space = name_space;
  const auto object = get_namespace(client, name_space);
  if (!object) return object.error();
  check.policy = store::policy_label(*object);
  if (check.policy.empty()) {
    check.problem = "it has no label " + std::string(key::kPolicyLabel) + ", so nothing reaches the webhook";
    check.remedy = "kubectl label namespace " + name_space + " " + std::string(key::kPolicyLabel) + "=POLICY";
    return check;
  }
  const auto policy = get_policy(client, check);
  if (!policy) return policy.error();
  if (!check.problem.empty()) return check;
  if (*policy) {
    check.mode = (*policy)->mode == PolicyMode::DryRun ? "DryRun" : "Enforce";
    note_untried(**policy, check);
  }
  std::vector<std::string> resources{resource};
  if (resource.empty()) resources = *policy ? sample_resources(**policy) : std::vector<std::string>();
  if (resources.empty()) {
    check.problem = "no pod was tried: no resource name is known that the policy matches";
    check.remedy = "Give one with --resource.";
  }
  for (const std::string& each : resources) {
    auto outcome = try_sample(client, *policy ? &**policy : nullptr, name_space, each, size);
    if (!outcome) return outcome.error();
    check.samples.push_back(*std::move(outcome));
  }
  return check;
}

}  // namespace nccl_env::app
