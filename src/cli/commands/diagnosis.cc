// SPDX-License-Identifier: Apache-2.0
#include "commands/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include "cluster/connection.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/program/duration.h"
#include "nccl_env/program/store_option.h"
#include "nccl_env/store/load_once.h"

namespace nccl_env::cli {
namespace {

struct Fabric {
  program::Tables tables;
  program::Policies policies;
  std::vector<std::string> problems;  // one sentence for each object that was refused
};

const char* const kNoSource =
    "; or give FILEs with NodeFabrics, or --store dir:PATH with a directory of them";

Result<store::Reading> read_server(const SourceArguments& arguments) {
  const auto client = connect_cluster(arguments.cluster);
  if (!client) return Error{client.error().message + kNoSource};
  return store::read_cluster(**client, {arguments.policy.allow_code_paths});
}

program::Failure read_files(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  auto tables = program::read_tables(arguments.files, in);
  if (!tables) return {program::kNotSeen, tables.error().message};
  into.tables = *std::move(tables);
  if (arguments.policy.file.empty()) return {};
  auto policies = program::read_policies(arguments.policy, in);
  if (!policies) return {program::kNotSeen, policies.error().message};
  into.policies = *std::move(policies);
  return {};
}

program::Failure read_store(const SourceArguments& arguments, Fabric& into) {
  const auto path = program::store_path(arguments.store);
  if (!arguments.store.empty() && !path)
    return {program::kUsage, "--store " + arguments.store + ": must be dir:PATH"};
  if (!arguments.policy.file.empty())
    return {program::kUsage, "--policy: only with FILEs; the policies of a store or cluster are its own"};
  auto reading =
      path ? store::read_directory(*path, {arguments.policy.allow_code_paths}) : read_server(arguments);
  if (!reading) return {program::kNotSeen, reading.error().message};
  into = {std::move(reading->tables), std::move(reading->policies), std::move(reading->problems)};
  return {};
}

program::Failure read_fabric(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  if (!arguments.files.empty() && !arguments.store.empty())
    return {program::kUsage, "FILEs and --store: only one of them"};
  program::Failure failure =
      arguments.files.empty() ? read_store(arguments, into) : read_files(arguments, in, into);
  if (failure) return failure;
  if (arguments.policy.name.empty()) return {};
  const auto chosen = program::choose_policy(into.policies, arguments.policy.name);
  if (!chosen) return {program::kUsage, chosen.error().message};
  into.policies = {*chosen};
  return {};
}

// "": not given.
Result<std::optional<std::chrono::seconds>> read_age(const std::string& text) {
  if (text.empty()) return std::optional<std::chrono::seconds>();
  const auto age = program::parse_duration(text);
  if (age && age->count() > 0) return std::optional(*age);
  return Error{"--max-table-age " + text + ": " + (age ? "must be above 0" : age.error().message)};
}

// The age that the webhook writes into policies; the least, if a roll-out has not reached all of them.
std::chrono::seconds published_age(const program::Policies& policies) {
  std::optional<std::chrono::seconds> least;
  for (const auto& policy : policies) {
    if (policy->max_table_age)
      least = std::min(least.value_or(*policy->max_table_age), *policy->max_table_age);
  }
  return least.value_or(DoctorInput{}.max_table_age);
}

}  // namespace

void tell_refused(const Diagnosis& diagnosis, std::ostream& err) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.code == Code::ObjectRefused) err << "nccl-env: " << printable(finding.sentence) << '\n';
  }
}

void add_diagnosis_options(CLI::App& app, DiagnosisArguments& into) {
  app.add_option("FILE", into.source.files,
                 "Files with NodeFabrics; - is the standard input. With neither FILEs nor --store the "
                 "cluster is asked")
      ->type_name("");
  app.add_option("--store", into.source.store, "A directory of manifests, as the webhook reads it")
      ->type_name("dir:PATH");
  add_cluster(app, into.source.cluster);
  add_policy_options(app, into.source.policy);
  app.add_option(
         "--max-table-age", into.max_table_age,
         "Older tables are stale: 90m, 45s; default: the webhook's own, which it writes into the status "
         "of policies, else 3h")
      ->type_name("AGE");
  add_moment(app, into.at);
}

program::Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into) {
  DoctorInput from;
  return read_diagnosis(arguments, in, into, from);
}

program::Failure read_diagnosis(const DiagnosisArguments& arguments, std::istream& in, Diagnosis& into,
                                DoctorInput& from) {
  const auto now = program::read_moment(arguments.at);
  if (!now) return {program::kUsage, now.error().message};
  const auto age = read_age(arguments.max_table_age);
  if (!age) return {program::kUsage, age.error().message};
  Fabric fabric;
  if (program::Failure failure = read_fabric(arguments.source, in, fabric)) return failure;
  // A fabric without tables must not be reported as healthy.
  if (fabric.tables.empty() && fabric.problems.empty()) {
    const auto path = program::store_path(arguments.source.store);
    return {program::kNothing, path ? "there is no NodeFabric in " + *path
                                    : "there is no NodeFabric: does the agent run on the nodes?"};
  }
  const auto limit = *age ? **age : published_age(fabric.policies);
  from = {std::move(fabric.tables), std::move(fabric.policies), *now, limit};
  into = diagnose(from);
  std::vector<Finding> refused;
  refused.reserve(fabric.problems.size());
  for (const std::string& problem : fabric.problems)
    refused.push_back({Code::ObjectRefused, Severity::Error, {}, problem});
  add_findings(std::move(refused), into);
  return {};
}

}  // namespace nccl_env::cli
