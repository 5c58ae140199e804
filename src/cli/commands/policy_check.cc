// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/severity.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

struct CheckArguments {
  std::vector<std::string> files;
  bool allow_code_paths = false;
};

struct CheckFinding {
  std::string file;
  std::string policy;  // "": of the file
  Severity severity = Severity::Error;
  std::string path;  // in the policy; "": of it as a whole
  std::string message;
};

class Checker {
 public:
  Checker(PolicyOptions options, std::istream& in) : options_(options), in_(in) {}

  void check_file(const std::string& file) {
    const auto text = program::read_text(file, in_);
    all_seen_ = all_seen_ && text;
    const auto documents = text ? parse_documents(*text, file) : text.error();
    if (!documents) return add({"", "", Severity::Error, "", documents.error().message});  // names the file
    const int before = policies_;
    for (const Json& document : *documents) check_document(file, document);
    if (policies_ == before) add({file, "", Severity::Error, "", "holds no NcclPolicy"});
  }

  void print(const Console& terminal) const {
    if (is_document(terminal.form)) {
      print_document(to_json(), terminal.form, terminal.out);
    } else {
      for (const CheckFinding& finding : findings_) terminal.out << printable(text_of(finding)) << '\n';
    }
    terminal.err << "nccl-env: policies: " << policies_ << ", errors: " << count(Severity::Error)
                 << ", warnings: " << count(Severity::Warning) << '\n';
  }
  // kNotSeen comes first: findings in one file say nothing of another that could not be read.
  [[nodiscard]] program::ExitCode code() const {
    return !all_seen_ ? program::kNotSeen : good() ? program::kDone : program::kFinding;
  }

 private:
  [[nodiscard]] bool good() const { return count(Severity::Error) == 0; }
  void check_document(const std::string& file, const Json& document) {
    const std::string kind = text_at(document, "kind");
    if (kind == "NcclPolicy") return check_policy(file, document);
    const Json& items = member(document, "items");
    if (!kind.ends_with("List") || !items.is_array()) return;
    for (const Json& item : items) {
      if (text_at(item, "kind") == "NcclPolicy") check_policy(file, item);
    }
  }

  void check_policy(const std::string& file, const Json& object) {
    ++policies_;
    const std::string name(text_at(member(object, "metadata"), "name"));
    const std::string policy = name.empty() ? "(no name)" : name;
    for (const PolicyFinding& finding : read_policy(object, options_).findings) {
      const bool error = finding.severity == PolicyFinding::Severity::Error;
      add({file, policy, error ? Severity::Error : Severity::Warning, finding.path, finding.message});
    }
    if (!name.empty() && !names_.insert(name).second)
      add({file, policy, Severity::Error, "metadata.name", "given twice; the webhook ignores the second"});
  }

  void add(CheckFinding finding) { findings_.push_back(std::move(finding)); }
  [[nodiscard]] std::ptrdiff_t count(Severity severity) const {
    return std::count_if(findings_.begin(), findings_.end(),
                         [&](const CheckFinding& finding) { return finding.severity == severity; });
  }

  static std::string text_of(const CheckFinding& finding) {
    std::string text;
    for (const std::string& part : {finding.file, finding.policy}) text += part.empty() ? "" : part + ": ";
    if (!finding.file.empty()) text += std::string(to_string(finding.severity)) + ": ";
    return text + (finding.path.empty() ? "" : finding.path + ": ") + finding.message;
  }
  [[nodiscard]] nlohmann::ordered_json to_json() const {
    auto findings = nlohmann::ordered_json::array();
    for (const CheckFinding& finding : findings_) {
      findings.push_back({{"file", finding.file},
                          {"policy", finding.policy},
                          {"severity", to_string(finding.severity)},
                          {"path", finding.path},
                          {"message", finding.message}});
    }
    return {{"good", good()},
            {"policies", policies_},
            {"errors", count(Severity::Error)},
            {"warnings", count(Severity::Warning)},
            {"findings", std::move(findings)}};
  }

  const PolicyOptions options_;
  std::istream& in_;
  std::set<std::string> names_;
  std::vector<CheckFinding> findings_;
  int policies_ = 0;
  bool all_seen_ = true;
};

int check_policies(const CheckArguments& arguments, const Console& terminal) {
  const auto& [files, allow_code_paths] = arguments;
  Checker checker({allow_code_paths}, terminal.in);
  for (const std::string& file : files) checker.check_file(file);
  checker.print(terminal);
  return checker.code();
}

}  // namespace

void add_policy_check(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"check",
       "Print what is wrong with policies, a line for each finding: FILE: POLICY: error|warning: "
       "PATH: MESSAGE. Exit 1 if one is an error, 4 if a file cannot be read; warnings alone exit 0.",
       "nccl-env policy check policies/*.yaml"},
      check_policies);
  app.add_option("FILE", to.files, "Files with NcclPolicies; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::cli
