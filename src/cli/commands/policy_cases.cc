// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "commands/explain.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

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

struct CaseResult {
  std::string file;
  std::string name;
  std::vector<std::string> problems;  // none: as expected
};

// Adds what of `expected` is not in `found`. Each member of an object has to be there, null standing for
// none; each element of a list has to be in one of the elements found, and an empty list expects an empty
// one.
void add_missing(const Json& expected, const Json& found, const std::string& path,
                 std::vector<std::string>& into) {
  const auto add = [&](const std::string& place, const Json& wanted) {
    into.push_back(place + ": expected " + dump_json(wanted) + ", found " + dump_json(found));
  };
  if (expected.is_object() && found.is_object()) {
    for (const auto& [name, value] : expected.items())
      add_missing(value, member(found, name), path + (path.empty() ? "" : ".") + name, into);
  } else if (expected.is_array() && !expected.empty() && found.is_array()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto holds = [&](const Json& element) {
        std::vector<std::string> missing;
        add_missing(expected[i], element, "", missing);
        return missing.empty();
      };
      if (std::ranges::none_of(found, holds)) add(path + "[" + std::to_string(i) + "]", expected[i]);
    }
  } else if (expected != found) {
    add(path, expected);
  }
}

// Runs one file of cases. Paths in the file are relative to the file's directory.
class CaseRunner {
 public:
  CaseRunner(std::string file, bool allow_code_paths, std::istream& in) : file_(std::move(file)), in_(in) {
    shared_.policy.allow_code_paths = allow_code_paths;
  }

  Result<std::vector<CaseResult>> run() {
    const auto documents = program::read_documents(file_, in_);
    if (!documents) return documents.error();
    const Json& cases = member(documents->front(), "cases");
    if (documents->size() != 1 || !cases.is_array() || cases.empty())
      return refused("must be one object with policy, tables and a list of cases");
    if (Status read = read_shared(documents->front()); !read) return read.error();
    std::vector<CaseResult> results;
    for (const Json& one : cases) {
      const std::string path = "cases[" + std::to_string(&one - &cases.front()) + "]";
      if (Status known = check_fields(one, {"pod", "template", "node", "expect"}, path + "."); !known)
        return known.error();
      const Json& expected = member(one, "expect");
      if (!expected.is_object() || expected.empty())
        return refused(path + ".expect: must be an object that is not empty");
      if (Status ran = run_case(one, results); !ran) return ran.error();
    }
    return results;
  }

 private:
  [[nodiscard]] Error refused(const std::string& why) const { return Error{file_ + ": " + why}; }
  [[nodiscard]] std::string beside(const Json& name) const {
    return (fs::path(file_).parent_path() / text_of(name)).string();
  }

  [[nodiscard]] Status check_fields(const Json& object, std::initializer_list<std::string_view> known,
                                    const std::string& path) const {
    for (const auto& [name, value] : object.items()) {
      if (std::ranges::find(known, name) == known.end()) return refused(path + name + ": unknown field");
    }
    return done();
  }

  // Reads what all cases share.
  Status read_shared(const Json& object) {
    if (Status known = check_fields(
            object, {"policy", "policyName", "tables", "claims", "at", "ncclVersion", "cases"}, "");
        !known)
      return known;
    if (text_at(object, "policy").empty()) return refused("policy: must name a file");
    shared_.policy.file = beside(object["policy"]);
    shared_.policy.name = text_at(object, "policyName");
    shared_.nccl_version = text_at(object, "ncclVersion");
    for (const Json& table : items_at(object, "tables")) shared_.tables.push_back(beside(table));
    for (const Json& claim : items_at(object, "claims")) shared_.claims.push_back(beside(claim));
    shared_.at = text_at(object, "at");
    if (!shared_.at.empty()) return done();
    // The newest table's time is taken for now, so that recorded tables do not grow too old.
    const auto tables = program::read_tables(shared_.tables, in_);
    if (!tables) return tables.error();
    std::optional<Timestamp> newest;
    for (const auto& table : *tables) newest = std::max(newest, table->time);
    if (newest) shared_.at = format_timestamp(*newest);
    return done();
  }

  Status run_case(const Json& one, std::vector<CaseResult>& results) {
    const std::string pod = text_at(one, "pod"), wanted = text_at(one, "template");
    if (pod.empty()) return refused("cases: pod: must name a file");
    ExplainArguments asked = shared_;
    asked.pod = beside(pod);
    asked.node = text_at(one, "node");
    const auto answers = preview_documents(asked, in_);
    if (!answers) return refused(answers.error().message);
    const std::size_t before = results.size();
    for (const Json& answer : *answers) {
      const std::string object = text_at(answer, "object"), path = text_at(answer, "template");
      if (!wanted.empty() && wanted != object && wanted != path) continue;
      const std::string node = text_at(answer, "node");
      CaseResult result{file_,
                        pod + (object.empty() ? "" : " " + object) + (path.empty() ? "" : " " + path) +
                            (node.empty() ? "" : " on " + node),
                        {}};
      add_missing(one["expect"], answer, "", result.problems);
      results.push_back(std::move(result));
    }
    if (results.size() > before) return done();
    return refused(pod + ": holds no pod" + (wanted.empty() ? "" : " template " + wanted));
  }

  const std::string file_;
  std::istream& in_;
  ExplainArguments shared_;
};

Result<std::set<std::string>> find_case_files(const std::vector<std::string>& places) {
  std::set<std::string> files;
  for (const std::string& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      files.insert(place);
      continue;
    }
    auto entry = fs::recursive_directory_iterator(place, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry->path().filename() == kCaseFile) files.insert(entry->path().lexically_normal().string());
      if (files.size() > kMaxCaseFiles)
        return Error{place + ": holds more than " + std::to_string(kMaxCaseFiles) + " files of cases"};
    }
    if (error) return Error{place + ": " + error.message()};
  }
  return files;
}

std::ptrdiff_t count_failed(const std::vector<CaseResult>& results) {
  return std::ranges::count_if(results, [](const CaseResult& each) { return !each.problems.empty(); });
}

OrderedJson to_json(const std::vector<CaseResult>& results) {
  const auto failed = count_failed(results);
  const auto json_of = [](const CaseResult& result) {
    return OrderedJson{{"file", result.file}, {"case", result.name}, {"problems", result.problems}};
  };
  return {{"good", failed == 0},
          {"cases", results.size()},
          {"failed", failed},
          {"results", array_of(results, json_of)}};
}

std::string render_text(const std::vector<CaseResult>& results) {
  std::string text;
  for (const CaseResult& result : results) {
    text +=
        (result.problems.empty() ? "ok    " : "FAIL  ") + printable(result.file + ": " + result.name) + "\n";
    for (const std::string& problem : result.problems) text += "        " + printable(problem) + "\n";
  }
  return text;
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
  print_answer(terminal, results);
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
       "nccl-env policy test cases"},
      test_policies);
  app.add_option("PLACE", to.places, "Files of cases, or directories that hold files nccl-env-test.yaml")
      ->required()
      ->type_name("");
}

}  // namespace nccl_env::cli
