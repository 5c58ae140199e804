// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "commands/explain.h"
#include "nccl_env/core/explain/pod_print.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

void print(const std::vector<AnsweredPod>& pods, const std::string& form, std::ostream& out) {
  if (is_document(form)) {
    OrderedJson all = OrderedJson::array();
    for (const AnsweredPod& pod : pods) all.push_back(to_json(pod.answer, pod.record, pod.around));
    return print_documents(all, form, out);
  }
  for (const AnsweredPod& pod : pods) {
    if (form == "env") {
      if (pods.size() > 1)
        out << "# pod " << printable(object_name(pod.record.name_space, pod.record.name)) << '\n';
      if (!pod.record.status) out << "# " << to_string(pod.answer.state) << '\n';
      out << render_env(pod.record);
    } else {
      out << (&pod == &pods.front() ? "" : "\n") << render_text(pod.answer, pod.record, pod.around);
    }
  }
}

Result<std::vector<nlohmann::json>> read_pods(const ExplainRequest& request, const Connection& cluster,
                                              std::istream& in, std::vector<std::string>& remarks) {
  if (!cluster.client) return read_pod_file(request.arguments.pod, in, remarks);
  LookUp found = look_up(*cluster.client, ask_pod(cluster.name_space, request.target.name));
  if (found.outcome != LookUp::Outcome::Found) return Error{found.problem};
  return std::vector<nlohmann::json>{std::move(found.object)};
}

}  // namespace

int explain_pod(const ExplainRequest& request, const Console& terminal) {
  Connection cluster;
  std::optional<ContextReader> context;
  if (const program::Failure failure = find_context(request, terminal.in, cluster, context))
    return stop(terminal, failure);
  std::vector<std::string> remarks;
  const auto objects = read_pods(request, cluster, terminal.in, remarks);
  if (!objects) return stop(terminal, program::kNotSeen, objects.error().message);
  for (const std::string& remark : remarks) terminal.err << "nccl-env: " << remark << '\n';
  std::vector<AnsweredPod> pods;
  std::vector<Finding> findings;
  for (const nlohmann::json& object : *objects) {
    auto answered = context->answer(object);
    if (!answered) return stop(terminal, program::kNotSeen, answered.error().message);
    const std::vector<Finding>& found = answered->answer.findings;
    findings.insert(findings.end(), found.begin(), found.end());
    pods.push_back(*std::move(answered));
  }
  print(pods, terminal.form, terminal.out);
  return program::code_of(findings);
}

}  // namespace nccl_env::cli
