// SPDX-License-Identifier: Apache-2.0
// rdma link: one line per port,
//   link DEV/PORT state STATE physical_state PHYS [netdev NETDEV]
//   link DEV/PORT subnet_prefix PREFIX lid LID sm_lid LID lmc LMC state STATE physical_state PHYS
// Older iproute2 writes "1/1: DEV/PORT:" in place of "link DEV/PORT". Only InfiniBand ports have a lid.
#include <algorithm>

#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

bool is_number_pair(std::string_view word) {  // "1/1:"
  const auto slash = word.find('/');
  return slash != word.npos && !word.empty() && word.back() == ':' &&
         read_number(word.substr(0, slash), 65535) &&
         read_number(word.substr(slash + 1, word.size() - slash - 2), kMaxPortNumber);
}

// Returns what is wrong; "" if all could be read.
std::string read_port(const Line& line, Port& port) {
  std::string_view name = line.word(1);
  if (line.word(0) != "link" && name.back() == ':') name.remove_suffix(1);
  const auto slash = name.rfind('/');
  const auto number = slash == name.npos ? std::nullopt : read_port_number(name.substr(slash + 1));
  port.hca = name.substr(0, slash);
  if (!number || !is_hca_name(port.hca)) return expected("link DEVICE/PORT", line.word(1));
  port.number = *number;
  bool has_lid = false;
  for (std::size_t at = 2; at < line.words.size() && line.word(at) != "caps:"; at += 2) {  // of rdma -d link
    const auto key = line.word(at), value = line.word(at + 1);
    if (value.empty()) return "expected a value after " + quote(key);
    if (key == "state") {
      port.state = read_state_name(value);
      if (!port.state) return expected("state ACTIVE, ARMED, INIT or DOWN", value);
    } else if (key == "netdev") {
      if (!is_plain_netdev_name(value)) return expected("a netdev name", value);
      port.netdev = std::string(value);
    } else if (key == "subnet_prefix" || key == "lid") {
      has_lid = true;
    }
  }
  if (!port.state) return "expected state and its value after " + quote(line.word(1));
  // The kernel gives a LID only for InfiniBand ports; a netdev beside a LID is IPoIB's.
  if (has_lid || port.netdev) port.link_layer = has_lid ? LinkLayer::InfiniBand : LinkLayer::Ethernet;
  return {};
}

class RdmaLinkReader : public Reader {
 public:
  using Reader::Reader;

  [[nodiscard]] bool begins(const Line& line) const override {
    const auto slash = line.word(1).rfind('/');
    if (slash == std::string_view::npos) return false;
    if (is_number_pair(line.word(0))) return true;
    // Tells a spoilt row from "link https://…".
    const bool names_state = std::ranges::count(line.words, "state") > 0;
    return line.word(0) == "link" && (is_port_column(line.word(1).substr(slash + 1)) || names_state);
  }

  bool take(const Line& line) override {
    if (!begins(line)) return false;
    PortFacts told;
    told.line = line.number;
    const std::string problem = read_port(line, told.port);
    if (problem.empty())
      facts_.add(std::move(told));
    else
      facts_.problem(line.number, problem);
    return true;
  }
};

}  // namespace

std::unique_ptr<Reader> make_rdma_link_reader(Facts& facts) {
  return std::make_unique<RdmaLinkReader>(facts);
}

}  // namespace nccl_env::listing
