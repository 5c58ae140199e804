// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/keys.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {
namespace {

constexpr std::string_view kOpenPath = "metadata.annotations['";
constexpr std::string_view kClosePath = "']";

constexpr std::array kNodeVariables{variable::kIbHca,         variable::kIbGidIndex, variable::kIbAddrFamily,
                                    variable::kIbAddrRange,   variable::kIbPkey,     variable::kSocketIfname,
                                    variable::kNvshmemHcaList};
constexpr std::array kSubInterfaceVariables{variable::kIbHca, variable::kIbPkey, variable::kNvshmemHcaList};

// manifests/base/bound-pods.yaml names the same prefixes; a test compares the two.
constexpr std::array kNodeKeys{
    NodeKeys{"hostnetwork.nccl-env.io/", Exposure::Host, true, {}},
    NodeKeys{"host.nccl-env.io/", Exposure::Host, false, kNodeVariables},
    NodeKeys{"subinterface.nccl-env.io/", Exposure::SubInterface, false, kSubInterfaceVariables},
    NodeKeys{"podowned.nccl-env.io/", Exposure::PodOwned, false, {}},
    NodeKeys{key::kConstantPrefix, Exposure::PodOwned, false, {}, false}};

}  // namespace

std::span<const std::string_view> node_variables() {
  return kNodeVariables;
}
std::span<const NodeKeys> node_keys() {
  return kNodeKeys;
}

const NodeKeys& keys_of(Exposure exposure, bool host_network) {
  return *std::find_if(kNodeKeys.begin(), kNodeKeys.end(), [&](const NodeKeys& keys) {
    return keys.exposure == exposure && (exposure != Exposure::Host || keys.host_network == host_network);
  });
}

const NodeKeys* keys_with(std::string_view annotation_key) {
  const auto found = std::find_if(kNodeKeys.begin(), kNodeKeys.end(), [&](const NodeKeys& keys) {
    return annotation_key.starts_with(keys.prefix);
  });
  return found == kNodeKeys.end() ? nullptr : &*found;
}

const NodeKeys* keys_of_text(std::string_view annotation_key) {
  const NodeKeys* keys = keys_with(annotation_key);
  if (!keys || !keys->has_text) return nullptr;
  const std::string_view name = annotation_key.substr(keys->prefix.size());
  const bool nccls = name == conf_file::kName || (keys->has_list() && name == conf_file::kNvshmemText);
  const auto is_file = [&](const Engine* engine) { return !name.empty() && engine->file == name; };
  const auto engines = other_engines();
  return nccls || std::any_of(engines.begin(), engines.end(), is_file) ? keys : nullptr;
}

bool is_node_key(std::string_view annotation_key) {
  return annotation_key == key::kNode || keys_with(annotation_key);
}

bool is_own_key(std::string_view annotation_key) {
  return annotation_key == key::kStatus || is_node_key(annotation_key);
}

std::string field_path(std::string_view annotation_key) {
  std::string path;
  path.reserve(64);  // the longest of ours
  return path.append(kOpenPath).append(annotation_key).append(kClosePath);
}

std::string_view annotation_of(std::string_view field_path) {
  if (!field_path.starts_with(kOpenPath)) return {};
  field_path.remove_prefix(kOpenPath.size());  // first: the two parts must not overlap
  if (!field_path.ends_with(kClosePath)) return {};
  field_path.remove_suffix(kClosePath.size());
  return field_path;
}

}  // namespace nccl_env
