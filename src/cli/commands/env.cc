// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "commands/commands.h"
#include "commands/machine.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/explain/pod_print.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Puts `before` before each of the special characters.
std::string escaped(std::string_view text, std::string_view special, std::string_view before) {
  std::string out;
  for (const char c : text) out.append(special.find(c) == special.npos ? "" : before).append(1, c);
  return out;
}

// In double quotes, for systemd and YAML, which both take \" and \\.
std::string in_double_quotes(std::string_view text) {
  return "\"" + escaped(text, "\"\\", "\\") + "\"";
}

// A TaskProlog that fails stops the job, which would run without us.
constexpr std::string_view kSlurm = "slurm";

// One way to write an environment into a file; each takes # for a comment at a line's beginning.
struct Form {
  std::string_view word;
  std::string_view head;  // before the first line
  std::string (*line)(const Value& value);
};

constexpr Form kEnvForms[] = {
    {"sh", "",
     [](const Value& value) {  // in single quotes, in which a shell expands nothing
       return "export " + value.name + "='" + escaped(*value.value, "'", "'\\'") + "'";
     }},
    // Lines of a TaskProlog, whose values Slurm takes as they stand; it leaves other lines alone.
    {kSlurm, "", [](const Value& value) { return "export " + value.name + "=" + *value.value; }},
    {"dotenv", "", [](const Value& value) { return value.name + "=" + *value.value; }},
    {"systemd", "[Service]\n",
     [](const Value& value) {
       return "Environment=" + in_double_quotes(value.name + "=" + escaped(*value.value, "%", "%"));
     }},
    {"compose", "environment:\n",
     [](const Value& value) {
       return "  " + value.name + ": " + in_double_quotes(escaped(*value.value, "$", "$"));
     }},
};

std::string comment(std::string_view text) {
  return "# " + printable(text) + "\n";
}

// Missing for a reason of the machine, such as rails that nothing tells from the others.
bool is_missed(const Value& omitted) {
  return scope_of(*omitted.reason) == ReasonScope::Node;
}

// Variables that are missing for one reason.
struct Missing {
  const Value& first;
  std::vector<std::string_view> names;
};

// Groups the variables by their reason; one that follows a variable of NCCL's stands behind it.
std::vector<Missing> missing(const MachineEnv& env) {
  std::vector<Missing> all;
  for (const Value& value : env.omitted) {
    const auto same = std::ranges::find_if(all, [&](const Missing& each) {
      return each.first.reason == value.reason &&
             (each.first.detail == value.detail || each.first.name == followed(value.name));
    });
    same == all.end() ? all.push_back({value, {value.name}}) : same->names.push_back(value.name);
  }
  return all;
}

// First what there is to act on; then the values, and why others are not among them. A sentence stands once,
// and without a policy no reason speaks of one.
std::string render(const MachineEnv& env, const Form& form) {
  std::string text, values, others;
  std::set<std::string_view> remedies;
  bool no_list = false;  // a finding says why
  for (const Finding& finding : env.findings) {
    const std::string_view remedy = remedy_of(finding);
    no_list = no_list || finding.code == Code::NoList;
    if (finding.severity == Severity::Info) {
      others += comment(finding.sentence + " " + std::string(remedy));
      continue;
    }
    text += comment(std::string(to_string(finding.severity)) + " " + std::string(to_string(finding.code)) +
                    ": " + finding.sentence);
    if (remedies.insert(remedy).second) text += comment("  " + std::string(remedy));
  }
  for (const auto& [value, names] : missing(env)) {
    const bool list = value.name == variable::kIbHca;
    const bool named = env.by_policy || value.reason != Reason::OmittedByPolicy;
    const std::string line =
        comment(join(names) + (named ? ": " + std::string(to_string(*value.reason)) : "") +
                (list && no_list ? "" : ": " + why_text(value)));
    if (!is_missed(value)) {
      others += line;
      continue;
    }
    const std::string_view remedy = remedy_here(*value.reason);
    text += line;
    if (list) text += comment("  " + env.ports);
    if (remedies.insert(remedy).second) text += comment("  " + std::string(remedy));
  }
  for (const Value& value : env.given) values += form.line(value) + "\n";
  if (!values.empty()) text += std::string(form.head) + values;
  if (!env.unlisted.empty()) text += comment(env.unlisted);
  text += others;
  if (!env.problems.empty())
    text += comment(count_of(env.problems.size(), "attribute") + " could not be read: -o json names them");
  return text;
}

OrderedJson to_json(const MachineEnv& env) {
  OrderedJson given = OrderedJson::object(), omitted = OrderedJson::array();
  for (const Value& value : env.given) given[value.name] = *value.value;
  for (const Value& value : env.omitted) {
    omitted.push_back({{"name", value.name},
                       {"reason", to_string(*value.reason)},
                       {"detail", why_text(value)},
                       {"remedy", remedy_here(*value.reason)}});
  }
  return {{"good", is_good(env.findings) && std::ranges::none_of(env.omitted, is_missed)},
          {"env", std::move(given)},
          {"omitted", std::move(omitted)},
          {"findings", nccl_env::to_json(env.findings)},
          {"unread", env.problems}};
}

int print_environment(const MachineArguments& machine, const Console& terminal) {
  MachineEnv env;
  if (const program::Failure failure = decide_environment(machine, terminal.in, env))
    return stop(terminal, failure);
  const bool prolog = terminal.form == kSlurm;
  if (!env.nothing.empty()) {
    if (!prolog) return stop(terminal, program::kNothing, env.nothing);
    terminal.out << comment(env.nothing);
    return program::kDone;
  }
  if (!env.disabled.empty()) terminal.err << "nccl-env: " << printable(env.disabled) << '\n';
  if (is_document(terminal.form)) {
    print_document(to_json(env), terminal.form, terminal.out);
  } else {
    terminal.out << render(env, *std::ranges::find(kEnvForms, terminal.form, &Form::word));
  }
  const auto missed = std::ranges::find_if(env.omitted, is_missed);
  const bool well = missed == env.omitted.end() && program::code_of(env.findings) == program::kDone;
  if (prolog || well) return program::kDone;
  // `eval` shows no comment and loses the exit code.
  if (!terminal.width)
    terminal.err << "nccl-env: "
                 << printable(is_good(env.findings) ? missed->name + ": " + why_text(*missed)
                                                    : env.findings.front().sentence)
                 << '\n';
  return program::kFinding;
}

}  // namespace

void add_env(CommandLine& line, CLI::App& parent) {
  std::vector<std::string> forms;
  for (const Form& form : kEnvForms) forms.emplace_back(form.word);
  auto [app, to] = line.command(
      parent,
      {"env",
       "Print what to set for NCCL on this machine, without a cluster: by the webhook's rules, from its RDMA "
       "devices. What is set already, here or in nccl.conf, stays; why a value is missing stands in a "
       "comment. Exit 1 if something set is wrong or a value is not certain, 3 without RDMA devices other "
       "than AWS EFA's.",
       "nccl-env env -o dotenv > nccl.env", std::move(forms)},
      print_environment);
  add_machine_options(app, to);
}

}  // namespace nccl_env::cli
