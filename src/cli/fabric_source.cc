// SPDX-License-Identifier: Apache-2.0
#include "fabric_source.h"

#include <algorithm>
#include <charconv>

#include "cluster/connection.h"
#include "nccl_env/store/load_once.h"

namespace nccl_env::app {
namespace {

constexpr std::string_view kDirectory = "dir:";

const char* const kNoSource =
    "; give FILEs with NodeFabrics, --store dir:PATH with a directory of them, or --kubeconfig FILE";

Result<store::Reading> read_server(const SourceArguments& arguments) {
  const auto client = connect_cluster(arguments.kubeconfig);
  if (!client) return Error{client.error().message + kNoSource};
  return store::read_cluster(**client, {arguments.policy.allow_code_paths});
}

SourceFailure read_files(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  auto tables = read_tables(arguments.files, in);
  if (!tables) return {kRefused, tables.error().message};
  into.tables = *std::move(tables);
  if (arguments.policy.file.empty()) return {};
  auto policies = read_policies(arguments.policy, in);
  if (!policies) return {kRefused, policies.error().message};
  into.policies = *std::move(policies);
  return {};
}

SourceFailure read_store(const SourceArguments& arguments, Fabric& into) {
  if (!arguments.store.empty() && !arguments.store.starts_with(kDirectory))
    return {kUsage, "--store " + arguments.store + ": must be dir:PATH"};
  if (!arguments.policy.file.empty())
    return {kUsage, "--policy: only with FILEs; the policies of a store or cluster are its own"};
  const std::string path = arguments.store.empty() ? "" : arguments.store.substr(kDirectory.size());
  auto reading = arguments.store.empty() ? read_server(arguments)
                                         : store::read_directory(path, {arguments.policy.allow_code_paths});
  if (!reading) return {kRefused, reading.error().message};
  into = {std::move(reading->objects.tables), std::move(reading->objects.policies),
          std::move(reading->problems)};
  return {};
}

}  // namespace

SourceFailure read_fabric(const SourceArguments& arguments, std::istream& in, Fabric& into) {
  if (!arguments.files.empty() && !arguments.store.empty())
    return {kUsage, "FILEs and --store: only one of them"};
  SourceFailure failure =
      arguments.files.empty() ? read_store(arguments, into) : read_files(arguments, in, into);
  if (failure.code != kDone) return failure;
  if (arguments.policy.name.empty()) return {};
  const auto chosen = choose_policy(into.policies, arguments.policy.name);
  if (!chosen) return {kUsage, chosen.error().message};
  into.policies = {*chosen};
  return {};
}

Result<std::chrono::seconds> read_age(const std::string& text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  // A year: more is no age that anybody means, and its seconds still fit.
  constexpr long kMost = 365L * 24 * 3600;
  const long factor = unit == "h" ? 3600 : unit == "m" ? 60 : unit == "s" ? 1 : 0;
  if (error != std::errc() || factor == 0 || number <= 0 || number > kMost / factor)
    return Error{"--max-table-age " + text + ": must be a number with h, m or s, such as 3h"};
  return std::chrono::seconds(number * factor);
}

}  // namespace nccl_env::app
