// SPDX-License-Identifier: Apache-2.0
#include "commands/command_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/base/yaml_writer.h"
#include "nccl_env/program/choice.h"
#include "nccl_env/program/help_formatter.h"
#include "nccl_env/program/usage.h"

namespace nccl_env::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

// The version of all documents that commands print: keys are added within it, and keep their meaning.
constexpr int kDocumentVersion = 3;

OrderedJson with_version(const OrderedJson& document) {
  if (document.contains("apiVersion")) return document;
  OrderedJson versioned =
      document.is_array() ? OrderedJson::array() : OrderedJson{{"version", kDocumentVersion}};
  for (const OrderedJson& each : document.is_array() ? document : OrderedJson::array())
    versioned.push_back(with_version(each));
  if (document.is_object()) versioned.update(document);
  return versioned;
}

void add_form(CLI::App& app, std::vector<std::string> forms, std::string& into) {
  const std::string usual = forms.front();
  for (const char* document : {"json", "yaml"}) {
    if (usual != document) forms.emplace_back(document);
  }
  app.add_option("-o,--output", into, "Form of the output")
      ->check(program::one_of(std::move(forms)))
      ->default_str(usual);
}

// A command's own options are the command's, as behind env or timeout: the first word that is neither an
// option of ours nor the value of one ends our options.
void end_own_options(const CLI::App& app, std::vector<std::string>& words) {
  for (auto word = words.begin() + 1; word != words.end() && *word != "--"; ++word) {
    if (!word->starts_with('-')) {
      words.insert(word, "--");
      return;
    }
    const CLI::Option* option = app.get_option_no_throw(word->substr(0, word->find('=')));
    const bool takes_next = option && option->get_items_expected_max() > 0 && word->find('=') == word->npos;
    if (takes_next && word + 1 != words.end()) ++word;
  }
}

constexpr const char* kTitle = "nccl-env: the right NCCL environment for a node, and why";

}  // namespace

CommandLine::CommandLine(std::string program) : program_(std::move(program)), app_(kTitle, program_) {
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<program::HelpFormatter>());
  program::add_version(app_, std::string(kProgram));
  app_.footer(
      "Exit codes: 0 fine; 1 a finding; 2 usage; 3 nothing to look at; 4 could not look.\n"
      "Example:" +
      with_program(R"(
  nccl-env explain job/llama -n ml      which values it has, and the odd rank
  nccl-env explain -f job.yaml          what it would get
  nccl-env verify pod/llama-0 -n ml     whether NCCL uses them
  nccl-env doctor                       what is wrong with the fabric
  nccl-env report -o report.html        the whole fabric on one page
  nccl-env check                        whether the installation is well)"));
}

// Returns the text of an example, with the name under which the program runs.
std::string CommandLine::with_program(std::string text) const {
  for (std::size_t at = 0; (at = text.find(kProgram, at)) != text.npos; at += program_.size())
    text.replace(at, kProgram.size(), program_);
  return text;
}

CLI::App& CommandLine::group(const Words& words) {
  CLI::App* added = app_.add_subcommand(words.name, words.description);
  added->footer("Example:\n  " + with_program(words.example));
  added->require_subcommand(1);
  return *added;
}

CLI::App& CommandLine::add_command(CLI::App& parent, const Words& words, Run run) {
  CLI::App* added = parent.add_subcommand(words.name, words.description);
  added->footer("Example:\n  " + program_ + words.example.substr(kProgram.size()));
  if (!words.forms.empty()) add_form(*added, words.forms, form_);
  added->callback([this, run = std::move(run), forms = words.forms] {
    if (form_.empty() && !forms.empty()) form_ = forms.front();
    run_ = run;
  });
  return *added;
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv, const program::Terminal& terminal) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) {
    terminal.err << app_.help();
    return program::kUsage;
  }
  if (words.front() == "help") {  // [COMMAND…]
    words.erase(words.begin());
    words.emplace_back("--help");
  } else if (words.front() == "version") {
    words.front() = "--version";
  }
  const auto is_asked = [&](const CLI::App* command) { return command->get_name() == words.front(); };
  for (const CLI::App* asked : app_.get_subcommands(is_asked)) {
    if (asked->get_option_no_throw("COMMAND")) end_own_options(*asked, words);
  }
  try {
    app_.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // the last first, as CLI11 takes them
    return std::nullopt;
  } catch (const CLI::Success& success) {  // --help, --version, also of a command that is not there
    if (const program::Usage usage = program::usage_problem(app_, words, ""); !usage.problem.empty())
      return stop(terminal, program::kUsage, usage.sentence());
    return app_.exit(success, terminal.out, terminal.err) == 0 ? program::kDone : program::kUsage;
  } catch (const CLI::ParseError& error) {
    return stop(terminal, program::kUsage, program::usage_problem(app_, words, error.what()).sentence());
  }
}

bool is_document(std::string_view form) {
  return form == "json" || form == "yaml";
}

void print_document(const OrderedJson& document, std::string_view form, std::ostream& out) {
  OrderedJson versioned = with_version(document);
  if (form == "json") {
    out << versioned.dump(2, ' ', true, OrderedJson::error_handler_t::replace)
        << '\n';  // nothing steers a terminal
  } else if (document.is_array()) {
    for (const OrderedJson& each : versioned) out << "---\n" << to_yaml(each);
  } else {
    out << to_yaml(versioned);
  }
}

void print_documents(const OrderedJson& all, std::string_view form, std::ostream& out) {
  print_document(all.size() == 1 ? all.front() : all, form, out);
}

void add_code_paths(CLI::App& app, bool& into) {
  app.add_flag("--allow-code-paths", into, "Accept constants that load code (plugins, paths)");
}

void add_policy_options(CLI::App& app, program::PolicyArguments& into) {
  app.add_option("--policy", into.file, "File with an NcclPolicy")->type_name("FILE");
  app.add_option("--policy-name", into.name, "Name of the policy, where the file holds several");
}

void add_moment(CLI::App& app, std::string& into) {
  app.add_option("--at", into,
                 "The moment to decide for: 2026-11-20T08:00:00Z, 2026-11-20, now, or --at=-2h; default: now")
      ->type_name("TIME");
}

void add_cluster(CLI::App& app, ClusterArguments& into) {
  app.add_option("--kubeconfig", into.kubeconfig,
                 "For kubectl, which asks the cluster; default: the one that kubectl finds. As a kubectl "
                 "plugin, write this option behind the plugin's name")
      ->type_name("FILE");
  app.add_option("--context", into.context, "Context of the kubeconfig; default: the current one")
      ->type_name("NAME");
}

CLI::Option& add_namespace(CLI::App& app, ClusterArguments& into) {
  return *app.add_option("-n,--namespace", into.name_space, "Default: the context's")->type_name("NAME");
}

}  // namespace nccl_env::cli
