// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "commands/pod_preview.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/engines/nccl/variable_names.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/explain/held_values.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kCaseFile = "nccl-env-test.yaml";
constexpr std::size_t kMaxCaseFiles = 1000;

struct CasesArguments {
  std::vector<std::string> places;  // files, or directories that hold some
  bool allow_code_paths = false;
};

// Fields that are absent are not judged.
struct Expectation {
  std::string container;  // "": every one in scope
  std::optional<bool> inject;
  std::optional<Reason> reason;
  std::map<std::string, std::optional<std::string>> values;  // nothing: the variable is not given
  std::map<std::string, Reason> omitted;
};

struct PolicyCase {
  std::string pod;          // file
  std::string template_of;  // "": all of the file
  std::string node;
  Expectation expected;
};

struct CaseResult {
  std::string file;
  std::string name;
  std::vector<std::string> problems;  // none: as expected
};

// Reads the fields of an object; the first problem counts.
class CaseFields {
 public:
  CaseFields(const Json& object, std::string path, std::initializer_list<std::string_view> known)
      : object_(object), path_(std::move(path)) {
    if (!object.is_object()) {
      refuse("", path_.empty() ? "must be an object with policy, tables and cases" : "must be an object");
      return;
    }
    const std::vector<std::string_view> names(known);
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const std::string_view meant = nearest(name, names, 3);
      refuse(name,
             meant.empty() ? "unknown field" : "unknown field: do you mean " + std::string(meant) + "?");
    }
  }

  std::string text(std::string_view name) {
    const Json& value = member(object_, name);
    if (!value.is_null() && !value.is_string()) refuse(name, "must be a text");
    return text_of(value);
  }
  std::vector<std::string> texts(std::string_view name) {
    std::vector<std::string> all;
    for (const Json& value : list(name)) {
      if (!value.is_string()) refuse(name, "must be a list of texts");
      all.push_back(text_of(value));
    }
    return all;
  }
  const Json& list(std::string_view name) {
    static const Json kEmpty = Json::array();
    const Json& value = member(object_, name);
    if (value.is_array()) return value;
    if (!value.is_null()) refuse(name, "must be a list");
    return kEmpty;
  }
  const Json& object(std::string_view name) {
    static const Json kEmpty = Json::object();
    const Json& value = member(object_, name);
    if (value.is_object()) return value;
    if (!value.is_null()) refuse(name, "must be an object");
    return kEmpty;
  }
  std::optional<Reason> reason(std::string_view name, const Json& value) {
    const auto found = parse_reason(text_of(value));
    if (!found) refuse(name, "is not a reason; `nccl-env what` lists them");
    return found;
  }
  void refuse(std::string_view field, const std::string& why) {
    if (!problem_.empty()) return;
    const std::string at = path_ + (path_.empty() || field.empty() ? "" : ".") + std::string(field);
    problem_ = (at.empty() ? at : at + ": ") + why;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const Json& object_;
  const std::string path_;
  std::string problem_;
};

Result<Expectation> read_expectation(const Json& object, const std::string& path) {
  CaseFields fields(object, path, {"container", "decision", "reason", "values", "omitted"});
  Expectation expected{fields.text("container"), {}, {}, {}, {}};
  if (const std::string decision = fields.text("decision"); !decision.empty()) {
    if (decision != "inject" && decision != "skip") fields.refuse("decision", "must be inject or skip");
    expected.inject = decision == "inject";
  }
  if (const Json& reason = member(object, "reason"); !reason.is_null())
    expected.reason = fields.reason("reason", reason);
  for (const auto& [name, value] : fields.object("values").items()) {
    if (const auto misspelt = name_problem(name)) fields.refuse("values." + name, *misspelt);
    if (!value.is_null() && !value.is_string())
      fields.refuse("values." + name, "must be a text in quotes, or null where the variable is not given");
    auto& wanted = expected.values[name];
    if (value.is_string()) wanted = text_of(value);
  }
  for (const auto& [name, value] : fields.object("omitted").items()) {
    if (const auto misspelt = name_problem(name)) fields.refuse("omitted." + name, *misspelt);
    if (const auto reason = fields.reason("omitted." + name, value)) expected.omitted.emplace(name, *reason);
  }
  if (object.empty()) fields.refuse("", "is empty, and would pass whatever the answer is");
  if (!fields.problem().empty()) return Error{fields.problem()};
  return expected;
}

Result<std::vector<PolicyCase>> read_cases(const Json& list) {
  std::vector<PolicyCase> cases;
  for (const Json& object : list) {
    const std::string path = "cases[" + std::to_string(cases.size()) + "]";
    CaseFields fields(object, path, {"pod", "template", "node", "expect"});
    PolicyCase one{fields.text("pod"), fields.text("template"), fields.text("node"), {}};
    if (one.pod.empty()) fields.refuse("pod", "must name a file");
    if (!fields.problem().empty()) return Error{fields.problem()};
    auto expected = read_expectation(member(object, "expect"), path + ".expect");
    if (!expected) return expected.error();
    one.expected = *std::move(expected);
    cases.push_back(std::move(one));
  }
  return cases;
}

std::string quoted(const std::string& value) {
  return '"' + value + '"';
}

// Lists of HCAs are compared by their ports.
bool is_value(const Value& found, const std::string& wanted) {
  if (found.name != variable::kIbHca || !found.value) return found.value == wanted;
  return is_same_list(*found.value, wanted, found.is_from(Source::Node));
}

void judge_container(const ExplainedContainer& container, const Expectation& expected,
                     std::vector<std::string>& problems) {
  std::map<std::string_view, const Value*> given;
  for (const Value& variable : container.env) given.emplace(variable.name, &variable);
  if (container.conf) {
    for (const Value& variable : *container.conf) given.emplace(variable.name, &variable);
  }
  const auto answer = [&](const std::string& name) -> std::string {
    if (const auto found = given.find(name); found != given.end())
      return found->second->value ? quoted(*found->second->value) : "a value that is known at Binding";
    const Value* omission = find_named(container.omitted, name);
    if (!omission) return "nothing";
    return "nothing: " + std::string(to_string(*omission->reason)) + ", " + omission->detail;
  };
  const auto differs = [&](const std::string& name, const std::string& wanted) {
    problems.push_back(container.name + ": " + name + ": expected " + wanted + ", found " + answer(name));
  };
  for (const auto& [name, wanted] : expected.values) {
    const auto found = given.find(name);
    const bool same =
        wanted ? found != given.end() && is_value(*found->second, *wanted) : found == given.end();
    if (!same) differs(name, wanted ? quoted(*wanted) : "nothing");
  }
  for (const auto& [name, reason] : expected.omitted) {
    const Value* omission = find_named(container.omitted, name);
    if (!omission || omission->reason != reason) differs(name, "nothing: " + std::string(to_string(reason)));
  }
}

std::vector<std::string> judge(const Explanation& answer, const Expectation& expected) {
  std::vector<std::string> problems;
  const auto differs = [&](const std::string& wanted) {
    problems.push_back("expected " + wanted + ", found " + sentence_of(answer));
  };
  if (expected.inject && *expected.inject != answer.inject) differs(*expected.inject ? "inject" : "skip");
  if (expected.reason && expected.reason != answer.reason) differs(std::string(to_string(*expected.reason)));
  bool judged = expected.values.empty() && expected.omitted.empty();
  for (const ExplainedContainer& container : answer.containers) {
    if (!expected.container.empty() && container.name != expected.container) continue;
    judge_container(container, expected, problems);
    judged = true;
  }
  if (!judged && problems.empty()) {
    differs(expected.container.empty() ? "a container that gets values"
                                       : "values for container " + expected.container);
  }
  return problems;
}

// Runs one file of cases. Paths in the file are relative to the file's directory.
class CaseRunner {
 public:
  CaseRunner(std::string file, bool allow_code_paths, std::istream& in)
      : file_(std::move(file)), allow_code_paths_(allow_code_paths), in_(in) {}

  Result<std::vector<CaseResult>> run() {
    const auto documents = program::read_documents(file_, in_);
    if (!documents) return documents.error();
    if (documents->size() != 1) return refused("must hold one document");
    const std::string kind = text_of(member(documents->front(), "kind"));
    if (!kind.empty())
      return refused("holds an object of kind " + kind +
                     ", and no test cases; `nccl-env policy check` reads "
                     "policies");
    CaseFields fields(documents->front(), "",
                      {"policy", "policyName", "tables", "claims", "at", "ncclVersion", "cases"});
    const Status read = read_situation(fields);
    if (!read) return read.error();
    const auto cases = read_cases(fields.list("cases"));
    if (!cases) return refused(cases.error().message);
    if (!fields.problem().empty()) return refused(fields.problem());
    if (cases->empty()) return refused("cases: must hold at least one");
    std::vector<CaseResult> results;
    for (const PolicyCase& one : *cases) {
      const Status ran = run_case(one, results);
      if (!ran) return ran.error();
    }
    return results;
  }

 private:
  [[nodiscard]] Error refused(const std::string& why) const { return Error{file_ + ": " + why}; }
  [[nodiscard]] std::string beside(const std::string& name) const {
    return (fs::path(file_).parent_path() / name).string();
  }
  std::vector<std::string> beside(std::vector<std::string> names) const {
    for (std::string& name : names) name = beside(name);
    return names;
  }

  Status read_situation(CaseFields& fields) {
    const std::string policy = fields.text("policy"), at = fields.text("at");
    if (policy.empty()) fields.refuse("policy", "must name a file");
    const auto tables = beside(fields.texts("tables")), claims = beside(fields.texts("claims"));
    const auto version = program::read_nccl_version(fields.text("ncclVersion"));
    if (!version) fields.refuse("ncclVersion", version.error().message);
    const std::string name = fields.text("policyName");
    if (!fields.problem().empty()) return refused(fields.problem());
    const program::Failure failure =
        program::read_chosen_policy({beside(policy), name, allow_code_paths_}, in_, situation_.policy);
    if (failure.code == program::kUsage) return refused("policyName: " + failure.message);
    if (failure) return Error{failure.message};
    auto found = program::read_tables(tables, in_);
    if (!found) return found.error();
    situation_.tables = *std::move(found);
    claims_ = claims;
    situation_.version = *version;
    if (!at.empty()) {
      const auto moment = parse_timestamp(at);
      if (!moment) return refused("at: " + moment.error().message);
      situation_.now = *moment;
      return done();
    }
    // The newest table's time is taken for now, so that recorded tables do not grow too old.
    std::optional<Timestamp> newest;
    for (const auto& table : situation_.tables) newest = std::max(newest, table->time);
    situation_.now = newest ? *newest : *program::read_moment("");
    return done();
  }

  Status run_case(const PolicyCase& one, std::vector<CaseResult>& results) {
    std::vector<std::string> remarks;
    const auto documents = program::read_manifests(beside(one.pod), in_, remarks);
    if (!documents) return documents.error();
    auto claims = read_claims(*documents, claims_, in_);
    if (!claims) return claims.error();
    situation_.claims = *std::move(claims);
    situation_.node = one.node;
    const std::size_t before = results.size();
    for (const Json& document : *documents) {
      for (const PodTemplate& source : find_pod_templates(document)) {
        if (!one.template_of.empty() && source.path != one.template_of && source.object != one.template_of)
          continue;
        if (results.size() - before == kMaxTemplates) return refused(one.pod + ": too many pod templates");
        const Status judged = judge_pod(one, source, results);
        if (!judged) return judged.error();
      }
    }
    if (results.size() > before) return done();
    return refused(one.pod + ": holds no pod" +
                   (one.template_of.empty() ? "" : " template " + one.template_of));
  }

  Status judge_pod(const PolicyCase& one, const PodTemplate& source, std::vector<CaseResult>& results) {
    const std::string title = title_of(source);
    std::string name = one.pod + (title.empty() ? "" : " " + title);
    const Result<Pod> pod = parse_template(parser_, source);
    if (!pod) return refused(name + ": " + pod.error().message);
    const auto node = node_of(*pod, situation_);
    if (!node) return refused(name + ": " + node.error().message);
    if (!node->empty()) name += " on " + *node;
    std::vector<std::string> problems = judge(preview_pod(*pod, *node, situation_), one.expected);
    const auto is_its = [&](const auto& table) { return table->name == *node; };
    const auto expects_none = [](const auto& omitted) { return omitted.second == Reason::NoTable; };
    if (!one.node.empty() && !situation_.tables.empty() && std::ranges::none_of(situation_.tables, is_its) &&
        std::ranges::none_of(one.expected.omitted, expects_none))
      problems.push_back("node " + *node + " has no table in the case's tables, and NoTable is not expected");
    results.push_back({file_, std::move(name), std::move(problems)});
    return done();
  }

  const std::string file_;
  const bool allow_code_paths_;
  std::istream& in_;
  std::vector<std::string> claims_;
  Situation situation_;
  ReviewParser parser_;
};

Result<std::vector<std::string>> find_case_files(const std::vector<std::string>& places) {
  std::vector<std::string> files;
  for (const std::string& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      files.push_back(place);
      continue;
    }
    auto entry = fs::recursive_directory_iterator(place, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry->path().filename() == kCaseFile) files.push_back(entry->path().lexically_normal().string());
      if (files.size() > kMaxCaseFiles)
        return Error{place + ": holds more than " + std::to_string(kMaxCaseFiles) + " files of cases"};
    }
    if (error) return Error{place + ": " + error.message()};
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::ptrdiff_t count_failed(const std::vector<CaseResult>& results) {
  return std::ranges::count_if(results, [](const CaseResult& each) { return !each.problems.empty(); });
}

OrderedJson document_of(const std::vector<CaseResult>& results) {
  const auto failed = count_failed(results);
  OrderedJson document{{"good", failed == 0}, {"cases", results.size()}, {"failed", failed}};
  auto& list = document["results"] = OrderedJson::array();
  for (const CaseResult& result : results)
    list.push_back({{"file", result.file}, {"case", result.name}, {"problems", result.problems}});
  return document;
}

std::string in_xml(const std::string& text) {
  return escape_markup(printable(text));
}

void print_junit(const std::vector<CaseResult>& results, std::ostream& out) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"nccl-env policy test\" tests=\""
      << results.size() << "\" failures=\"" << count_failed(results) << "\">\n";
  for (const CaseResult& result : results) {
    out << "  <testcase classname=\"" << in_xml(result.file) << "\" name=\"" << in_xml(result.name) << '"';
    if (result.problems.empty()) {
      out << "/>\n";
      continue;
    }
    out << ">\n    <failure message=\"" << in_xml(result.problems.front()) << "\">";
    for (const std::string& problem : result.problems) out << in_xml(problem) << '\n';
    out << "</failure>\n  </testcase>\n";
  }
  out << "</testsuite>\n";
}

void print(const std::vector<CaseResult>& results, const std::string& form, std::ostream& out) {
  if (is_document(form)) return print_document(document_of(results), form, out);
  if (form == "junit") return print_junit(results, out);
  for (const CaseResult& result : results) {
    out << (result.problems.empty() ? "ok    " : "FAIL  ") << printable(result.file + ": " + result.name)
        << '\n';
    for (const std::string& problem : result.problems) out << "        " << printable(problem) << '\n';
  }
}

int test_policies(const CasesArguments& arguments, const Console& terminal) {
  const auto& [places, allow_code_paths] = arguments;
  const auto files = find_case_files(places);
  if (!files) return stop(terminal, program::kNotSeen, files.error().message);
  if (files->empty())
    return stop(terminal, program::kNothing, places.front() + ": holds no " + std::string(kCaseFile));
  std::vector<CaseResult> results;
  for (const std::string& file : *files) {
    auto ran = CaseRunner(file, allow_code_paths, terminal.in).run();
    if (!ran) return stop(terminal, program::kNotSeen, ran.error().message);
    std::move(ran->begin(), ran->end(), std::back_inserter(results));
  }
  print(results, terminal.form, terminal.out);
  const auto failed = count_failed(results);
  terminal.err << "nccl-env: cases: " << results.size() << ", failed: " << failed << '\n';
  return failed == 0 ? program::kDone : program::kFinding;
}

}  // namespace

void add_policy_cases(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"test",
       "Compare the answers of policies with expected ones. Reads each nccl-env-test.yaml: a policy, "
       "tables and pods, and what the pods should get. Exit 1 if an answer differs; 3 if there is no such "
       "file.",
       "nccl-env policy test cases -o junit > report.xml",
       {"text", "junit"}},
      test_policies);
  app.add_option("PLACE", to.places, "Files of cases, or directories that hold files nccl-env-test.yaml")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::cli
