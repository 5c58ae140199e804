// SPDX-License-Identifier: Apache-2.0
#include "commands/node.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cluster/connection.h"
#include "cluster/objects.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/explain/selection_print.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/program/table_view.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// All that is known of one node.
struct NodeAnswer {
  std::shared_ptr<const NcclPolicy> policy;  // by which the table is judged; without a name: inference
  program::TableView view;
  std::vector<Finding> findings;  // of the node, and of its pool
  NcclVersion version;
  bool assumed = true;  // the version
  NcclSelection selection;
  std::string unknown;  // " (…)": what no check could judge; "": nothing
};

Result<NcclEnv> read_env(const std::vector<std::string>& entries) {
  NcclEnv env;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) return Error{"--env " + entry + ": must be NAME=VALUE"};
    env.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

// Remarks on variables that NCCL would not know, and on values that it would read as others.
void remark_on(const NcclEnv& env, std::ostream& err) {
  for (const auto& [name, value] : env) {
    if (const auto problem = setting_problem(name, value))
      err << "nccl-env: --env " << printable(*problem) << '\n';
  }
}

Result<std::shared_ptr<const NodeFabric>> find_table(const program::Tables& tables, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& table : tables) {
    if (table->name == name) return table;
    names.push_back(table->name);
  }
  const std::string_view near = nearest(name, names);
  return Error{"there is no NodeFabric " + name +
               (near.empty() ? "" : ": do you mean " + std::string(near) + "?")};
}

// A node that nothing says should have a table: `unknown` is the sentence for one that is not there.
std::string without_table(const SourceArguments& source, const std::string& name,
                          const std::string& unknown) {
  if (!source.files.empty() || !source.store.empty()) return unknown;
  const auto client = connect_cluster(source.cluster);
  if (!client || look_up(**client, ask_node(name)).outcome != LookUp::Outcome::Found) return unknown;
  return "node " + name +
         " has no NodeFabric, so its pods get no values: does the agent run there? A node without RDMA "
         "devices needs none";
}

// Judges by the first policy that finds the fabric, else by the first: as the doctor does.
void judge_by(const DoctorInput& input, const NodeFabric& table, NodeAnswer& into) {
  const auto view_by = [&](const NcclPolicy& policy) {
    return program::view_table(table, policy, input.now, input.max_table_age);
  };
  into.policy = std::make_shared<const NcclPolicy>(policy_of_nobody());
  for (const auto& policy : input.policies) {
    program::TableView view = view_by(*policy);
    if (into.policy->name.empty() || (into.view.choice.ports.empty() && !view.choice.ports.empty())) {
      into.policy = policy;
      into.view = std::move(view);
    }
  }
  if (input.policies.empty()) into.view = view_by(*into.policy);
}

// "error PortDown mlx5_3, and 2 further findings"
std::string verdict_of(const std::vector<Finding>& findings) {
  const Finding& worst = findings.front();
  const std::vector<std::string>& ports = worst.subject.parts;
  return std::string(to_string(worst.severity)) + " " + std::string(to_string(worst.code)) +
         (ports.empty() ? "" : " " + short_list(ports)) +
         (findings.size() > 1 ? ", and " + count_of(findings.size() - 1, "further finding") : "");
}

// Without a table only what was found is known.
std::string render_text(const NodeAnswer& answer, const std::string& name) {
  const auto& [policy, view, findings, version, assumed, selection, unknown] = answer;
  std::string text = printable(name) + ": ";
  if (findings.empty()) {
    text += "nothing found" + unknown + "\n";
  } else {
    text += verdict_of(findings) + "\n" + render_sections(findings);
  }
  if (!view.table) return text;
  text += "\n" +
          (policy->name.empty() ? std::string("without a policy") : "by policy " + printable(policy->name)) +
          "\n" + program::render_text(view);
  return text + "\nNCCL " + format_nccl_version(version) + " alone" +
         (assumed ? " (assumed: --nccl-version)" : "") + "\n" + nccl_env::render_text(selection, 2);
}

OrderedJson to_json(const NodeAnswer& answer, const std::string& name) {
  OrderedJson json = OrderedJson::object();
  json["node"] = name;
  json["good"] = is_good(answer.findings);
  json["findings"] = to_json(answer.findings);
  if (!answer.view.table) {
    for (const char* known_by_table : {"policy", "table", "ncclVersion", "ncclAlone"})
      json[known_by_table] = nullptr;
    return json;
  }
  json["policy"] = text_or_null(answer.policy->name);
  json["table"] = program::to_json(answer.view);
  json["ncclVersion"] = format_nccl_version(answer.version);
  json["ncclAlone"] = to_json(answer.selection);
  return json;
}

}  // namespace

int tell_node(const std::string& name, const NodesArguments& arguments, const Console& terminal) {
  const auto& [entries, nccl_version, asked] = arguments;
  const auto version = program::read_nccl_version(nccl_version);
  if (!version) return stop(terminal, program::kUsage, version.error().message);
  const auto env = read_env(entries);
  if (!env) return stop(terminal, program::kUsage, env.error().message);
  Diagnosis diagnosis;
  DoctorInput input;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  tell_refused(diagnosis, terminal.err);
  const auto table = find_table(input.tables, name);
  const auto state = std::ranges::find(diagnosis.nodes, name, &NodeState::node);
  if (state == diagnosis.nodes.end())
    return stop(terminal, program::kNothing, without_table(asked.source, name, table.error().message));
  NodeAnswer answer;
  if (state->unknown_states > 0)
    answer.unknown = " (state not known for " + std::to_string(state->unknown_states) + " of " +
                     count_of(state->hcas.size(), "fabric port") + ")";
  FindingsByNode findings = findings_by_node(diagnosis);
  for (const Finding* finding : findings[name]) answer.findings.push_back(*finding);
  if (!table) {
    print_answer(terminal, answer, name);
    return program::code_of(answer.findings);
  }
  remark_on(*env, terminal.err);
  judge_by(input, **table, answer);
  answer.version = nccl_version.empty() ? answer.policy->min_nccl.value_or(*version) : *version;
  answer.assumed = nccl_version.empty();
  answer.selection = nccl_select(**table, *env, answer.version);
  print_answer(terminal, answer, name);
  const bool nothing = (*table)->ports.empty() && is_good(answer.findings);
  return nothing ? program::kNothing : program::code_of(answer.findings);
}

}  // namespace nccl_env::cli
