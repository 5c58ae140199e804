// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <ostream>

#include "commands/pod_preview.h"
#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

struct InjectArguments : PodArguments {
  Resolver resolver;  // "": as the policy's status says, else none
};

void print_manifest(const std::vector<Json>& documents, const Console& terminal) {
  for (const Json& document : documents) {
    if (terminal.form == "json") {
      terminal.out << document.dump(2, ' ', true) << '\n';
    } else {
      terminal.out << (&document == &documents.front() ? "" : "---\n") << to_yaml(document);
    }
  }
}

bool is_unbound(const PreviewedPod& pod) {
  return pod.told.answer.state != PodState::OwnValues && pod.gets_values() &&
         text_at(member(pod.source.pod, "spec"), "nodeName").empty();
}

// Makes the pod in its document as the webhook would; says why where it cannot.
void inject(const PreviewedPod& pod, std::vector<Json>& documents, std::ostream& err) {
  const auto say = [&](const std::string& sentence) {
    const std::string title = title_of(pod.source);
    err << "nccl-env: " << printable(title.empty() ? sentence : title + ": " + sentence) << '\n';
  };
  if (!pod.source.place) return say("left as it is: its pod is made of other fields");
  say(pod.told.answer.in_all);
  for (const Finding& finding : pod.told.answer.findings)
    say(std::string(to_string(finding.code)) + ": " + finding.sentence);
  if (pod.patch.empty()) return;
  // With labels that an operator gives its pods, which the patch counts on.
  documents[pod.source.document][*pod.source.place] = pod.source.pod.patch(parse_json(pod.patch));
}

// The pods that would get other values with the init container of an installation, which explain -f counts
// on.
std::vector<std::string> lacking_resolver(const std::string& file, const Preview& preview) {
  if (preview.situation.plan.resolver) return {};
  Preview installed = preview;
  PlanOptions& plan = installed.situation.plan;
  plan.resolver = program::installed_plan(preview.situation.around.policy.get(), false).resolver;
  std::vector<std::string> names;
  if (answer_pods(file, installed)) return names;  // they were accepted before
  for (std::size_t i = 0; i < preview.pods.size(); ++i) {
    if (installed.pods[i].told.answer.in_all != preview.pods[i].told.answer.in_all)
      names.push_back(title_of(preview.pods[i].source));
  }
  return names;
}

// Prints the manifest with its pods as the webhook would make them, and on `err` what each gets.
int inject_manifest(const InjectArguments& arguments, const Console& terminal) {
  const Resolver& resolver = arguments.resolver;
  // For pods that are to run: only with an image that somebody named.
  const auto as_named = [&](const NcclPolicy* policy) {
    if (!resolver.image.empty()) return program::plan_options(resolver);
    return program::installed_plan(policy, !policy || !policy->resolver_image);
  };
  Preview preview;
  if (const program::Failure failure = read_preview(arguments, "", as_named, terminal.in, preview)) {
    if (failure.code == program::kNothing) print_manifest(preview.documents, terminal);  // as it is
    return stop(terminal, failure);
  }
  const auto& [documents, situation, pods, remarks] = preview;
  const auto remark = [&](const std::string& text) { terminal.err << "nccl-env: " << text << '\n'; };
  std::ranges::for_each(remarks, remark);
  if (!resolver.image.empty() && !program::is_pinned(resolver.image))
    remark("--resolver-image names no digest: what pods get is what the tag points to when they start");
  if (const auto names = lacking_resolver(arguments.pod, preview); !names.empty())
    remark("without --resolver-image no init container looks inside the pod, as explain -f has it: " +
           some_of(names));
  if (!situation.tables.empty() && std::ranges::any_of(pods, is_unbound))
    remark("the values are those of one node: send the pods there (spec.nodeName, or a nodeSelector)");
  for (const PreviewedPod& pod : pods) inject(pod, preview.documents, terminal.err);
  print_manifest(documents, terminal);
  const auto is_well = [](const PreviewedPod& pod) { return is_good(pod.told.answer.findings); };
  return std::ranges::all_of(pods, is_well) ? program::kDone : program::kFinding;
}

}  // namespace

void add_inject(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"inject",
       "Print a manifest as the webhook would make it, and on the standard error what each pod gets. With a "
       "node, also what its Binding brings: for clusters without the webhook, where jobs are sent to nodes "
       "that are known. Exit codes as explain's.",
       "nccl-env inject -f job.yaml --policy roce.yaml --table gpu-1.yaml | kubectl apply -f -",
       {"yaml"}},
      inject_manifest);
  add_pod_options(app, to);
  app.get_option("--filename")->required();
}

}  // namespace nccl_env::cli
