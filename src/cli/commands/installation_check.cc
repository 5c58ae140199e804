// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "check/installed_parts.h"
#include "check/namespace_check.h"
#include "check/preparation.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/duration.h"

namespace nccl_env::cli {
namespace {

using Steady = std::chrono::steady_clock;

struct InstallationArguments {
  bool pre = false;
  std::string name_space;  // in which sample pods are tried; "": the installation is looked at instead
  std::string resource;    // of the pods; "": those that the policy matches
  SampleSize size;
  std::chrono::seconds wait{0};
  ClusterArguments cluster;
};

// Between two looks of --wait. A look is a dozen calls of kubectl, which compute: pauses are three times as
// long.
constexpr Steady::duration kShortestPause = std::chrono::seconds(1);
constexpr Steady::duration kLongestPause = std::chrono::seconds(10);

struct Look {
  program::ExitCode code = program::kDone;
  std::string message{};  // program::kNothing, program::kNotSeen: why there is no more
  std::function<void(const Console&)> print{};
};

Look look_of(const std::vector<Finding>& findings, const auto& answer) {
  return {
      program::code_of(findings), {}, [answer](const Console& console) { print_answer(console, answer); }};
}

Look look_at_parts(kube::ApiServer& client) {
  const auto parts = survey_parts(client, program::clock_now());
  if (!parts) return {program::kNotSeen, parts.error().message};
  if (is_nothing(*parts))
    return {program::kNothing, client.server() + ": nothing of nccl-env is installed" + kHowToInstall};
  Checks checks = judge_parts(*parts);
  for (Checked& checked : judge_namespaces(client, uncallable(checks)))
    checks.push_back(while_starting(*parts, checked));
  return look_of(findings_of(checks), checks);
}

Look look_at(const InstallationArguments& arguments, kube::ApiServer& client) {
  const auto& [pre, name, resource, size, wait, cluster] = arguments;
  if (pre) {
    const auto facts = survey_preparation(client, name);
    if (!facts) return {program::kNotSeen, facts.error().message};
    const Checks checks = judge_preparation(*facts);
    return look_of(findings_of(checks), checks);
  }
  if (name.empty()) return look_at_parts(client);
  const auto check = check_namespace(client, name, resource, size);
  if (!check) return {program::kNotSeen, check.error().message};
  if (std::string absent = check->finding ? not_installed(client) : ""; !absent.empty())
    return {program::kNothing, std::move(absent)};
  return look_of(check->findings(), *check);
}

int check_installation(const InstallationArguments& arguments, const Console& terminal) {
  const std::string& name = arguments.name_space;
  if (!name.empty() && !is_dns_subdomain(name))
    return stop(terminal, program::kUsage, "--namespace " + name + ": is not a name of a namespace");
  const auto client = connect_cluster(arguments.cluster);
  if (!client) return stop(terminal, program::kNotSeen, client.error().message);
  auto begin = Steady::now();
  const auto end = begin + arguments.wait;
  Look look = look_at(arguments, **client);
  while (look.code != program::kDone && Steady::now() + kShortestPause < end) {
    const auto pause = std::clamp(3 * (Steady::now() - begin), kShortestPause, kLongestPause);
    std::this_thread::sleep_until(std::min(Steady::now() + pause, end - kShortestPause));
    begin = Steady::now();
    look = look_at(arguments, **client);
  }
  if (!look.message.empty()) return stop(terminal, look.code, look.message);
  look.print(terminal);
  return look.code;
}

}  // namespace

void add_installation_check(CommandLine& line, CLI::App& parent) {
  auto [app, to] = line.command(
      parent,
      {"check",
       "Tell whether nccl-env itself is well installed. Hooks, certificate, webhook, agents, tables and "
       "versions are looked at, and a pod is tried by a dry run; nothing is changed. Exit 1 if something is "
       "wrong or could not be seen, 3 if nothing is installed.",
       "nccl-env check --wait 2m"},
      check_installation);
  CLI::Option* pre = app.add_flag("--pre", to.pre, "Before installing: version, rights, namespaces");
  app.add_option("--wait", "Look again until all is well, at most this long: 90s, 2m")
      ->check(program::duration(to.wait))
      ->type_name("TEXT");
  const auto add = [&app = app](const char* names, std::string& value, const char* description,
                                const char* type) {
    return app.add_option(names, value, description)->type_name(type)->group("Pods of a namespace");
  };
  CLI::Option* name =
      add("-n,--namespace", to.name_space,
          "Instead of the installation: try (dryRun=All) whether a pod of this namespace would get what its "
          "policy wants, and who refuses it if not; with --pre: the namespace of the webhook, default: "
          "nccl-env",
          "NAME");
  name->check(
      [](const std::string& given) { return std::string(given.empty() ? "the name is missing" : ""); });
  CLI::Option* const of_sample[] = {
      add("--resource", to.resource, "The pod's RDMA resource; default: one for each that the policy matches",
          "NAME"),
      add("--cpu", to.size.cpu, "The pod's limit; default: 1", "AMOUNT"),
      add("--memory", to.size.memory, "The pod's limit; default: 1Gi", "AMOUNT"),
      add("--image", to.size.image, "The pod's image; it is not pulled", "IMAGE")};
  for (CLI::Option* option : of_sample) pre->excludes(option->needs(name));
}

}  // namespace nccl_env::cli
