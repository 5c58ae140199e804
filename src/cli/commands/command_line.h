// SPDX-License-Identifier: Apache-2.0
// The command line, to which each command adds itself, and the options that several have.
//
//   argv --> CommandLine --parse--> Arguments of one command, the form of its output
//                 |
//                run --> Console --> command(Arguments, Console) --> ExitCode
//                                        |           |
//            cluster/: what a user may read of       +--> core: facts and findings, printed once at the end
//            the API server
//
// CommandLine owns all arguments, which are bound once and only read from then on. A command owns what it
// read and keeps nothing: each runs once, on one thread.
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
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/program/resolver_options.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::cli {

inline constexpr std::string_view kProgram = "nccl-env";

// Streams of a command, and the form of its output: one of Words::forms, json or yaml.
struct Console : program::Terminal {
  std::string form = "text";
};

// Takes what was read, or tells why there is nothing.
template <class T>
program::Failure take(Result<T> read, T& into, program::ExitCode code = program::kNotSeen) {
  if (!read) return {code, read.error().message};
  into = *std::move(read);
  return {};
}

// The following add options that several commands have.
void add_policy_options(CLI::App& app, program::PolicyArguments& into);
void add_code_paths(CLI::App& app, bool& into);
void add_moment(CLI::App& app, std::string& into);
// --kubeconfig and --context.
void add_cluster(CLI::App& app, ClusterArguments& into);
CLI::Option& add_namespace(CLI::App& app, ClusterArguments& into);

// Binds the options that several commands have, by the members in which their arguments hold them.
template <class Arguments>
void bind_shared(CLI::App& app, Arguments& to) {
  if constexpr (requires { to.cluster; }) add_cluster(app, to.cluster);
  if constexpr (requires { to.policy; }) add_policy_options(app, to.policy);
  if constexpr (requires { to.allow_code_paths; }) add_code_paths(app, to.allow_code_paths);
  if constexpr (requires { to.resolver; }) program::add_resolver_options(app, to.resolver);
  if constexpr (requires { to.no_resolver; })
    app.add_flag("--no-resolver", to.no_resolver,
                 "As in an installation whose pods get no init container; default: as the policy's status "
                 "says, else with one");
  if constexpr (requires { to.nccl_version; })
    app.add_option("--nccl-version", to.nccl_version,
                   known_versions() + ", or a later one, for which the rules of " + newest_version() +
                       " are taken; default: " + newest_version());
  if constexpr (requires { to.at; }) add_moment(app, to.at);
}

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
    // Words of -o besides json and yaml, the default first. Without forms -o is the command's own.
    std::vector<std::string> forms = {"text"};
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
  // nothing to `out`. The command has -o, if it has Words::forms, and the options whose members bind_shared()
  // finds in its Arguments.
  template <class Arguments>
  Command<Arguments> command(CLI::App& parent, const Words& words,
                             int (*function)(const Arguments&, const Console&)) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App& added =
        add_command(parent, words, [=](const Console& console) { return function(*arguments, console); });
    bind_shared(added, *arguments);
    return {added, *arguments};
  }

  // Returns the code, or nothing if a command is to run.
  std::optional<int> parse(int argc, const char* const* argv, const program::Terminal& terminal);
  int run(const program::Terminal& terminal) const { return run_({terminal, form_}); }

 private:
  using Run = std::function<int(const Console&)>;
  [[nodiscard]] std::string with_program(std::string text) const;
  CLI::App& add_command(CLI::App& parent, const Words& words, Run run);

  const std::string program_;
  CLI::App app_;
  std::string form_;  // of the output; "" until -o is read
  Run run_;
};

bool is_document(std::string_view form);  // json, yaml
// Prints an object with `version: 2` in front, unless it has an apiVersion. Does so with each object of a
// list; in YAML each is a document.
void print_document(const nlohmann::ordered_json& document, std::string_view form, std::ostream& out);
// Prints a single document as it is, several as a list.
void print_documents(const nlohmann::ordered_json& all, std::string_view form, std::ostream& out);
// Prints what to_json or render_text makes of an answer.
template <class... Answer>
void print_answer(const Console& console, const Answer&... answer) {
  if (is_document(console.form)) return print_document(to_json(answer...), console.form, console.out);
  console.out << render_text(answer...);
}

}  // namespace nccl_env::cli
