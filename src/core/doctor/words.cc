// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "nccl_env/core/doctor/doctor.h"

namespace nccl_env {
namespace {

struct Entry {
  DoctorCheck check;
  std::string_view name;
  std::string_view meaning;
  std::string_view remedy;
};

constexpr std::array kEntries{
    Entry{
        DoctorCheck::ObjectRefused, "ObjectRefused", "An object could not be read, and so does not count.",
        "Correct what the sentence names; `nccl-env policy check` and `nccl-env table show` read one file."},
    Entry{DoctorCheck::NoFabric, "NoFabric", "A node offers no fabric port: its pods get no HCA list.",
          "Run `nccl-env table show` on the node's table, and name the fabric in the policy (spec.fabric)."},
    Entry{DoctorCheck::PortDown, "PortDown", "A port of the fabric is not Active.",
          "Check cable, transceiver and switch port, on InfiniBand also the subnet manager; jobs run with a "
          "rail less until it is up."},
    Entry{
        DoctorCheck::HcaMissing, "HcaMissing", "A node lacks an HCA port that its pool has.",
        "Look for the device in lspci and for its driver in dmesg on the node; reseat or replace the card."},
    Entry{
        DoctorCheck::HcasDiffer, "HcasDiffer", "A node's HCAs have other names than its pool's, or more.",
        "Give devices the same names on all nodes (udev rules, the same PCI slots): NCCL pairs rails of two "
        "nodes by their order, and a literal list in a policy names devices that are not there."},
    Entry{DoctorCheck::HardwareDiffers, "HardwareDiffers",
          "A port has another driver, link layer or board than its pool's.",
          "Compare card and firmware (ibv_devinfo, mstflint); put nodes with other hardware into a pool and "
          "policy of their own."},
    Entry{DoctorCheck::RateLow, "RateLow", "A port runs slower than the same port of its pool.",
          "Reseat or replace cable and transceiver; compare the switch port's speed and lanes."},
    Entry{DoctorCheck::MtuDiffers, "MtuDiffers", "A port's MTU differs from its pool's.",
          "Set the same MTU on netdev, switch and peers: netdev 4200 or more gives RoCE 4096, 1500 gives "
          "1024."},
    Entry{DoctorCheck::NoAddress, "NoAddress", "A RoCE port has no address that the fabric can use.",
          "Give the port's netdev its address (DHCP, netplan, the network operator), and bring it up."},
    Entry{DoctorCheck::DuplicateAddress, "DuplicateAddress", "Two ports have one address.",
          "Give one of them another address; look for a cloned configuration."},
    Entry{
        DoctorCheck::GidIndexDiffers, "GidIndexDiffers",
        "The GID index of the fabric's address differs inside a node or between nodes.",
        "Make the netdevs' addresses the same in number and order (one IPv4 address, the same IPv6 setting, "
        "no leftover VLAN), then restart the netdev; until then let nothing but the node's own value set "
        "NCCL_IB_GID_INDEX, or use gidIndex: Dynamic with NCCL 2.21 or newer."},
    Entry{DoctorCheck::SubnetDiffers, "SubnetDiffers",
          "A rail's address is in another subnet than the same rail of its pool.",
          "Check for swapped cables and for the netdev's address and prefix."},
    Entry{
        DoctorCheck::FlatSubnet, "FlatSubnet", "Several rails of a node share one subnet.",
        "Nothing, if the nodes have a routing table per rail, arp_ignore=1, arp_announce=2 and rp_filter=2; "
        "else answers leave by another rail than they came."},
    Entry{
        DoctorCheck::StaleTable, "StaleTable", "A table is older than the webhook accepts.",
        "Look at the agent's pod on that node: it refreshes the table every hour; and at the node's clock."},
};

constexpr auto kChecks = [] {
  std::array<DoctorCheck, kEntries.size()> checks{};
  for (std::size_t i = 0; i < kEntries.size(); ++i) checks[i] = kEntries[i].check;
  return checks;
}();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<std::size_t>(kEntries[i].check) != i) return false;
  }
  return true;
}
static_assert(in_order());

const Entry& entry_of(DoctorCheck check) {
  return kEntries[static_cast<std::size_t>(check)];
}

}  // namespace

std::string_view to_string(DoctorCheck check) {
  return entry_of(check).name;
}

std::string_view meaning(DoctorCheck check) {
  return entry_of(check).meaning;
}

std::string_view remedy(DoctorCheck check) {
  return entry_of(check).remedy;
}

std::span<const DoctorCheck> all_doctor_checks() {
  return kChecks;
}

}  // namespace nccl_env
