// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kPolicy = "NcclPolicy";
constexpr std::size_t kMostKinds = 4;

struct CheckArguments {
  std::vector<std::string> files;
  bool allow_code_paths = false;
};

class Checker {
 public:
  Checker(PolicyOptions options, std::istream& in) : options_(options), in_(in) {}

  // A directory counts for the manifests in it, as for kubectl.
  void check_place(const std::string& place) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(place, ignored)) return check_file(place);
    const auto files = store::manifests_in(place);
    all_seen_ = all_seen_ && files;
    if (!files) return refuse({}, files.error().message);
    if (files->empty()) return refuse(place, "holds no *.yaml, *.yml or *.json");
    for (const std::string& file : *files) check_file(file);
  }

  void check_file(const std::string& file) {
    const auto text = program::read_text(file, in_);
    all_seen_ = all_seen_ && text;
    std::vector<FieldLines> lines;
    const auto documents = text ? parse_documents(*text, file, &lines) : text.error();
    if (!documents) return refuse({}, documents.error().message);
    const int before = policies_;
    for (std::size_t i = 0; i < documents->size(); ++i) check_document(file, lines[i], (*documents)[i]);
    if (policies_ == before) refuse(file, "holds no NcclPolicy" + others_in(*documents));
  }

  // The worst first.
  void print(const Console& terminal) {
    std::ranges::stable_sort(findings_, {}, &Finding::severity);
    if (is_document(terminal.form)) {
      print_document(to_json(), terminal.form, terminal.out);
    } else {
      for (const Finding& finding : findings_) terminal.out << printable(text_of(finding)) << '\n';
    }
    terminal.err << "nccl-env: policies: " << policies_ << ", errors: " << count(findings_, Severity::Error)
                 << ", warnings: " << count(findings_, Severity::Warning) << '\n';
  }
  // kNotSeen comes first: findings in one file say nothing of another that could not be read.
  [[nodiscard]] program::ExitCode code() const {
    return all_seen_ ? program::code_of(findings_, Severity::Error) : program::kNotSeen;
  }

 private:
  // ", but kind NCCLPolicy: do you mean NcclPolicy?".
  static std::string others_in(const std::vector<Json>& documents) {
    std::vector<std::string> kinds;
    for (const Json& document : documents) {
      const std::string kind = text_at(document, "kind");
      if (!kind.empty()) kinds.push_back(kind + program::suggestion(kind, {kPolicy}));
    }
    return kinds.empty() ? "" : ", but kind " + join_some(kinds, kMostKinds);
  }

  // An object in a document of a file.
  struct Place {
    const std::string& file;
    const FieldLines& lines;
    std::string within;  // "items[2]."; "": the object is the document
  };

  // Whether the path is of a constant by which no pod uses the values that the policy gives all of them. The
  // webhook takes such a policy: pods run, by sockets.
  static bool turns_itself_off(const NcclPolicy& policy, std::string_view path) {
    return policy.hca.kind != HcaRule::Kind::Omit &&
           std::ranges::any_of(policy.env, [&](const auto& constant) {
             return path == "spec.env." + constant.first && turns_verbs_off(constant.first, constant.second);
           });
  }

  // Whether the path is of a list by which no node ever gives one: no variant has a fabric of its own.
  static bool leaves_nothing(const NcclPolicy& policy, std::string_view path) {
    return path == "spec.fabric.excludeHcas" && policy.hca.kind == HcaRule::Kind::FromNode &&
           std::ranges::none_of(policy.variants,
                                [](const PolicyVariant& variant) { return variant.fabric.has_value(); });
  }

  void check_document(const std::string& file, const FieldLines& lines, const Json& document) {
    const std::string kind = text_at(document, "kind");
    const Json& items = items_at(document, "items");
    if (kind == kPolicy) check_policy({file, lines, {}}, document);
    for (std::size_t i = 0; kind.ends_with("List") && i < items.size(); ++i) {
      if (text_at(items[i], "kind") == kPolicy)
        check_policy({file, lines, "items[" + std::to_string(i) + "]."}, items[i]);
    }
  }

  void check_policy(const Place& place, const Json& object) {
    ++policies_;
    const std::string name(text_at(member(object, "metadata"), "name"));
    const std::string policy = name.empty() ? "(no name)" : name;
    PolicyReading reading = read_policy(object, options_);
    for (Finding& finding : reading.findings) {
      finding.subject.name = policy;
      const std::string& path = finding.subject.path;
      if (reading.policy &&
          (turns_itself_off(*reading.policy, path) || leaves_nothing(*reading.policy, path)))
        finding.severity = Severity::Error;
      add_at(place, std::move(finding));
    }
    if (reading.policy && reading.policy->names(LinkLayer::Ethernet) && !reading.policy->min_nccl &&
        reading.policy->gid_index.kind == GidIndexRule::Kind::Auto)
      add_at(place, {Code::PolicyField,
                     Severity::Info,
                     {.kind = "NcclPolicy", .name = policy, .path = "spec.nccl.minVersion"},
                     "not said, which is right if all images have NCCL 2.21.5 or later; else write gidIndex: "
                     "Pin. From 2.23.4 on, said here, an image's own /etc/nccl.conf counts, too"});
    if (!name.empty() && !names_.insert(name).second)
      add_at(place, {Code::PolicyField,
                     Severity::Error,
                     {.kind = kPolicy, .name = policy, .path = "metadata.name"},
                     "given twice; the webhook ignores the second"});
  }

  void add_at(const Place& place, Finding finding) {
    finding.subject.file = place.file;
    finding.subject.line = line_of_field(place.lines, place.within + finding.subject.path);
    findings_.push_back(std::move(finding));
  }
  // `file`: "" where the sentence names it.
  void refuse(const std::string& file, std::string sentence) {
    Subject subject;
    if (!file.empty()) subject = {.kind = "File", .name = file, .file = file};
    findings_.push_back({Code::ObjectRefused, Severity::Error, std::move(subject), std::move(sentence)});
  }
  // FILE:LINE: POLICY: error: PATH: MESSAGE; the message alone names a file that cannot be read.
  static std::string text_of(const Finding& finding) {
    const Subject& subject = finding.subject;
    if (subject.file.empty()) return finding.sentence;
    return subject.file + (subject.line > 0 ? ":" + std::to_string(subject.line) : "") + ": " +
           (subject.kind == kPolicy ? subject.name + ": " : "") + std::string(to_string(finding.severity)) +
           ": " + (subject.path.empty() ? finding.sentence : line_of(finding));
  }
  [[nodiscard]] nlohmann::ordered_json to_json() const {
    return {{"good", code() == program::kDone},
            {"policies", policies_},
            {"errors", count(findings_, Severity::Error)},
            {"warnings", count(findings_, Severity::Warning)},
            {"findings", nccl_env::to_json(findings_)}};
  }

  const PolicyOptions options_;
  std::istream& in_;
  std::set<std::string> names_;
  std::vector<Finding> findings_;
  int policies_ = 0;
  bool all_seen_ = true;
};

int check_policies(const CheckArguments& arguments, const Console& terminal) {
  const auto& [files, allow_code_paths] = arguments;
  Checker checker({allow_code_paths}, terminal.in);
  for (const std::string& file : files) checker.check_place(file);
  checker.print(terminal);
  return checker.code();
}

}  // namespace

void add_policy_check(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"check",
       "Print what is wrong with policies, a line for each finding: FILE:LINE: POLICY: error|warning|info: "
       "PATH: MESSAGE. Exit 1 if one is an error, 4 if a file cannot be read; warnings alone exit 0.",
       "nccl-env policy check policies/*.yaml"},
      check_policies);
  app.add_option("FILE", to.files,
                 "Files with NcclPolicies, or directories of such files; - is the standard input")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::cli
