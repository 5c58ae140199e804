// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/load_once.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "manifest_file.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/kube/paths.h"

namespace nccl_env::store {
namespace {

std::string_view name_of(const SharedTable& table) {
  return table->name();
}
std::string_view name_of(const std::shared_ptr<const NcclPolicy>& policy) {
  return policy->name;
}

// Takes the first object of each name, as a store does.
template <class T>
void take(const std::vector<T>& from, const std::string& kind, const std::string& file, std::vector<T>& into,
          std::set<std::string, std::less<>>& names, std::vector<Objects::Problem>& problems) {
  for (const T& object : from) {
    const std::string name(name_of(object));
    if (names.insert(name).second) {
      into.push_back(object);
    } else {
      problems.push_back(
          {kind, file + ": " + kind + " " + name + " is given twice; this one is ignored", name});
    }
  }
}

Reading reading_of(Objects objects) {
  Reading reading{{}, std::move(objects.policies), std::move(objects.problems)};
  reading.tables.reserve(objects.tables.size());
  for (const SharedTable& table : objects.tables)
    reading.tables.push_back(std::make_shared<const NodeFabric>(table->unpack()));
  return reading;
}

}  // namespace

Result<Reading> read_directory(const std::filesystem::path& path, const PolicyOptions& options) {
  const auto names = manifests_in(path);
  if (!names) return names.error();
  Objects all;
  std::set<std::string, std::less<>> tables, policies;
  for (const std::string& name : *names) {
    ManifestFile file;
    file.refresh(name, options);
    if (!file.problem().empty()) all.problems.push_back({"", file.problem()});
    take(file.objects().tables, "NodeFabric", file_name(name), all.tables, tables, all.problems);
    take(file.objects().policies, "NcclPolicy", file_name(name), all.policies, policies, all.problems);
  }
  return reading_of(std::move(all));
}

Result<Reading> read_cluster(kube::ApiServer& api, const PolicyOptions& options) {
  Objects all;
  const auto add = [&](const nlohmann::json& item) { add_object(item, options, all); };
  // Some servers send typed lists whose items have no kind and no apiVersion of their own.
  const auto add_as = [&](const char* kind) {
    return [&add, kind](const nlohmann::json& item) {
      if (item.contains("kind")) return add(item);
      nlohmann::json named = item;
      named["kind"] = kind;
      named["apiVersion"] = "nccl-env.io/v1alpha1";
      add(named);
    };
  };
  if (const Status tables = kube::list_all(api, path_of(kube::kTables), add_as("NodeFabric")); !tables)
    return tables.error();
  if (const Status policies = kube::list_all(api, path_of(kube::kPolicies), add_as("NcclPolicy")); !policies)
    return policies.error();
  return reading_of(std::move(all));
}

}  // namespace nccl_env::store
