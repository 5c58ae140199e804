// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "commands/node.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr std::size_t kGap = 2;
// The share of 80 columns that each may take on a terminal, so that a line stays a line.
constexpr std::size_t kMostWidths[] = {1, 20, 18, 3, 11, 4};
constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kNameColumn = 1;

std::string number_text(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

// "8x200G", "7x200G+1x100G"
std::string rates_text(const std::vector<double>& rates) {
  std::map<double, int, std::greater<>> counts;
  for (const double rate : rates) ++counts[rate];
  std::string text;
  for (const auto& [rate, count] : counts)
    text += (text.empty() ? "" : "+") + std::to_string(count) + "x" + number_text(rate) + "G";
  return text.empty() ? "?" : text;
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

bool is_odd(const std::vector<const Finding*>& findings) {
  return findings.front()->severity != Severity::Info;  // the worst comes first
}

// "PortDown mlx5_1-8; StaleTable": joins findings of one code; with `sentence`, only those with the
// same sentence. Infos stand there if nothing else does.
std::string findings_text(const std::vector<const Finding*>& findings, bool sentence) {
  std::string text;
  const bool odd = is_odd(findings);
  for (auto at = findings.begin(); at != findings.end();) {
    const Finding& first = **at;
    if (odd && first.severity == Severity::Info) break;  // the last: the worst come first
    std::vector<std::string> ports;
    for (; at != findings.end() && (*at)->code == first.code; ++at) {
      if (sentence && (*at)->sentence != first.sentence) break;
      for (const std::string& port : (*at)->subject.parts) {
        if (ports.empty() || ports.back() != port) ports.push_back(port);
      }
    }
    text += (text.empty() ? "" : "; ") + std::string(to_string(first.code));
    if (!ports.empty()) text += " " + short_list(ports);
    if (sentence) text += ": " + first.sentence;
  }
  return text;
}

Row row_of(const NodeState& node, const FindingsByNode& findings, bool wide) {
  const auto found = findings.find(node.node);
  const bool odd = found != findings.end() && is_odd(found->second);
  std::string hcas = wide ? node.hca_list : short_list(node.hcas);
  if (hcas.empty()) hcas = node.reason.empty() ? "-" : "- " + node.reason;
  Row row{odd ? "!" : "",
          node.node,
          std::move(hcas),
          node.gid_index ? std::to_string(*node.gid_index) : "-",
          node.hcas.empty() ? "-" : rates_text(node.rates),
          age_text(node.age)};
  if (wide) row.push_back(node.pool.empty() ? "-" : node.pool);
  std::string said = found == findings.end() ? "" : findings_text(found->second, wide);
  if (!node.host_reason.empty())
    said += (said.empty() ? "" : "; ") + std::string("hostNetwork pods get no list: ") + node.host_reason;
  if (node.unknown_states > 0)
    said += (said.empty() ? "" : "; ") + std::string("state not known for ") +
            std::to_string(node.unknown_states) + " of " + std::to_string(node.hcas.size());
  row.push_back(std::move(said));
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

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

// Prints rows in columns. Each column is as wide as its widest cell. A row is exactly one line.
class NodeColumns {
 public:
  // `width`: a terminal's; longer lines are cut to it. 0: no line is cut.
  NodeColumns(std::ostream& out, std::size_t width)
      : out_(out), width_(width == 0 ? 0 : std::max(width, kLeastWidth)) {}

  void print(std::vector<Row> rows) {
    for (Row& row : rows) {
      widths_.resize(row.size(), 1);  // the first is the mark's, which may be empty in all rows
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = printable(row[i]);
        if (width_ > 0 && i < std::size(kMostWidths)) row[i] = cut_cell(row[i], i);
        widths_[i] = std::max(widths_[i], row[i].size());
      }
    }
    for (const Row& row : rows) out_ << line_of(row) << '\n';
  }

 private:
  [[nodiscard]] std::string cut_cell(const std::string& text, std::size_t column) const {
    const std::size_t most = kMostWidths[column] * std::max(width_, kTextWidth) / kTextWidth;
    return column == kNameColumn ? cut_name(text, most) : cut(text, most);
  }
  [[nodiscard]] std::string line_of(const Row& row) const {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += padded(row[i], widths_[i]) + std::string(i == 0 ? 1 : kGap, ' ');
    line += width_ == 0 ? row.back() : cut(row.back(), width_ - std::min(width_ - 3, line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  std::ostream& out_;
  const std::size_t width_;
  std::vector<std::size_t> widths_;
};

OrderedJson node_json(const NodeState& node, const FindingsByNode& findings) {
  OrderedJson json = OrderedJson::object();
  json["node"] = node.node;
  json["pool"] = text_or_null(node.pool);
  json["hcas"] = node.hcas;
  json["hcaList"] = text_or_null(node.hca_list);
  json["reason"] = text_or_null(node.reason);
  json["hostReason"] = text_or_null(node.host_reason);
  json["expectedPorts"] = node.expected;
  json["gidIndex"] = value_or_null(node.gid_index);
  json["ratesGbps"] = node.rates;
  json["unknownStates"] = node.unknown_states;
  json["ageSeconds"] = node.age ? OrderedJson(node.age->count()) : OrderedJson();
  json["stale"] = node.stale;
  json["findings"] = OrderedJson::array();
  if (const auto found = findings.find(node.node); found != findings.end()) {
    for (const Finding* finding : found->second) json["findings"].push_back(to_json(*finding));
  }
  return json;
}

Row title_row(bool wide) {
  return wide ? Row{"", "NODE", "HCAS", "GID", "RATE", "AGE", "POOL", "FINDINGS"}
              : Row{"", "NODE", "HCAS", "GID", "RATE", "AGE", "FINDINGS"};
}

// Those with findings first.
std::vector<Row> rows_of(const Diagnosis& diagnosis, bool wide) {
  const FindingsByNode findings = findings_by_node(diagnosis);
  std::vector<Row> rows;
  for (const NodeState& node : diagnosis.nodes) rows.push_back(row_of(node, findings, wide));
  std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.front().empty(); });
  return rows;
}

int list_nodes(const DiagnosisArguments& asked, const Console& terminal) {
  Diagnosis diagnosis;
  DoctorInput input;
  if (const program::Failure failure = read_diagnosis(asked, terminal.in, diagnosis, input))
    return stop(terminal, failure);
  if (is_document(terminal.form)) {
    const FindingsByNode findings = findings_by_node(diagnosis);
    OrderedJson all = OrderedJson::array();
    for (const NodeState& node : diagnosis.nodes) all.push_back(node_json(node, findings));
    print_document(all, terminal.form, terminal.out);
  } else {
    const bool wide = terminal.form == "wide";
    std::vector<Row> rows = rows_of(diagnosis, wide);
    const auto odd = std::ranges::count_if(rows, [](const Row& row) { return !row.front().empty(); });
    const auto told = std::ssize(findings_by_node(diagnosis));
    const std::string sum =
        count_of(rows.size(), "node") + ", " + std::to_string(told) + " with findings" +
        (told > odd ? ", " + std::to_string(told - odd) + " of them with info alone" : "");
    rows.insert(rows.begin(), title_row(wide));
    NodeColumns(terminal.out, wide ? 0 : terminal.width).print(std::move(rows));
    terminal.out << sum << '\n';
  }
  tell_refused(diagnosis, terminal.err);
  return program::kDone;
}

bool names_node(const std::string& word) {
  std::error_code ignored;
  const std::filesystem::path file(word);
  return is_dns_subdomain(word) && file.extension() != ".yaml" && file.extension() != ".json" &&
         !std::filesystem::exists(file, ignored);
}

int tell_nodes(const NodesArguments& given, const Console& terminal) {
  NodesArguments arguments = given;
  std::vector<std::string>& files = arguments.diagnosis.source.files;
  if (!files.empty() && names_node(files.front())) {
    const std::string name = files.front();
    files.erase(files.begin());
    return tell_node(name, arguments, terminal);
  }
  const auto& [env, nccl_version, asked] = arguments;
  if (!env.empty() || !nccl_version.empty())
    return stop(terminal, program::kUsage, "--env and --nccl-version: only with a node's NAME");
  return list_nodes(asked, terminal);
}

}  // namespace

void add_nodes(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"nodes",
       "Show each node on one line. Its fabric HCAs, GID index, rate and the table's age; "
       "! marks those with an error or a warning of the doctor, which come first. Exit 0 whatever is found: "
       "`doctor` judges. With a node's NAME all of this one: what the doctor found on it, its ports and GID "
       "rows with their verdicts, what hostNetwork pods get there, and what NCCL takes by its own rules. "
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
