// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/context.h"
#include "cluster/live_pods.h"
#include "commands/explain.h"
#include "nccl_env/core/explain/job.h"
#include "nccl_env/core/explain/pod_print.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

struct Job {
  JobTitle title;
  std::vector<AnsweredPod> members;
};

// More of these lines, different for each node, would hide the answer.
constexpr std::size_t kMaxUnread = 8;

void add_once(std::vector<std::string>& into, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) {
    if (into.size() > kMaxUnread || std::ranges::find(into, sentence) != into.end()) continue;
    into.push_back(into.size() == kMaxUnread ? "And more of the kind." : sentence);
  }
}

Status add_members(const std::vector<Json>& pods, ContextReader& context, Job& into) {
  for (const Json& object : pods) {
    auto answered = context.answer(object);
    if (!answered) return answered.error();
    add_once(into.title.unread, answered->around.unread);
    into.members.push_back(*std::move(answered));
  }
  return done();
}

// Names the job as a file's pods call their owner.
JobTitle title_of_file(const Job& job) {
  const PodRecord& first = job.members.front().record;
  return {first.name_space, first.owners.empty() ? first.name : first.owners.front().name, job.title.unread};
}

Result<Job> read_file(const ExplainRequest& request, ContextReader& context, const Console& terminal) {
  std::vector<std::string> remarks;
  const auto pods = read_pod_file(request.arguments.pod, terminal.in, remarks);
  if (!pods) return pods.error();
  for (const std::string& remark : remarks) terminal.err << "nccl-env: " << remark << '\n';
  Job job;
  if (const Status added = add_members(*pods, context, job); !added) return added.error();
  job.title = title_of_file(job);
  return job;
}

Result<Job> read_cluster(const ExplainRequest& request, const Connection& cluster, ContextReader& context) {
  const auto found = list_job_pods(*cluster.client, cluster.name_space, request.target.name);
  if (!found) return found.error();
  Job job{{cluster.name_space, request.target.name, {}}, {}};
  if (const Status added = add_members(found->pods, context, job); !added) return added.error();
  if (found->several) {
    job.title.unread.push_back("Pods of several objects of this name are taken together, by " +
                               join(found->labels) + ".");
  }
  return job;
}

}  // namespace

int explain_job(const ExplainRequest& request, const Console& terminal) {
  Connection cluster;
  std::optional<ContextReader> context;
  if (const program::Failure failure = find_context(request, terminal.in, cluster, context))
    return stop(terminal, failure);
  const auto job =
      cluster.client ? read_cluster(request, cluster, *context) : read_file(request, *context, terminal);
  if (!job) return stop(terminal, program::kNotSeen, job.error().message);
  const JobAnswer answer = answer_job(job->title.name, job->members);
  print_answer(terminal, answer, job->members, job->title);
  return program::code_of(answer.findings);
}

}  // namespace nccl_env::cli
