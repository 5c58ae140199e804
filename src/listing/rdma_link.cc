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

// Tells a spoilt row from "link https://…".
bool names_state(const Line& line) {
  return std::find(line.words.begin(), line.words.end(), "state") != line.words.end();
}

class RdmaLinkReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override {
    const auto slash = line.word(1).rfind('/');
    if (slash == std::string_view::npos) return false;
    if (is_number_pair(line.word(0))) return true;
    return line.word(0) == "link" && (is_port_column(line.word(1).substr(slash + 1)) || names_state(line));
  }

  bool take(const Line& line, Facts& facts) override {
    if (!begins(line)) return false;
    PortFacts told;
    told.line = line.number;
    if (read_port(line, told.port, facts) && read_fields(line, told.port, facts)) facts.add(std::move(told));
    return true;
  }

 private:
  static bool read_port(const Line& line, Port& port, Facts& facts);
  static bool read_fields(const Line& line, Port& port, Facts& facts);
};

bool RdmaLinkReader::read_port(const Line& line, Port& port, Facts& facts) {
  std::string_view name = line.word(1);
  if (line.word(0) != "link" && name.back() == ':') name.remove_suffix(1);
  const auto slash = name.rfind('/');
  const auto number = slash == name.npos ? std::nullopt : read_port_number(name.substr(slash + 1));
  if (!number || !is_hca_name(name.substr(0, slash))) {
    facts.problem(line.number, "expected link DEVICE/PORT, not " + quote(line.word(1)));
    return false;
  }
  port.hca = name.substr(0, slash);
  port.number = *number;
  return true;
}

bool RdmaLinkReader::read_fields(const Line& line, Port& port, Facts& facts) {
  const auto refuse = [&](const std::string& message) {
    facts.problem(line.number, message);
    return false;
  };
  bool has_lid = false;
  for (std::size_t at = 2; at < line.words.size(); at += 2) {
    const auto key = line.word(at);
    const auto value = line.word(at + 1);
    if (key == "caps:") break;  // rdma -d link: details follow
    if (value.empty()) return refuse("expected a value after " + quote(key));
    if (key == "state") {
      const auto known = read_state_name(value);
      if (!known) return refuse("expected state ACTIVE, ARMED, INIT or DOWN, not " + quote(value));
      port.state = *known;
    } else if (key == "netdev") {
      if (!is_plain_netdev_name(value)) return refuse("expected a netdev name, not " + quote(value));
      port.netdev = std::string(value);
    } else if (key == "subnet_prefix" || key == "lid") {
      has_lid = true;
    }
  }
  if (!port.state) return refuse("expected state and its value after " + quote(line.word(1)));
  // The kernel gives a LID only for InfiniBand ports; a netdev beside a LID is IPoIB's.
  if (has_lid || port.netdev) port.link_layer = has_lid ? LinkLayer::InfiniBand : LinkLayer::Ethernet;
  return true;
}

}  // namespace

std::unique_ptr<Reader> make_rdma_link_reader() {
  return std::make_unique<RdmaLinkReader>();
}

}  // namespace nccl_env::listing
