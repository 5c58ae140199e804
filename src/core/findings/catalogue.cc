// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/findings/catalogue.h"

#include <array>

#include "nccl_env/core/text/enum_names.h"

namespace nccl_env {
namespace {

constexpr std::string_view kCli = "docs/reference/cli.md";
constexpr std::string_view kDoctor = "docs/use/doctor.md";

struct Row {
  Code code;
  Named words;
};

constexpr std::array kRows{
    Row{Code::ObjectRefused,
        {"ObjectRefused", "An object could not be read, and so does not count.",
         "Correct what the sentence names; `nccl-env policy check` and `nccl-env table show` read one file.",
         Impact::None, kDoctor}},
    Row{Code::NoFabric,
        {"NoFabric", "A node offers no fabric port: its pods get no HCA list.",
         "Look at the node's table with `nccl-env table show`, and name the fabric in the policy "
         "(spec.fabric). A node without RDMA devices needs nothing.",
         Impact::Policy, kDoctor}},
    Row{Code::PortDown,
        {"PortDown", "A port of the fabric is not Active.",
         "Check cable, transceiver and switch port, on InfiniBand also the subnet manager; jobs run with "
         "one rail less until the port is up.",
         Impact::Node, kDoctor}},
    Row{Code::HcaMissing,
        {"HcaMissing", "A node lacks an HCA port that its pool has.",
         "Look for the device in lspci and for its driver in dmesg on the node; reseat or replace the card.",
         Impact::Node, kDoctor}},
    Row{Code::HcasDiffer,
        {"HcasDiffer", "A node's HCAs have other names than its pool's, or there are more of them.",
         "Give devices the same names on all nodes (udev rules, the same PCI slots): NCCL pairs rails of two "
         "nodes by their order, and a literal list in a policy names devices that are not there.",
         Impact::Node, kDoctor}},
    Row{Code::HardwareDiffers,
        {"HardwareDiffers", "A port has another driver, link layer or board than its pool's.",
         "Compare card and firmware (ibv_devinfo, mstflint); put nodes with other hardware into a pool and "
         "policy of their own.",
         Impact::Node, kDoctor}},
    Row{Code::RateLow,
        {"RateLow", "A port runs slower than the same port of its pool.",
         "Reseat or replace cable and transceiver; compare the switch port's speed and lanes.", Impact::Node,
         kDoctor}},
    Row{Code::MtuDiffers,
        {"MtuDiffers", "A port's MTU differs from its pool's.",
         "Set the same MTU on netdev, switch and peers: netdev 4200 or more gives RoCE 4096, 1500 gives "
         "1024.",
         Impact::Node, kDoctor}},
    Row{Code::NoAddress,
        {"NoAddress", "A RoCE port has no address that the fabric can use.",
         "Give the port's netdev its address (DHCP, netplan, the network operator), and bring it up.",
         Impact::Node, kDoctor}},
    Row{Code::DuplicateAddress,
        {"DuplicateAddress", "Two ports have one address.",
         "Give one of them another address; look for a cloned configuration.", Impact::Node, kDoctor}},
    Row{Code::GidIndexDiffers,
        {"GidIndexDiffers", "The GID index of the fabric's address differs inside a node or between nodes.",
         "Make the netdevs' addresses the same in number and order (one IPv4 address, the same IPv6 setting, "
         "no leftover VLAN), then restart the netdev; until then let nothing but the node's own value set "
         "NCCL_IB_GID_INDEX, or say nccl.minVersion 2.21.5 or later in the policy, if the images have it.",
         Impact::Node, kDoctor}},
    Row{Code::GidIndexMoved,
        {"GidIndexMoved",
         "An address left its GID index while the node was up; pods hold the index they were bound with.",
         "Create the named pods anew. Find what takes the address away (link, DHCP lease, network manager) "
         "and keep it; for a day no index of that address is pinned; nccl.minVersion 2.21.5 or later pins "
         "fewer.",
         Impact::PodAnew, kDoctor}},
    Row{Code::SubnetDiffers,
        {"SubnetDiffers", "A rail's address is in another subnet than the same rail of its pool.",
         "Check for swapped cables and for the netdev's address and prefix.", Impact::Node, kDoctor}},
    Row{Code::StaleTable,
        {"StaleTable", "A table is older than the webhook accepts.",
         "Look at the agent's pod on that node, which refreshes the table every hour, and at the node's "
         "clock.",
         Impact::None, kDoctor}},
    Row{Code::PolicyField,
        {"PolicyField", "A field of a policy is refused, or has a side effect.", {}, Impact::Policy, kCli}},
};

static_assert(in_order(kRows, &Row::code));
static_assert(static_cast<std::size_t>(Code::PolicyField) + 1 == kRows.size());

constexpr auto kCodes = [] {
  std::array<Code, kRows.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].code;
  return all;
}();

}  // namespace

std::string_view to_string(Impact impact) {
  constexpr std::array<std::string_view, 4> kNames{"none", "podAnew", "node", "policy"};
  return name_in(kNames, impact);
}

const Named& words_of(Code code) {
  return kRows[static_cast<std::size_t>(code)].words;
}

std::optional<Code> parse_code(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.words.name == name) return row.code;
  }
  return std::nullopt;
}

std::span<const Code> all_codes() {
  return kCodes;
}

}  // namespace nccl_env
