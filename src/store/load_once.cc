// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/load_once.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "manifest_file.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::store {
namespace {

// The first of a name counts, as in a store.
template <class T>
void take(const std::vector<std::shared_ptr<const T>>& from, const std::string& kind, const std::string& file,
          std::vector<std::shared_ptr<const T>>& into, std::vector<std::string>& problems) {
  for (const auto& object : from) {
    const auto same = [&](const auto& other) { return other->name == object->name; };
    if (std::any_of(into.begin(), into.end(), same)) {
      problems.push_back(file + ": " + kind + " " + object->name + " is given twice; this one is ignored");
    } else {
      into.push_back(object);
    }
  }
}

}  // namespace

Result<Reading> read_directory(const std::filesystem::path& path, const PolicyOptions& options) {
  const auto names = manifests_in(path);
  if (!names) return names.error();
  Reading reading;
  for (const std::filesystem::path& name : *names) {
    ManifestFile file(name);
    file.refresh(options);
    if (!file.problem().empty()) reading.problems.push_back(file.problem());
    take(file.objects().tables, "NodeFabric", file.name(), reading.objects.tables, reading.problems);
    take(file.objects().policies, "NcclPolicy", file.name(), reading.objects.policies, reading.problems);
  }
  return reading;
}

Result<Reading> read_cluster(kube::ApiServer& api, const PolicyOptions& options) {
  Reading reading;
  const auto add = [&](const nlohmann::json& item) { add_object(item, options, reading.objects); };
  // The items of a typed list have neither kind nor apiVersion of their own in what some servers send.
  const auto add_as = [&](const char* kind) {
    return [&add, kind](const nlohmann::json& item) {
      if (item.contains("kind")) return add(item);
      nlohmann::json named = item;
      named["kind"] = kind;
      named["apiVersion"] = "nccl-env.io/v1alpha1";
      add(named);
    };
  };
  const std::string group = "/apis/nccl-env.io/v1alpha1/";
  if (const Status tables = kube::list_all(api, group + "nodefabrics", add_as("NodeFabric")); !tables)
    return tables.error();
  if (const Status policies = kube::list_all(api, group + "ncclpolicies", add_as("NcclPolicy")); !policies)
    return policies.error();
  reading.problems = std::move(reading.objects.problems);
  return reading;
}

}  // namespace nccl_env::store
