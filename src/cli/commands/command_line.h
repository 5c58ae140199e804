// SPDX-License-Identifier: Apache-2.0
// The command line, to which each command adds itself, and the options that several have.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/connection.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::cli {

inline constexpr std::string_view kProgram = "nccl-env";

// One per invocation.
class CommandLine {
 public:
  // `program`: "nccl-env" or "kubectl nccl-env", as the examples name it.
  explicit CommandLine(std::string program);

  CLI::App& root() { return app_; }
  struct Words {
    std::string name;
    std::string description;
    std::string example;  // begins with kProgram
  };
  // Adds a command that only has commands below it.
  CLI::App& group(const Words& words);
  // A command, and the arguments to which its options are bound: they live as long as the command.
  template <class Arguments>
  struct Command {
    CLI::App& app;
    Arguments& to;
  };
  // Adds a command that ends with the ExitCode of `function`. If the code is kNotSeen, `function` has written
  // nothing to `out`.
  template <class Arguments>
  Command<Arguments> command(CLI::App& parent, const Words& words,
                             int (*function)(const Arguments&, const program::Terminal&)) {
    CLI::App* added = parent.add_subcommand(words.name, words.description);
    added->footer("Example:\n  " + program_ + words.example.substr(kProgram.size()));
    const auto arguments = std::make_shared<Arguments>();
    added->callback([this, function, arguments] {
      run_ = [=](const program::Terminal& terminal) { return function(*arguments, terminal); };
    });
    return {*added, *arguments};
  }

  // Returns the code, or nothing if a command is to run.
  std::optional<int> parse(int argc, const char* const* argv, const program::Terminal& terminal);
  int run(const program::Terminal& terminal) const { return run_(terminal); }

 private:
  const std::string program_;
  CLI::App app_;
  std::function<int(const program::Terminal&)> run_;
};

// The following add options that several commands have. `forms`: the command's own, the default first, in
// addition to json and yaml.
void add_output(CLI::App& app, std::string& into, std::vector<std::string> forms);
void add_policy_options(CLI::App& app, program::PolicyArguments& into);
void add_code_paths(CLI::App& app, bool& into);
void add_moment(CLI::App& app, std::string& into);
// --kubeconfig and --context. `group`: their group in --help; "": the usual one.
void add_cluster(CLI::App& app, ClusterArguments& into, const std::string& group = "");
CLI::Option& add_namespace(CLI::App& app, ClusterArguments& into);
// --bundle, for commands that also have the options of add_cluster.
CLI::Option& add_bundle(CLI::App& app, ClusterArguments& into);
void add_nccl_version(CLI::App& app, std::string& into);

bool is_document(std::string_view form);  // json, yaml
// Prints an object with `version: 1` in front, unless it has an apiVersion. Does so with each object of a
// list; in YAML each is a document.
void print_document(const nlohmann::ordered_json& document, std::string_view form, std::ostream& out);
// Prints a single document as it is, several as a list.
void print_documents(const nlohmann::ordered_json& all, std::string_view form, std::ostream& out);
// Prints what to_json or render_text makes of an answer.
template <class... Answer>
void print_answer(std::string_view form, std::ostream& out, const Answer&... answer) {
  if (is_document(form)) return print_document(to_json(answer...), form, out);
  out << render_text(answer...);
}

}  // namespace nccl_env::cli
