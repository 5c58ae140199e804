// SPDX-License-Identifier: Apache-2.0
// NcclPolicy's spec, field by field, in the order in which it is read. How to use it: docs/use/policy.md.
#pragma once

#include "nccl_env/core/described/kinds.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env::described {

template <>
inline constexpr std::array words_of<Exposure> = {Words<Exposure>{"Host", Exposure::Host},
                                                  Words<Exposure>{"SubInterface", Exposure::SubInterface},
                                                  Words<Exposure>{"PodOwned", Exposure::PodOwned}};
template <>
inline constexpr std::array words_of<PolicyMode> = {Words<PolicyMode>{"Enforce", PolicyMode::Enforce},
                                                    Words<PolicyMode>{"DryRun", PolicyMode::DryRun}};
template <>
inline constexpr std::array words_of<ContainerScope> = {
    Words<ContainerScope>{"Requesting", ContainerScope::Requesting},
    Words<ContainerScope>{"All", ContainerScope::All}};
template <>
inline constexpr std::array words_of<OnUnresolved> = {Words<OnUnresolved>{"Allow", OnUnresolved::Allow},
                                                      Words<OnUnresolved>{"Deny", OnUnresolved::Deny}};

// Words of a value: some of an enumeration's, or others than its own.
template <class Value, std::size_t N>
struct OneOf {
  std::array<Words<Value>, N> words;
};
struct Above {  // a number above it
  double least;
};
struct Nested {};  // an object that is described itself

// Kinds with a grammar of their own, which src/core/policy reads.
struct HcaList {};        // a word, or a list as in NCCL_IB_HCA
struct InterfaceList {};  // a word, or a list as in NCCL_SOCKET_IFNAME
struct IndexOrWord {};    // of the GID table
struct Carriers {};       // of a node's values
struct Constants {        // a map of variables
  int most;
  int least = 0;
};
struct LabelGlobs {  // a map of globs
  int most;
};

namespace policy {

Result<std::string> parse_name_glob(std::string_view text);
Result<std::string> parse_hca_glob(std::string_view text);
Result<std::string> parse_netdev_glob(std::string_view text);
Result<std::string> parse_resource_glob(std::string_view text);
Result<std::string> parse_network_glob(std::string_view text);
Result<std::string> parse_device_class(std::string_view text);
Result<NcclVersion> parse_oldest_nccl(std::string_view text);
std::string format_key(const std::uint16_t& key);
Result<const Engine*> parse_engine(std::string_view text);
std::string format_engine(const Engine* const& engine);
std::string same(const std::string& text);

inline constexpr int kMostItems = 64;  // of a list or map

inline constexpr Text<std::string> kGlob{parse_name_glob, same, 1, 320, "[!-~]+", "mlx5_*", "A glob."};
inline constexpr Text<std::string> kResourceGlob{
    parse_resource_glob, same, 1, 320, "[!-~]+", "rdma/*", "A glob."};
inline constexpr Text<std::string> kNetworkGlob{parse_network_glob, same,       1,        320,
                                                "[!-~]+",           "*/rail-*", "A glob."};
inline constexpr Text<std::string> kDeviceClass{
    parse_device_class,
    same,
    1,
    253,
    R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)",
    "mrdma.google.com",
    "A name."};
inline constexpr Text<Cidr> kSubnet{parse_cidr,   format_cidr,        4, 49, "[0-9a-fA-F:.]+/[0-9]{1,3}",
                                    "10.0.0.0/8", "`ADDRESS/PREFIX`."};
inline constexpr Text<std::uint16_t> kKey{
    parse_partition_key, format_key, 6, 6, "0x[0-9a-fA-F]{4}", "0x8001", "`0x` and four hex digits."};
inline constexpr Text<NcclVersion> kOldestNccl{
    parse_oldest_nccl,
    format_nccl_version,
    4,
    9,
    R"(2\.(1[89]|[2-9][0-9]|[1-9][0-9]{2})(\.(0|[1-9][0-9]{0,2}))?)",
    "2.21.5",
    "A version."};
inline constexpr Texts<std::string> kHcaGlobs{{parse_hca_glob, same, 1, 320, "[!-~]+", "mlx5_*", "A glob."},
                                              kMostItems};
inline constexpr Texts<std::string> kNetdevGlobs{
    {parse_netdev_glob, same, 1, 320, "[!-~]+", "eth*", "A glob."}, kMostItems};
// A test compares the words with the catalogue's.
inline constexpr Text<const Engine*> kEngine{parse_engine, format_engine, 3, 16, "(NCCL|UCX|NVSHMEM|Gloo)",
                                             "UCX",        "A name."};

inline constexpr OneOf<std::optional<LinkLayer>, 3> kLinkLayer{
    {{{"Any", std::nullopt}, {"Ethernet", LinkLayer::Ethernet}, {"InfiniBand", LinkLayer::InfiniBand}}}};
inline constexpr OneOf<LinkLayer, 2> kConditionLinkLayer{
    {{{"Ethernet", LinkLayer::Ethernet}, {"InfiniBand", LinkLayer::InfiniBand}}}};
// Without Host, an exposure that a pod's own network cannot have.
inline constexpr OneOf<Exposure, 2> kNetworkExposure{
    {{{"SubInterface", Exposure::SubInterface}, {"PodOwned", Exposure::PodOwned}}}};

inline constexpr std::string_view kRequired = "refused";

}  // namespace policy

template <>
inline constexpr auto fields_of<ResourceMatch> = std::tuple{
    Field{"name", &ResourceMatch::name, policy::kResourceGlob, "A glob, such as rdma/hca*; * also matches /.",
          policy::kRequired},
    Field{"exposure", &ResourceMatch::exposure, Word<Exposure>{},
          "What a pod without hostNetwork sees of the node: names and GID indices (Host), names only "
          "(SubInterface), or nothing (PodOwned). Absent: by a built-in table of well-known names, else "
          "PodOwned."}};
static_assert(is_described_once<ResourceMatch>());

template <>
inline constexpr auto fields_of<NetworkRule> =
    std::tuple{Field{"name", &NetworkRule::name, policy::kNetworkGlob,
                     "A glob over NAMESPACE/NAME, such as */rail-*.", policy::kRequired},
               Field{"exposure", &NetworkRule::exposure, policy::kNetworkExposure,
                     "What a pod with that network sees of the node: device names (SubInterface), or nothing "
                     "(PodOwned)."}};
static_assert(is_described_once<NetworkRule>());

template <>
inline constexpr auto fields_of<FabricRule> = std::tuple{
    Field{
        "hcas", &FabricRule::hcas, policy::kHcaGlobs,
        "Globs over RDMA device names. A port has to match each of hcas, netdevs and subnets that is given."},
    Field{"netdevs", &FabricRule::netdevs, policy::kNetdevGlobs,
          "Globs over the names of the ports' network interfaces."},
    Field{"subnets", &FabricRule::subnets, Texts<Cidr>{policy::kSubnet, policy::kMostItems},
          "ADDRESS/PREFIX; a port with a usable GID row inside one of them."},
    Field{"linkLayer", &FabricRule::link_layer, policy::kLinkLayer,
          "Only ports of this link layer. This, excludeHcas and minRateGbps only filter, and what is unknown "
          "passes."},
    Field{"excludeHcas", &FabricRule::exclude_hcas, policy::kHcaGlobs,
          "Globs over RDMA device names that are not the fabric."},
    Field{"minRateGbps", &FabricRule::min_rate_gbps, Above{0}, "Only ports at least this fast, in Gb/s."},
    Field{"expectPorts", &FabricRule::expect_ports, Int{1, 32},
          "Fabric ports of a node; one with fewer in its table, or under Deny also of those that serve, gets "
          "no list (TooFewPorts), and so does a RoCE pod that "
          "shares them by fewer networks (PodRailsUnknown)."}};
static_assert(is_described_once<FabricRule>());

template <>
inline constexpr auto fields_of<NodeCondition> = std::tuple{
    Field{"nodeLabels", &NodeCondition::node_labels, LabelGlobs{static_cast<int>(kMaxNodeLabels)},
          "Globs over the values of the Node's labels, by key. The agent reads those that its --node-labels "
          "names. Where a node's table does not tell of one, what the variant names is left out."},
    Field{"linkLayer", &NodeCondition::link_layer, policy::kConditionLinkLayer,
          "The link layer of the fabric."},
    Field{"boards", &NodeCondition::boards, Texts<std::string>{policy::kGlob, policy::kMostItems, 1},
          "Globs over board ids, such as MT_0000000838; every port of the fabric has to match one."},
    Field{"minRateGbps", &NodeCondition::min_rate_gbps, Above{0},
          "Every port of the fabric is at least this fast when it is well, in Gb/s."}};
static_assert(is_described_once<NodeCondition>());

template <>
inline constexpr auto fields_of<PolicyVariant> = std::tuple{
    Field{
        "when", &PolicyVariant::when, Nested{},
        "Which nodes are meant, by their labels and the ports of their fabric. All conditions that are given "
        "have to hold.",
        policy::kRequired},
    Field{"env", &PolicyVariant::env, Constants{16, 1},
          "As spec.env. Delivered to the environment only variables for which empty is as unset, because a "
          "node "
          "for which no variant holds leaves them empty."},
    Field{"fabric", &PolicyVariant::fabric, Nested{},
          "As spec.fabric, and in its place as a whole. The condition may then ask for nodeLabels only."},
    Field{"socketInterface", &PolicyVariant::socket_interface, InterfaceList{},
          "As spec.socketInterface, and in its place."}};
static_assert(is_described_once<PolicyVariant>());

template <>
inline constexpr auto fields_of<NcclPolicy> = std::tuple{
    Field{"mode", &NcclPolicy::mode, Word<PolicyMode>{},
          "Enforce; or DryRun: decide, log and count, but patch nothing."},
    Group{"match",
          std::tuple{
              Field{"resources", &NcclPolicy::resources, Objects<ResourceMatch>{policy::kMostItems},
                    "Extended resources that a container requests or limits."},
              Field{"deviceClasses", &NcclPolicy::device_classes,
                    Texts<std::string>{policy::kDeviceClass, policy::kMostItems},
                    "Device classes that a container's claims ask for (Dynamic Resource Allocation). Their "
                    "devices are the pod's own."},
              Field{"networks", &NcclPolicy::networks, Objects<NetworkRule>{policy::kMostItems},
                    "Secondary networks that the pod's annotations ask for."},
              Field{"hostDevices", &NcclPolicy::host_devices, Bool{},
                    "Also hostNetwork pods that mount /dev/infiniband or /dev from the host, or whose main "
                    "containers are privileged."}},
          "Which pods are meant. At least one of the four."},
    Field{
        "skipResources", &NcclPolicy::skip_resources,
        Texts<std::string>{policy::kResourceGlob, policy::kMostItems},
        "Globs over extended resources; a pod that asks for one gets nothing. A list replaces the default."},
    Field{
        "containers", &NcclPolicy::containers, Word<ContainerScope>{},
        "Containers that name the resource or mount the device (Requesting), or All. Never ephemeral ones."},
    Field{
        "fabric", &NcclPolicy::fabric, Nested{},
        "Which of a node's ports carry the fabric. hcas, netdevs and subnets name ports; the others filter."},
    Field{"hca", &NcclPolicy::hca, HcaList{},
          "NCCL_IB_HCA: FromNode, Omit, or a list as NCCL takes it. Without a leading = names match by "
          "prefix."},
    Field{"gidIndex", &NcclPolicy::gid_index, IndexOrWord{},
          "NCCL_IB_GID_INDEX. Auto: an index that is usable on all ports, where the choice of NCCL itself "
          "would be unusable. Pin: such an index always, for images with NCCL before 2.21.5. Dynamic: never, "
          "but the address range that all ports share. Omit. Or an index, 0 to 255."},
    Field{"socketInterface", &NcclPolicy::socket_interface, InterfaceList{},
          "NCCL_SOCKET_IFNAME. Omit; FromNode: the interface of the node, for hostNetwork pods; or a list as "
          "NCCL "
          "takes it."},
    Field{"partitionKey", &NcclPolicy::partition_key, policy::kKey,
          "Partition of InfiniBand, such as 0x8001: NCCL_IB_PKEY is its index in the tables of the listed "
          "ports, "
          "where it is one for all; with bit 15 only full members count. Under linkLayer InfiniBand and "
          "nccl.minVersion 2.31.2 or later NCCL_IB_PKEY_VALUE is the key itself. Exclusive with NCCL_IB_PKEY "
          "and "
          "NCCL_IB_PKEY_VALUE in env."},
    Group{"nccl",
          std::tuple{Field{"minVersion", &NcclPolicy::min_nccl, policy::kOldestNccl,
                           "The oldest version; 2.21.5 where it is not said. Under an older one Auto is Pin, "
                           "since NCCL does not search; from 2.23.4 on the file of File leaves the "
                           "/etc/nccl.conf of an image in its place."}},
          "What is known of the NCCL in the images of the pods."},
    Field{
        "engines", &NcclPolicy::engines, Texts<const Engine*>{policy::kEngine, 4, 1},
        "Who gets values: NCCL, which is always among them and stands for RCCL as well, and UCX, NVSHMEM or "
        "Gloo, in the words of each. UCX reads ucx.conf; node values of the others go by EnvFile alone. "
        "Absent: NCCL."},
    Field{
        "env", &NcclPolicy::env, Constants{policy::kMostItems},
        "Constants that every container gets which does not set them itself. Numbers are quoted; bounds are "
        "those of docs/reference/variables.md."},
    Field{"variants", &NcclPolicy::variants, Objects<PolicyVariant>{8},  // fabrics of one namespace are few
          "Constants, fabric and socket interface of some nodes only. Of the variants that name one of them "
          "the "
          "first whose condition holds decides, else what spec says."},
    WholeField{
        "delivery", Carriers{},
        "How values of the node reach the containers. File: lines of nccl.conf, which "
        "hides that of the image before NCCL 2.23.4. EnvFile: variables in env that are not set where a node "
        "has no value, by an "
        "init container and fileKeyRef (Kubernetes 1.35), else by File. Absent: as --carrier of the webhook "
        "says. Constants stand in env in any case."},
    Field{
        "onUnresolved", &NcclPolicy::on_unresolved, Word<OnUnresolved>{},
        "Where a node gives no value: Allow starts the pod with the defaults of NCCL, Deny keeps it Pending "
        "with an event."}};
// Besides: name, generation, written, value_hash, max_table_age and resolver_image stand outside of spec, two
// members are Carriers.
static_assert(is_described_once<NcclPolicy>(8));

}  // namespace nccl_env::described
