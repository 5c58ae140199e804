// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/doctor/print.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

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
          "Look at the node's table with `nccl-env table show`, and name the fabric in the policy "
          "(spec.fabric). A node without RDMA devices needs nothing."},
    Entry{DoctorCheck::PortDown, "PortDown", "A port of the fabric is not Active.",
          "Check cable, transceiver and switch port, on InfiniBand also the subnet manager; jobs run with "
          "one rail less until the port is up."},
    Entry{
        DoctorCheck::HcaMissing, "HcaMissing", "A node lacks an HCA port that its pool has.",
        "Look for the device in lspci and for its driver in dmesg on the node; reseat or replace the card."},
    Entry{
        DoctorCheck::HcasDiffer, "HcasDiffer",
        "A node's HCAs have other names than its pool's, or there are more of them.",
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
        "NCCL_IB_GID_INDEX, or say nccl.minVersion 2.21.5 or later in the policy, if the images have it."},
    Entry{DoctorCheck::GidIndexMoved, "GidIndexMoved",
          "An address left its GID index while the node was up; pods hold the index they were bound with.",
          "Create the named pods anew. Find what takes the address away (link, DHCP lease, network manager) "
          "and keep it; for a day no index of that address is pinned; nccl.minVersion 2.21.5 or later pins "
          "fewer."},
    Entry{DoctorCheck::SubnetDiffers, "SubnetDiffers",
          "A rail's address is in another subnet than the same rail of its pool.",
          "Check for swapped cables and for the netdev's address and prefix."},
    Entry{DoctorCheck::StaleTable, "StaleTable", "A table is older than the webhook accepts.",
          "Look at the agent's pod on that node, which refreshes the table every hour, and at the node's "
          "clock."},
};

static_assert(in_order(kEntries, &Entry::check));

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

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kSeverities = 3;
// Indent, gaps and 34 characters; less is a column of single words.
constexpr std::size_t kLeastEvidence = 40;
// A pool's nodes by name: enough to identify the pool.
constexpr std::size_t kMostNodes = 3;

std::size_t findings_of(const Diagnosis& diagnosis, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

// Tells of ports that no check could judge: that does not make them healthy.
std::string unknown_line(const Diagnosis& diagnosis) {
  std::size_t ports = 0;
  int unknown = 0;
  for (const NodeState& node : diagnosis.nodes) {
    ports += node.hcas.size();
    unknown += node.unknown_states;
  }
  if (unknown == 0) return {};
  return "state not known for " + std::to_string(unknown) + " of " + count_of(ports, "fabric port") + "\n";
}

std::string headline(const Diagnosis& diagnosis) {
  std::string text =
      count_of(diagnosis.nodes.size(), "node") + ", " + count_of(diagnosis.pools.size(), "pool") + ": ";
  std::string found;
  for (std::size_t i = 0; i < kSeverities; ++i) {
    const auto severity = static_cast<Severity>(i);
    const std::size_t count = findings_of(diagnosis, severity);
    if (count == 0) continue;
    found += (found.empty() ? "" : ", ") + (severity == Severity::Info
                                                ? std::to_string(count) + " info"
                                                : count_of(count, std::string(to_string(severity))));
  }
  return text +
         (found.empty()           ? "healthy"
          : is_healthy(diagnosis) ? "healthy, " + found
                                  : found) +
         "\n" + unknown_line(diagnosis);
}

// True if the two, of one check, differ in nothing but the HCA.
bool is_same(const Finding& left, const Finding& right) {
  return left.node == right.node && left.pool == right.pool && left.evidence == right.evidence;
}

// Findings of one check and severity, which stand together.
std::string section(std::vector<Finding>::const_iterator begin, std::vector<Finding>::const_iterator end) {
  std::string text =
      "\n" + paragraph(std::string(to_string(begin->severity)) + " " + std::string(to_string(begin->check)) +
                           ": " + std::string(meaning(begin->check)),
                       0);
  TextColumns columns(2);
  std::string stacked;
  std::size_t longest_where = 0, longest_hca = 0;
  for (auto finding = begin; finding != end;) {
    std::string where = finding->node.empty() ? finding->pool : finding->node;
    if (where.empty()) where = "-";
    const std::string& evidence = finding->evidence;
    std::vector<std::string> ports;  // with the same evidence
    for (const Finding& first = *finding; finding != end && is_same(*finding, first); ++finding) {
      ports.insert(ports.end(), finding->ports.begin(), finding->ports.end());
    }
    const std::string hca = ports.empty() ? "-" : short_hca_list(ports);
    longest_where = std::max(longest_where, where.size());
    longest_hca = std::max(longest_hca, hca.size());
    stacked += paragraph(where + "  " + hca, 2) + paragraph(evidence, 6);
    columns.add({std::move(where), hca, evidence});
  }
  const bool room = longest_where + longest_hca + kLeastEvidence <= kTextWidth;
  return text + (room ? columns.render() : stacked) +
         paragraph("Do: " + std::string(remedy(begin->check)), 2);
}

std::string pools_text(const std::vector<Pool>& pools) {
  if (pools.empty()) return {};
  TextColumns columns(2);
  for (const Pool& pool : pools)
    columns.add({pool.name, count_of(pool.nodes.size(), "node"),
                 pool.shape + ": " + join_some(pool.nodes, kMostNodes)});
  return "\npools\n" + columns.render();
}

}  // namespace

std::string render_text(const Diagnosis& diagnosis) {
  std::string text = headline(diagnosis);
  for (auto begin = diagnosis.findings.begin(); begin != diagnosis.findings.end();) {
    const auto end = std::find_if(begin, diagnosis.findings.end(), [&](const Finding& finding) {
      return finding.check != begin->check || finding.severity != begin->severity;
    });
    text += section(begin, end);
    begin = end;
  }
  return text + pools_text(diagnosis.pools);
}

OrderedJson to_json(const Finding& finding) {
  return {{"check", to_string(finding.check)},  {"severity", to_string(finding.severity)},
          {"node", text_or_null(finding.node)}, {"hca", text_or_null(ports_text(finding))},
          {"pool", text_or_null(finding.pool)}, {"evidence", finding.evidence},
          {"remedy", remedy(finding.check)}};
}

OrderedJson to_json(const Diagnosis& diagnosis) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_healthy(diagnosis);
  json["nodes"] = diagnosis.nodes.size();
  json["errors"] = findings_of(diagnosis, Severity::Error);
  json["warnings"] = findings_of(diagnosis, Severity::Warning);
  json["infos"] = findings_of(diagnosis, Severity::Info);
  json["findings"] = OrderedJson::array();
  for (const Finding& finding : diagnosis.findings) json["findings"].push_back(to_json(finding));
  json["pools"] = OrderedJson::array();
  for (const Pool& pool : diagnosis.pools)
    json["pools"].push_back({{"name", pool.name}, {"shape", pool.shape}, {"nodes", pool.nodes}});
  return json;
}

}  // namespace nccl_env
