// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cluster/objects.h"
#include "commands/doctor.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/selection_print.h"
#include "nccl_env/program/table_view.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr std::size_t kGap = 2;
// The share of 80 columns that each may take on a terminal, so that a line stays a line.
constexpr std::size_t kMostWidths[] = {1, 20, 18, 4, 11, 4};
constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kNameColumn = 1;

struct NodesArguments {
  std::vector<std::string> env;  // NAME=VALUE, of a process on the node
  std::string nccl_version;      // "": the policy's least, else the newest that is known
  DiagnosisArguments diagnosis;  // the first of its files may be a node's name
};

// A node, and what the doctor found on it and on its pool, the worst first.
struct JudgedNode {
  const NodeState& state;
  std::vector<Finding> findings;

  [[nodiscard]] bool is_odd() const { return !is_good(findings); }
};

std::vector<JudgedNode> judged_nodes(const Diagnosis& diagnosis) {
  std::vector<JudgedNode> judged;
  FindingsByNode findings = findings_by_node(diagnosis);
  for (const NodeState& node : diagnosis.nodes) {
    JudgedNode& added = judged.emplace_back(JudgedNode{node, {}});
    for (const Finding* finding : findings[node.node]) added.findings.push_back(*finding);
  }
  return judged;
}

// "8x200G", "7x200G+1x100G"
std::string rates_text(const std::vector<double>& rates) {
  std::map<double, int, std::greater<>> counts;
  for (const double rate : rates) ++counts[rate];
  std::ostringstream text;
  const char* before = "";
  for (const auto& [rate, count] : counts) text << std::exchange(before, "+") << count << 'x' << rate << 'G';
  return rates.empty() ? "?" : text.str();
}

std::string age_text(const std::optional<std::chrono::seconds>& age) {
  if (!age) return "-";
  if (*age < -std::chrono::minutes(2)) return "-" + age_text(-*age);  // from the future
  const auto seconds = std::max<long>(0, age->count());
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

// "PortDown mlx5_1-8; StaleTable": joins findings of one code; with `sentence`, only those with the
// same sentence. Infos stand there if nothing else does.
std::string findings_text(const JudgedNode& node, bool sentence) {
  std::string text;
  for (auto at = node.findings.begin(); at != node.findings.end();) {
    const Finding& first = *at;
    if (node.is_odd() && first.severity == Severity::Info) break;  // the last: the worst come first
    std::vector<std::string> ports;
    for (; at != node.findings.end() && at->code == first.code; ++at) {
      if (sentence && at->sentence != first.sentence) break;
      for (const std::string& port : at->subject.parts) {
        if (ports.empty() || ports.back() != port) ports.push_back(port);
      }
    }
    text += (text.empty() ? "" : "; ") + std::string(to_string(first.code));
    if (!ports.empty()) text += " " + short_list(ports);
    if (sentence) text += ": " + first.sentence;
  }
  return text;
}

Row row_of(const JudgedNode& judged, bool wide) {
  const NodeState& node = judged.state;
  std::string hcas = wide ? node.hca_list : short_list(node.hcas);
  if (hcas.empty()) hcas = node.reason.empty() ? "-" : "- " + node.reason;
  Row row{judged.is_odd() ? "!" : "",
          node.node,
          std::move(hcas),
          node.gid_index      ? std::to_string(*node.gid_index)
          : node.gid_searched ? "auto"
                              : "-",
          node.hcas.empty() ? "-" : rates_text(node.rates),
          age_text(node.age)};
  if (wide) row.push_back(node.pool.empty() ? "-" : node.pool);
  std::vector<std::string> said;
  if (!judged.findings.empty()) said.push_back(findings_text(judged, wide));
  if (!node.host_reason.empty()) said.push_back("hostNetwork pods get no list: " + node.host_reason);
  if (std::string unknown = unknown_text({&node, 1}); !unknown.empty()) said.push_back(std::move(unknown));
  row.push_back(join(said, "; "));
  return row;
}

// Cuts where names are alike: nodes differ in the first label, at its end ("gke-a100-pool-7f3c"), or in all
// of it ("ip-10-0-3-7.ec2.internal").
std::string cut_name(const std::string& name, std::size_t width) {
  const std::string label = name.substr(0, name.find('.'));
  if (name.size() <= width || label.size() + 2 <= width) return cut(name, width);
  const std::size_t half = (width - 2) / 2;
  return label.substr(0, half) + ".." + label.substr(label.size() - half);
}

std::string cut_cell(const std::string& text, std::size_t column, std::size_t width) {
  if (column >= std::size(kMostWidths)) return text;
  const std::size_t most = kMostWidths[column] * std::max(width, kTextWidth) / kTextWidth;
  return column == kNameColumn ? cut_name(text, most) : cut(text, most);
}

// Prints rows in columns, each as wide as its widest cell; a row is exactly one line. `width`: a terminal's;
// longer lines are cut to it. 0: no line is cut.
void print_rows(std::vector<Row> rows, std::size_t width, std::ostream& out) {
  if (width > 0) width = std::max(width, kLeastWidth);
  std::vector<std::size_t> widths(rows.front().size(), 1);  // the first, the mark's, may be empty in all rows
  for (Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      if (width > 0) row[i] = cut_cell(row[i], i, width);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      row[i].resize(widths[i] + (i == 0 ? 1 : kGap), ' ');
      line += row[i];
    }
    line += width == 0 ? row.back() : cut(row.back(), width - std::min(width - 3, line.size()));
    out << line.erase(line.find_last_not_of(' ') + 1) << '\n';
  }
}

OrderedJson node_json(const JudgedNode& judged) {
  const NodeState& node = judged.state;
  return {{"node", node.node},
          {"pool", text_or_null(node.pool)},
          {"hcas", node.hcas},
          {"hcaList", text_or_null(node.hca_list)},
          {"reason", text_or_null(node.reason)},
          {"hostReason", text_or_null(node.host_reason)},
          {"expectedPorts", node.expected},
          {"gidIndex", value_or_null(node.gid_index)},
          {"gidSearched", node.gid_searched},
          {"ratesGbps", node.rates},
          {"unknownStates", node.unknown_states},
          {"ageSeconds", node.age ? OrderedJson(node.age->count()) : OrderedJson()},
          {"stale", node.stale},
          {"findings", to_json(judged.findings)}};
}

int list_nodes(const std::vector<JudgedNode>& nodes, const Console& terminal) {
  if (is_document(terminal.form)) {
    print_document(array_of(nodes, node_json), terminal.form, terminal.out);
  } else {
    const bool wide = terminal.form == "wide";
    std::vector<Row> rows{{"", "NODE", "HCAS", "GID", "RATE", "AGE", "POOL", "FINDINGS"}};
    if (!wide) rows.front().erase(rows.front().end() - 2);
    for (const bool odd : {true, false}) {
      for (const JudgedNode& node : nodes) {
        if (node.is_odd() == odd) rows.push_back(row_of(node, wide));
      }
    }
    print_rows(std::move(rows), wide ? 0 : terminal.width, terminal.out);
    const auto odd = std::ranges::count_if(nodes, &JudgedNode::is_odd);
    const auto told = std::ranges::count_if(nodes, [](const auto& node) { return !node.findings.empty(); });
    terminal.out << count_of(nodes.size(), "node") << ", " << told << " with findings";
    if (told > odd) terminal.out << ", " << told - odd << " of them with info alone";
    terminal.out << '\n';
  }
  return program::kDone;
}

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
      err << "nccl-env: --env " << printable(problem->sentence) << '\n';
  }
}

// A node of which nothing is known: it has no table, although nothing says that it should have one, or it is
// not there.
std::string unknown_node(const SourceArguments& source, const program::Tables& tables,
                         const std::string& name) {
  if (source.files.empty() && source.store.empty()) {
    const auto client = connect_cluster(source.cluster);
    if (client && look_up(**client, ask_node(name)).outcome == LookUp::Outcome::Found)
      return "node " + name +
             " has no NodeFabric, so its pods get no values: does the agent run there? A node without RDMA "
             "devices needs none";
  }
  std::vector<std::string_view> names;
  for (const auto& table : tables) names.push_back(table->name);
  const std::string_view near = nearest(name, names);
  return "there is no NodeFabric " + name + (near.empty() ? "" : ": do you mean " + std::string(near) + "?");
}

// Judges by the first policy that finds the fabric, else by the first: as the doctor does.
void judge_by(const DoctorInput& input, const NodeFabric& table, NodeAnswer& into) {
  const auto view_by = [&](const NcclPolicy& policy) {
    return program::view_table(table, policy, input.now, input.max_table_age);
  };
  into.policy = std::make_shared<const NcclPolicy>(program::policy_of_nobody());
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
  text += findings.empty() ? "no findings" + unknown + "\n"
                           : verdict_of(findings) + "\n" + render_sections(findings);
  if (!view.table) return text;
  text += "\n" +
          (policy->name.empty() ? std::string("without a policy") : "by policy " + printable(policy->name)) +
          "\n" + program::render_text(view);
  return text + "\nNCCL " + format_nccl_version(version) + " alone" +
         (assumed ? " (assumed: --nccl-version)" : "") + "\n" + nccl_env::render_text(selection, 2);
}

OrderedJson to_json(const NodeAnswer& answer, const std::string& name) {
  OrderedJson json{{"node", name},
                   {"good", is_good(answer.findings)},
                   {"findings", to_json(answer.findings)},
                   {"policy", text_or_null(answer.policy ? answer.policy->name : "")},
                   {"table", nullptr},
                   {"ncclVersion", nullptr},
                   {"ncclAlone", nullptr}};
  if (!answer.view.table) return json;
  json["table"] = program::to_json(answer.view);
  json["ncclVersion"] = format_nccl_version(answer.version);
  json["ncclAlone"] = to_json(answer.selection);
  return json;
}

NodeAnswer answer_of(const JudgedNode& judged, const DoctorInput& input, const NcclEnv& env,
                     const std::optional<NcclVersion>& version) {
  const auto& [state, findings] = judged;
  NodeAnswer answer;
  answer.findings = findings;
  if (const std::string unknown = unknown_text({&state, 1}); !unknown.empty())
    answer.unknown = " (" + unknown + ")";
  const auto table = std::ranges::find(input.tables, state.node, [](const auto& each) { return each->name; });
  if (table == input.tables.end()) return answer;
  judge_by(input, **table, answer);
  answer.version = version.value_or(answer.policy->min_nccl.value_or(kNewestNccl));
  answer.assumed = !version;
  answer.selection = nccl_select(**table, env, answer.version);
  return answer;
}

bool names_node(const std::string& word) {
  std::error_code ignored;
  const std::filesystem::path file(word);
  return is_dns_subdomain(word) && file.extension() != ".yaml" && file.extension() != ".json" &&
         !std::filesystem::exists(file, ignored);
}

int tell_nodes(const NodesArguments& arguments, const Console& terminal) {
  auto [entries, nccl_version, asked] = arguments;
  std::string name;
  if (std::vector<std::string>& files = asked.source.files; !files.empty() && names_node(files.front())) {
    name = files.front();
    files.erase(files.begin());
  } else if (!entries.empty() || !nccl_version.empty()) {
    return stop(terminal, program::kUsage, "--env and --nccl-version: only with a node's NAME");
  }
  const auto version = program::read_nccl_version(nccl_version);
  if (!version) return stop(terminal, program::kUsage, version.error().message);
  const auto env = read_env(entries);
  if (!env) return stop(terminal, program::kUsage, env.error().message);
  Diagnosis diagnosis;
  DoctorInput input;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  tell_refused(diagnosis, terminal.err);
  const std::vector<JudgedNode> nodes = judged_nodes(diagnosis);
  if (name.empty()) return list_nodes(nodes, terminal);
  const auto node = std::ranges::find(nodes, name, [](const JudgedNode& each) { return each.state.node; });
  if (node == nodes.end())
    return stop(terminal, program::kNothing, unknown_node(asked.source, input.tables, name));
  const NodeAnswer answer =
      answer_of(*node, input, *env, nccl_version.empty() ? std::nullopt : std::optional(*version));
  const NodeFabric* const table = answer.view.table;
  if (table) remark_on(*env, terminal.err);
  print_answer(terminal, answer, name);
  const bool nothing = table && table->ports.empty() && is_good(answer.findings);
  return nothing ? program::kNothing : program::code_of(answer.findings);
}

}  // namespace

void add_nodes(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"nodes",
       "Show each node on one line. Its fabric HCAs, GID index (auto: NCCL finds it), rate and the table's "
       "age; ! marks those with an error or a warning of the doctor, which come first. Exit 0 whatever is "
       "found: `doctor` judges. With a node's NAME all of this one: what the doctor found on it, its ports "
       "and GID rows with their verdicts, what hostNetwork pods get there, and what NCCL takes by its own "
       "rules. "
       "Exit 1 if there is something to act on.",
       "nccl-env nodes gpu-1 --nccl-version 2.21.5 --env NCCL_IB_HCA=mlx5",
       {"text", "wide"}},
      tell_nodes);
  add_diagnosis_options(app, to.diagnosis);
  app.get_option("FILE")->description(
      "NAME of a node, and files with NodeFabrics; - is the standard input. With neither FILEs nor --store "
      "the cluster is asked");
  app.add_option("--env", to.env, "For NCCL's own choice: a variable of the process; may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace nccl_env::cli
