// SPDX-License-Identifier: Apache-2.0
// Pods of a cluster for tests, as webhook, Binding and init container leave them, and what is answered of
// them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/builders.h"
#include "core/pods.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/judge/explain/job.h"
#include "nccl_env/judge/explain/pod_answer.h"
#include "nccl_env/judge/explain/pod_print.h"
#include "nccl_env/judge/explain/template_answer.h"
#include "support/golden.h"
#include "support/matchers.h"

namespace nccl_env::tests {

// A node with RoCE rails stem1, stem2, …, each with its address at the index.
inline NodeFabric rails_node(int rails, int index = 3, const std::string& name = "gpu-1",
                             const std::string& stem = "mlx5_") {
  NodeFabric node;
  node.name = name;
  node.time = kNow;
  for (int rail = 1; rail <= rails; ++rail) {
    const std::string r = std::to_string(rail);
    node.ports.push_back(roce_port(stem + r, "eth" + r, "10.0." + r + ".1"));
    node.ports.back().gids->back().index = index;
  }
  return node;
}

// Bound to gpu-1, whose table this is.
inline Json bound(Json object, const NcclPolicy& policy, const NodeFabric* table) {
  object["spec"]["nodeName"] = "gpu-1";
  return bind_to_node(std::move(object), plan_binding(std::make_shared<const NcclPolicy>(policy), "gpu-1",
                                                      table, NodeContext{kNow}));
}

// The state of an init container that has ended with this message.
inline Json said(const std::string& message, int code = 0) {
  return {
      {"terminated", {{"exitCode", code}, {"reason", code ? "Error" : "Completed"}, {"message", message}}}};
}
// Or with what it found.
inline Json said(ConstantMap values, std::vector<Value> omitted = {},
                 std::vector<std::string> problems = {}) {
  Resolution found;
  found.values = std::move(values);
  found.omitted = std::move(omitted);
  found.problems = std::move(problems);
  return said(render_message(found));
}

// With the policy of its namespace, and the table of its node.
inline PodSurroundings opted_in(const NcclPolicy& policy) {
  PodSurroundings around;
  around.context.now = kNow;
  around.namespace_policy = policy.name;
  around.policy = std::make_shared<const NcclPolicy>(policy);
  return around;
}
inline PodSurroundings all_readable(const NcclPolicy& policy, const NodeFabric& table) {
  PodSurroundings around = opted_in(policy);
  around.table_known = true;
  around.table = std::make_shared<const NodeFabric>(table);
  return around;
}

// Calls `use` with the pod and its record.
template <class Use>
auto with_record(const Json& object, Use use) {
  ReviewParser parser;
  const std::string text = object.dump();
  const Result<Pod> parsed = parser.parse_pod(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return use(*parsed, read_pod_record(*parsed, object));
}

struct Answered : AnsweredPod {
  [[nodiscard]] std::string text() const {
    const std::string title = around.exists ? "pod " + object_name(record.name_space, record.name) : "";
    return render_text(answer, record, around, title);
  }
  [[nodiscard]] nlohmann::ordered_json document() const { return to_json(answer, record, around); }
};
inline Answered ask_as_it_is(const Json& object, PodSurroundings around = {}) {
  around.context.now = kNow;
  return with_record(object, [&](const Pod& pod, const PodRecord& record) {
    return Answered{{record, answer_pod(pod, record, around), around}};
  });
}

// A pod that has what RDMA needs beside the device.
inline Answered ask(const Json& object, const PodSurroundings& around = {}) {
  return ask_as_it_is(equipped(object), around);
}

// Checks what is decided; what is told of it stands in the golden.
inline void expect_told(const std::string& title, const Answered& asked, PodState state,
                        bool finding = false) {
  EXPECT_EQ(to_string(asked.answer.state), to_string(state)) << title;
  EXPECT_EQ(!asked.answer.findings.empty(), finding) << title;
  std::string told = asked.answer.sentence + "\n" + asked.answer.remedy;
  for (const std::string& note : asked.answer.notes) told += "\n" + note;
  expect_golden(title, told);
}

// What comes of a template; without a table, before it has a node.
inline Answered ask_template(const Json& object, const NcclPolicy& policy, const NodeFabric* table,
                             NcclVersion version = {2, 21, 5}, const PlanOptions& options = {}) {
  ReviewParser parser;
  const std::string text = object.dump();
  const Result<Pod> parsed = parser.parse_pod(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  const Plan plan = plan_pod(*parsed, policy, options);
  PodSurroundings around = opted_in(policy);
  around.version = version;
  TemplateInput input{*parsed, object, plan, around, nullptr, options};
  if (!table) return {answer_template(input)};
  input.around.table = std::make_shared<const NodeFabric>(*table);
  input.around.node = table->name;
  const BindingPlan binding = plan_binding(around.policy, table->name, table, around.context);
  input.binding = &binding;
  return {answer_template(input)};
}

struct AnsweredJob {
  std::vector<AnsweredPod> members;
  JobAnswer answer;
  [[nodiscard]] std::string text() const { return render_text(answer, members, {"ml", "train", {}}); }
};
inline AnsweredJob ask_job(const std::vector<Json>& objects, const PodSurroundings& around = {}) {
  AnsweredJob asked;
  for (const Json& object : objects) asked.members.push_back(ask(object, around));
  asked.answer = answer_job("train", asked.members);
  return asked;
}

// "error MissedAtBinding worker-2: sentence"
inline std::vector<std::string> texts_of(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    std::string text = std::string(to_string(finding.severity)) + " " + std::string(to_string(finding.code));
    for (const std::string& part : finding.subject.parts) text += " " + part;
    texts.push_back(text + ": " + finding.sentence);
  }
  return texts;
}

// "error MissedAtBinding worker-2" of each finding; the golden holds the first sentence.
inline std::vector<std::string> told(const AnsweredJob& asked, const std::string& input = {}) {
  input.empty() ? expect_golden(asked.answer.sentence) : expect_golden(input, asked.answer.sentence);
  std::vector<std::string> codes;
  for (const std::string& text : texts_of(asked.answer.findings))
    codes.push_back(text.substr(0, text.find(':')));
  return codes;
}

}  // namespace nccl_env::tests
