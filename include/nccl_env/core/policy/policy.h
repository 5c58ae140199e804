// SPDX-License-Identifier: Apache-2.0
// NcclPolicy: which pods get what (docs/use/policy.md). Pure data; reader.h reads it.
//
//   JSON --> [ reader ] --> [ NcclPolicy ] --> [ FabricRule ], [ HcaRule ], …, constants
//                                |
//                                +--> [ PolicyVariant ]* --> [ NodeCondition ] + what it says instead
//
//   [ Reason ]: the closed set of causes for having no values     [ known_names ]: a resource's exposure
//
// The reader makes a policy and nobody changes it then: snapshots, plans and bindings share it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

// View that a pod without hostNetwork has of the node's devices, from most to least known.
enum class Exposure {
  Host,          // names and GID rows are the node's
  SubInterface,  // macvlan or ipvlan on a shared HCA: names are the node's, GID rows are not
  PodOwned,      // a VF or PF moved into the pod: neither is the node's
};
std::string_view to_string(Exposure value);
std::optional<Exposure> parse_exposure(std::string_view text);

enum class PolicyMode { Enforce, DryRun };
enum class ContainerScope { Requesting, All };
enum class OnUnresolved { Allow, Deny };
std::string_view to_string(PolicyMode value);
std::string_view to_string(ContainerScope value);
std::string_view to_string(OnUnresolved value);

struct ResourceMatch {
  std::string name;                  // fnmatch glob over extended resource names; * also matches /
  std::optional<Exposure> exposure;  // absent: the table of well-known names decides
};

struct NetworkRule {
  std::string name;                        // fnmatch glob over NAMESPACE/NAME (networks.h)
  Exposure exposure = Exposure::PodOwned;  // never Host: a network of its own has GID rows of its own
};

struct FabricRule {
  std::vector<std::string> hcas;          // globs    } these three NAME ports: a port must be known
  std::vector<std::string> netdevs;       // globs    } to match every one that is given
  std::vector<Cidr> subnets;              //          }
  std::optional<LinkLayer> link_layer;    // filters: what is unknown passes
  std::vector<std::string> exclude_hcas;  // globs
  std::optional<double> min_rate_gbps;
  std::optional<int> expect_ports;  // fewer: TooFewPorts

  [[nodiscard]] bool names_ports() const { return !hcas.empty() || !netdevs.empty() || !subnets.empty(); }
};

struct HcaRule {
  enum class Kind { FromNode, Omit, Literal } kind = Kind::FromNode;
  std::string literal;  // NCCL's list grammar
};

struct GidIndexRule {
  // Auto: an index that is right on all ports; where NcclPolicy::searches_gid(), only if NCCL's own search
  // would go wrong. Pin: always such an index, for images whose NCCL does not search.
  enum class Kind { Auto, Pin, Dynamic, Omit, Literal } kind = Kind::Auto;
  int literal = 0;  // 0-255
};

struct SocketInterfaceRule {
  enum class Kind { Omit, FromNode, Literal } kind = Kind::Omit;
  std::string literal;  // NCCL's list grammar
};

using ConstantMap = std::map<std::string, std::string, std::less<>>;  // in name order

// Selects nodes by their labels, and by their fabric as the table has it, whatever the state of its ports.
// Nothing is concluded about a node for which it is not known whether a condition holds.
struct NodeCondition {
  std::map<std::string, std::string, std::less<>> node_labels;  // key to a glob over its value
  std::optional<LinkLayer> link_layer;                          // Ethernet or InfiniBand
  std::vector<std::string> boards;  // globs over Port::board_id; every port of the fabric has to match one
  std::optional<double> min_rate_gbps;  // of the slowest port of the fabric, as if every port were up

  [[nodiscard]] bool asks_fabric() const { return link_layer || !boards.empty() || min_rate_gbps; }
};

// Differences of some nodes. The first variant that names a variable or a rule, and whose condition holds,
// decides that variable or rule; where none holds, the policy's own value does.
struct PolicyVariant {
  NodeCondition when;  // labels alone if the variant has a fabric
  ConstantMap env = {};
  std::optional<FabricRule> fabric = {};  // in place of the policy's, as a whole
  std::optional<SocketInterfaceRule> socket_interface = {};
};

// How an installation brings what a node gives to pods whose policy does not say it (--carrier).
enum class Carrier { File, EnvFile };
std::string_view to_string(Carrier value);

// Options of reading a policy.
struct PolicyOptions {
  // --allow-code-paths: values that load code (plugins, library paths), run programs or write UCX's files
  bool allow_code_paths = false;
  Carrier carrier = Carrier::File;  // --carrier; for policies in files, where no status records it
};

struct NcclPolicy {
  std::string name;
  std::int64_t generation = 1;  // metadata.generation; 1 where there is none (files)
  // When all but its status was last written, by the API server's clock: no generation is younger.
  std::optional<Timestamp> written = {};
  // Eight hex digits over what decides the values that nodes give; "" for a policy that was not read.
  std::string value_hash = {};
  PolicyMode mode = PolicyMode::Enforce;
  std::vector<ResourceMatch> resources;
  std::vector<std::string> device_classes;  // of Dynamic Resource Allocation; their devices are the pod's own
  std::vector<NetworkRule> networks;        // secondary networks that annotations ask for
  bool host_devices = false;
  std::vector<std::string> skip_resources{"vpc.amazonaws.com/efa"};
  ContainerScope containers = ContainerScope::Requesting;
  FabricRule fabric;
  HcaRule hca;
  GidIndexRule gid_index;
  std::optional<NcclVersion> min_nccl;  // the oldest NCCL in the pods' images
  SocketInterfaceRule socket_interface;
  std::optional<std::uint16_t> partition_key;  // of InfiniBand; with bit 15 only full membership counts
  // Readers of the fabric that get values; NCCL is always among them.
  std::vector<const Engine*> engines{&nccl_engine()};
  ConstantMap env;  // as read, with NCCL_IB_PKEY_VALUE where names_partition_by_value()
  std::vector<PolicyVariant> variants;
  // Delivers a node's values as fileKeyRefs in env, not set where a node has none; nccl.conf takes its place
  // where that cannot be, and without it. Constants always stand in env, and in the file, too.
  bool deliver_env_file = false;
  bool says_delivery = false;  // else the installation's --carrier decides
  OnUnresolved on_unresolved = OnUnresolved::Allow;
  // The age from which a table counts as none for the webhook, which writes that age into the status. Absent
  // in files.
  std::optional<std::chrono::seconds> max_table_age;
  // The --resolver-image of the webhook, which writes that into the status, too; "": it has none.
  std::optional<std::string> resolver_image;

  [[nodiscard]] bool serves(const Engine& engine) const {
    return std::find(engines.begin(), engines.end(), &engine) != engines.end();
  }
  // Whether every NCCL in its pods looks for the GID index by itself, and takes -1 for "look": so do releases
  // from May 2024 on, which a policy means that says nothing.
  [[nodiscard]] bool searches_gid() const { return least_nccl() >= nccl_since::kDynamicGid; }
  [[nodiscard]] NcclVersion least_nccl() const { return min_nccl.value_or(nccl_since::kDynamicGid); }
  // Whether every NCCL in its pods reads the file that NCCL_CONF_FILE names.
  [[nodiscard]] bool names_conf() const { return min_nccl && *min_nccl >= nccl_since::kNamedConf; }
  // Whether `partition_key` is a constant: NCCL_IB_PKEY_VALUE, which every NCCL in its pods reads. NCCL fails
  // where a port does not have the key, as RoCE ports do not, so the fabric has to be InfiniBand for certain.
  [[nodiscard]] bool names_partition_by_value() const {
    return partition_key && is_only(LinkLayer::InfiniBand) && min_nccl &&
           *min_nccl >= nccl_since::kPartitionByValue;
  }
  // Whether the fabric is of this link layer on all nodes, whichever variant holds.
  [[nodiscard]] bool is_only(LinkLayer layer) const;
  // True if the fabric of the policy, or that of one of its variants, is said to have this link layer.
  [[nodiscard]] bool names(LinkLayer layer) const;
  // The constants that `variants` name, in name order. On a node for which no variant holds, the values of
  // `env` count.
  [[nodiscard]] std::vector<std::string_view> varying() const;
  [[nodiscard]] bool varies(std::string_view variable) const;
  [[nodiscard]] bool varies_fabric() const;
  [[nodiscard]] bool varies_socket_interface() const;
  // A constant of all nodes or of some.
  [[nodiscard]] bool sets_constant(std::string_view variable) const {
    return env.contains(variable) || varies(variable);
  }
};

// "NVSHMEM, Gloo": engines that the policy names and cannot give what depends on a node; "" for none.
std::string unavailable_engines(const NcclPolicy& policy);

}  // namespace nccl_env
