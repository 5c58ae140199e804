// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pod, or as a list of a job's pods: an answer with a sentence for each, every rank once, and
// printable text. What a tenant may not read changes no value.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/judge/explain/job.h"
#include "nccl_env/judge/explain/pod_answer.h"
#include "nccl_env/judge/explain/pod_print.h"

namespace nccl_env::fuzz::asked_pods_fuzz {
namespace {

using Json = nlohmann::json;

void require_json(const nlohmann::ordered_json& json) {
  require(Json::accept(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)), "JSON");
}

PodSurroundings all_readable(const PodRecord& record) {
  PodSurroundings around;
  around.context = sample_context();
  around.policy = sample_policies().front();
  around.namespace_policy = around.policy->name;
  around.table_known = true;
  NodeFabric table = sample_table();
  table.name = record.node;
  around.table = std::make_shared<const NodeFabric>(std::move(table));
  return around;
}

void add_member(const Json& object, std::vector<AnsweredPod>& into) {
  ReviewParser parser;
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto pod = parser.parse_pod(text);
  if (!pod) return;
  const PodRecord record = read_pod_record(*pod, object);
  const PodSurroundings nothing, all = all_readable(record);
  for (const PodSurroundings* around : {&nothing, &all}) {
    PodAnswer answer = answer_pod(*pod, record, *around);
    require(!answer.sentence.empty(), "an answer has a sentence");
    require_shown(render_text(answer, record, *around, "pod"));
    require_json(to_json(answer, record, *around));
    if (around == &nothing) into.push_back({record, std::move(answer)});
  }
  require_shown(render_env(record));
}

}  // namespace

FUZZ_TARGET(asked_pods) {
  const Json document = Json::parse(input, nullptr, false);
  std::vector<AnsweredPod> members;
  if (document.is_array()) {
    for (const Json& object : document) add_member(object, members);
  } else if (document.is_object()) {
    add_member(document, members);
  }
  const JobAnswer answer = answer_job("job", members);
  require(answer.ranks.size() == members.size(), "every pod is a rank");
  require(!answer.sentence.empty(), "a job has a sentence");
  for (const Finding& finding : answer.findings) {
    require(!finding.subject.parts.empty() && !finding.sentence.empty(),
            "a finding names a rank and says why");
  }
  require_shown(render_text(answer, members, {"ml", "job", {}}));
  require_json(to_json(answer, members, {"ml", "job", {}}));
}

}  // namespace nccl_env::fuzz::asked_pods_fuzz
