// SPDX-License-Identifier: Apache-2.0
// ibv_devinfo: a block per device that begins with hca_id:, with "key:   value" lines of the device, then
// for each port a line port:, and the port's lines. With -v also many capability lines, and at the end of
// each port its valid GID rows: "GID[  1]:   ::ffff:10.22.116.221, RoCE v2" (older ones: no type).
#include <algorithm>

#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

// fw_ver, max_mr_size, …, and the one key of two words.
bool is_plain_key(std::string_view key) {
  if (key == "completion timestamp_mask") return true;
  return std::all_of(key.begin(), key.end(),
                     [](char c) { return is_lower_letter(c) || is_digit(c) || c == '_'; });
}

bool is_capability(const Line& line) {  // RC_RNR_NAK_GEN; "Unknown flags: 0x8000"
  if (line.word(0) == "Unknown" && line.word(1) == "flags:") return true;
  return line.words.size() == 1 && is_variable_name(line.text);
}

// "4X (2)" times "25.0 Gbps (32)", where the speed is one lane's. Nothing for "invalid speed (0)".
std::optional<double> lanes_of(std::string_view width) {
  const auto x = width.find('X');
  return x == width.npos ? std::nullopt : read_decimal(width.substr(0, x));
}

std::optional<double> lane_speed_of(std::string_view speed) {
  const auto unit = speed.find(" Gbps");
  return unit == speed.npos ? std::nullopt : read_decimal(speed.substr(0, unit));
}

std::optional<LinkLayer> read_link_layer(std::string_view text) {
  if (text == "Ethernet") return LinkLayer::Ethernet;
  if (text == "InfiniBand") return LinkLayer::InfiniBand;
  if (text == "Unspecified" || text == "Unknown") return LinkLayer::Unspecified;
  return std::nullopt;
}

// "InfiniBand (0)", without the number.
std::optional<std::string> read_transport(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(" ("));
  for (const std::string_view known : {"InfiniBand", "iWARP", "eRDMA", "usNIC", "usNIC UDP", "unspecified"}) {
    if (name == known) return std::string(name);
  }
  return std::nullopt;
}

std::optional<GidType> read_type(std::string_view text) {
  if (text == "RoCE v2") return GidType::RoCEv2;
  if (text == "RoCE v1") return GidType::RoCEv1;
  return text == "IB" ? std::optional(GidType::IB) : std::nullopt;
}

// A device, as far as its lines have been read.
struct Block {
  std::string hca;
  int last = 0;  // line
  std::size_t problems_before = 0;
  std::vector<PortFacts> ports;          // at most 256, whatever is repeated in the block
  std::optional<std::string> transport;  // as printed, without its number
  std::optional<std::string> board;
  std::optional<std::string> guid;  // of the system image
  std::optional<int> count;         // of ports, as announced
  int counted_at = 0;
  std::optional<double> lanes;  // of the port at hand
  bool verbose = false;         // the port at hand shows lines of -v …
  bool has_speed = false;       // … and active_speed, the last one before its GIDs

  [[nodiscard]] PortFacts* port() { return ports.empty() ? nullptr : &ports.back(); }
  // Another port or device follows: the lines of the port at hand are complete.
  void end_port() {
    if (port() && verbose && has_speed && port()->rows.empty()) port()->no_gid = true;
  }

  // Says what its end lacks; "": nothing.
  [[nodiscard]] std::string missing() const {
    if (verbose && !has_speed) return "the last lines of its port (active_speed)";
    if (!transport) return "transport";
    if (!count) return "phys_port_cnt";
    if (ports.empty()) return "its ports";
    for (const PortFacts& told : ports) {
      const std::string name = " of port " + std::to_string(told.port.number);
      if (!told.port.state) return "the state" + name;
      if (!told.port.link_layer) return "the link layer" + name;
    }
    return {};
  }

  // The verbs have one transport for InfiniBand and RoCE; the link layer tells them apart.
  [[nodiscard]] std::optional<Transport> transport_of(const Port& port) const {
    if (transport == "iWARP") return Transport::iWARP;
    if (transport == "eRDMA") return Transport::eRDMA;
    if (transport != "InfiniBand") return std::nullopt;
    if (port.link_layer == LinkLayer::Ethernet) return Transport::RoCE;
    return port.link_layer == LinkLayer::InfiniBand ? std::optional(Transport::InfiniBand) : std::nullopt;
  }
};

class IbvDevinfoReader : public Reader {
 public:
  using Reader::Reader;

  [[nodiscard]] bool begins(const Line& line) const override { return line.text.starts_with("hca_id:"); }

  bool take(const Line& line) override {
    const auto field = split_key_value(line.text);
    if (begins(line)) {
      if (block_) block_->end_port();
      finish();
      block_.emplace();
      block_->hca = field->value;
      block_->last = line.number;
      block_->problems_before = facts_.problem_count;
      if (!is_hca_name(field->value))
        facts_.problem(line.number, expected("a device name after hca_id:", field->value));
      return true;
    }
    if (!block_) return false;
    const bool taken = (field && read_field(line, *field)) || is_capability(line);
    if (taken) block_->last = line.number;
    return taken;
  }

  // A block with a line that wasn't understood has been reported and gives nothing.
  void finish() override {
    if (!block_) return;
    const Block& block = *block_;
    const std::string missing = block.missing();
    if (!missing.empty()) {
      tell_missing(missing);
    } else if (*block.count != static_cast<int>(block.ports.size())) {
      facts_.problem(block.last, "the block of " + quote(block.hca) + " ends here with " +
                                     std::to_string(block.ports.size()) + " of the " +
                                     std::to_string(*block.count) + " ports that line " +
                                     std::to_string(block.counted_at) + " announces");
    }
    if (facts_.problem_count != block.problems_before) block_->ports.clear();
    for (PortFacts& told : block_->ports) {
      told.port.transport = block.transport_of(told.port);
      told.port.sys_image_guid = block.guid;
      told.port.board_id = block.board;
      facts_.add(std::move(told));
    }
    block_.reset();
  }

 private:
  // Reports that the block ends without `what`.
  void tell_missing(const std::string& what) {
    if (facts_.problem_count != block_->problems_before) return;  // it may be in the line that was refused
    facts_.problem(block_->last, "the block of " + quote(block_->hca) + " ends here without " + what);
  }

  // A value that stands twice in a block has to be the same. `wanted` is said of one that cannot be read.
  template <class T>
  void state(std::optional<T>& known, const std::optional<T>& next, const Line& line,
             const char* wanted = nullptr) {
    if (!next) {
      if (wanted) facts_.problem(line.number, expected(wanted, split_key_value(line.text)->value));
    } else if (known && *known != *next) {
      facts_.problem(line.number, "the block says something else above: " + quote(line.text));
    } else {
      known = next;
    }
  }

  bool read_field(const Line& line, const KeyValue& field) {
    const auto& [key, value] = field;
    if (key == "transport") {
      state(block_->transport, read_transport(value), line,
            "transport InfiniBand, iWARP, eRDMA, usNIC or unspecified");
    } else if (key == "sys_image_guid") {
      const auto guid = parse_guid(value);
      const bool is_zero = value.find_first_not_of("0:") == value.npos;
      if (!guid || !is_zero)
        state(block_->guid, guid ? std::optional(*guid) : std::nullopt, line, "a GUID of 16 hex digits");
    } else if (key == "board_id") {
      if (!value.empty()) state(block_->board, std::optional(printable(value, 64)), line);
    } else if (key == "phys_port_cnt") {
      state(block_->count, read_number(value, kMaxPortNumber), line, "a number of ports");
      block_->counted_at = line.number;
    } else if (key == "port") {
      read_port(line, value);
    } else {
      return read_port_field(line, field);
    }
    return true;
  }

  void read_port(const Line& line, std::string_view value) {
    if (block_->verbose && !block_->has_speed)
      tell_missing("the last lines of the port before (active_speed)");
    block_->end_port();
    block_->verbose = block_->has_speed = false;
    block_->lanes.reset();
    const auto number = read_port_number(value);
    if (!number) facts_.problem(line.number, expected("a port number", value));
    PortFacts told;
    told.port.hca = block_->hca;
    told.port.number = number.value_or(0);
    told.line = line.number;
    const auto has_number = [&](const PortFacts& other) { return other.port.number == told.port.number; };
    const auto same = std::ranges::find_if(block_->ports, has_number);
    if (same != block_->ports.end()) {
      if (number)
        facts_.problem(line.number, "port " + std::to_string(*number) + " of " + printable(block_->hca, 60) +
                                        " stands twice in the block, first in line " +
                                        std::to_string(same->line));
      told.line = same->line;
      block_->ports.erase(same);
    }
    block_->ports.push_back(std::move(told));
  }

  bool read_port_field(const Line& line, const KeyValue& field) {
    const auto& [key, value] = field;
    const bool is_row = key.starts_with("GID[");
    if (!block_->port()) {
      if (!is_row && key != "state" && key != "link_layer") return is_plain_key(key);
      facts_.problem(line.number, "expected a line port: before " + quote(key));
      return true;
    }
    Port& port = block_->port()->port;
    if (key == "state") {
      state(port.state, read_verbs_state(value), line,
            "PORT_DOWN (1), PORT_INIT (2), PORT_ARMED (3) or PORT_ACTIVE (4)");
    } else if (key == "active_mtu") {
      const auto mtu = read_number(value.substr(0, value.find(' ')), 4096);
      if (mtu && *mtu >= 256) state(port.active_mtu, mtu, line);
    } else if (key == "link_layer") {
      state(port.link_layer, read_link_layer(value), line, "Ethernet, InfiniBand or Unspecified");
    } else if (key == "max_msg_sz") {
      block_->verbose = true;
    } else if (key == "gid_tbl_len") {
      state(port.gid_table_length, read_number(value, kMaxGidIndex + 1), line, "a GID table length");
    } else if (key == "active_width") {
      block_->lanes = lanes_of(value);
    } else if (key == "active_speed") {
      block_->has_speed = true;
      const double rate = block_->lanes.value_or(0) * lane_speed_of(value).value_or(0);
      if (rate > 0) state(port.rate_gbps, std::optional(rate), line);
    } else if (is_row) {
      read_row(line, field);
    } else {
      return is_plain_key(key);
    }
    return true;
  }

  void read_row(const Line& line, const KeyValue& field) {
    const auto refuse = [&](std::string_view text, const char* what) {
      facts_.problem(line.number, "expected GID[INDEX]: GID[, RoCE v1|RoCE v2]: " + quote(text) + what);
    };
    const auto bracket = std::min(field.key.find(']'), field.key.size());
    const auto index = read_number(trim(field.key.substr(4, bracket - 4)), kMaxGidIndex);
    const auto comma = std::min(field.value.find(','), field.value.size());
    const auto gid_text = trim(field.value.substr(0, comma));
    const auto gid = parse_gid(gid_text);
    if (!index || bracket + 1 != field.key.size()) return refuse(field.key, " holds no index");
    if (!gid) return refuse(gid_text, " is not a GID");
    RowFacts row{line.number, {*index, *gid, {}, {}, {}}};
    PortFacts& told = *block_->port();
    if (comma < field.value.size()) {
      const auto type = trim(field.value.substr(comma + 1));
      row.row.type = read_type(type);
      if (!row.row.type) return refuse(type, " is not a type");
      if (type != "IB") state(told.port.link_layer, std::optional(LinkLayer::Ethernet), line);
    }
    facts_.add_row(told, std::move(row));
  }

  std::optional<Block> block_;
};

}  // namespace

std::unique_ptr<Reader> make_ibv_devinfo_reader(Facts& facts) {
  return std::make_unique<IbvDevinfoReader>(facts);
}

}  // namespace nccl_env::listing
