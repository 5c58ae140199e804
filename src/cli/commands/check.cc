// SPDX-License-Identifier: Apache-2.0
#include "commands/check.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

struct CheckArguments {
  std::vector<std::string> files;
  bool allow_code_paths = false;
};

class Checker {
 public:
  Checker(const CheckArguments& arguments, const Terminal& terminal)
      : options_{arguments.allow_code_paths}, terminal_(terminal) {}

  void check_file(const std::string& file) {
    const auto documents = read_documents(file, terminal_.in);
    if (!documents) return tell_error(documents.error().message);
    const int before = policies_;
    for (const Json& document : *documents) check_document(file, document);
    if (policies_ == before) tell_error(file + ": error: holds no NcclPolicy");
  }

  int finish() {
    terminal_.err << "nccl-env: policies: " << policies_ << ", errors: " << errors_
                  << ", warnings: " << warnings_ << '\n';
    return errors_ == 0 ? kDone : kRefused;
  }

 private:
  void check_document(const std::string& file, const Json& document) {
    const std::string kind = text_at(document, "kind");
    if (kind == "NcclPolicy") return check_policy(file, document);
    if (!kind.ends_with("List") || !document.contains("items") || !document["items"].is_array()) return;
    for (const Json& item : document["items"]) {
      if (text_at(item, "kind") == "NcclPolicy") check_policy(file, item);
    }
  }

  void check_policy(const std::string& file, const Json& object) {
    ++policies_;
    const auto metadata = object.find("metadata");
    const std::string name = metadata == object.end() ? std::string() : text_at(*metadata, "name");
    const std::string where = file + ": " + (name.empty() ? "(no name)" : name) + ": ";
    for (const PolicyFinding& finding : read_policy(object, options_).findings) {
      const std::string what = finding.path + ": " + finding.message;
      if (finding.severity == PolicyFinding::Severity::Error) {
        tell_error(where + "error: " + what);
      } else {
        ++warnings_;
        terminal_.out << printable(where + "warning: " + what) << '\n';
      }
    }
    if (!name.empty() && !names_.insert(name).second)
      tell_error(where + "error: metadata.name: given twice; the webhook ignores the second");
  }

  void tell_error(const std::string& line) {
    ++errors_;
    terminal_.out << printable(line) << '\n';
  }

  const PolicyOptions options_;
  const Terminal& terminal_;
  std::set<std::string> names_;
  int policies_ = 0;
  int errors_ = 0;
  int warnings_ = 0;
};

int check_policies(const CheckArguments& arguments, const Terminal& terminal) {
  Checker checker(arguments, terminal);
  for (const std::string& file : arguments.files) checker.check_file(file);
  return checker.finish();
}

}  // namespace

void add_check(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<CheckArguments>();
  CheckArguments& to = *arguments;
  CLI::App& app = line.command(
      parent,
      {"check",
       "Print what is wrong with policies, a line for each finding: FILE: POLICY: error|warning: "
       "PATH: MESSAGE. Exit 1 if one is an error; warnings alone exit 0.",
       "nccl-env policy check policies/*.yaml"},
      check_policies, arguments);
  add_code_paths(app, to.allow_code_paths);
  app.add_option("FILE", to.files, "Files with NcclPolicies; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::app
