// SPDX-License-Identifier: Apache-2.0
// ibv_devinfo: a block per device that begins with hca_id:, with "key:   value" lines of the device, then
// for each port a line port:, and the port's lines. With -v also many capability lines, and at the end of
// each port its valid GID rows: "GID[  1]:   ::ffff:10.22.116.221, RoCE v2" (older ones: no type).
#include <algorithm>

#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

bool is_plain_key(std::string_view key) {  // fw_ver, max_mr_size, …
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

// A value that stands twice in a block has to be the same.
template <class T>
void state(std::optional<T>& known, const T& next, const Line& line, Facts& facts) {
  if (known && *known != next)
    return facts.problem(line.number, "the block says something else above: " + quote(line.text));
  known = next;
}

class IbvDevinfoReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override { return line.text.starts_with("hca_id:"); }

  bool take(const Line& line, Facts& facts) override {
    const auto field = split_key_value(line.text);
    if (begins(line)) {
      end_port();
      finish(facts);
      open(line, field->value, facts);
      return true;
    }
    if (!open_) return false;
    const bool taken = (field && read_field(line, *field, facts)) || is_capability(line);
    if (taken) last_ = line.number;
    return taken;
  }

  void finish(Facts& facts) override;

 private:
  void open(const Line& line, std::string_view hca, Facts& facts);
  void end_port();
  bool read_field(const Line& line, const KeyValue& field, Facts& facts);
  void read_port(const Line& line, std::string_view value, Facts& facts);
  bool read_port_field(const Line& line, const KeyValue& field, Facts& facts);
  void read_transport(const Line& line, std::string_view value, Facts& facts);
  void read_link_layer(const Line& line, std::string_view value, Facts& facts);
  void read_state(const Line& line, std::string_view value, Facts& facts);
  void read_row(const Line& line, const KeyValue& field, Facts& facts);
  void set_transport(Port& port) const;
  // Reports that the block ends without `what`.
  void missing(const std::string& what, Facts& facts) const;
  void check(Facts& facts) const;
  [[nodiscard]] PortFacts* port() { return ports_.empty() ? nullptr : &ports_.back(); }

  bool open_ = false;
  std::string hca_;
  int last_ = 0;                          // line of the block
  std::size_t problems_before_ = 0;       // the block
  std::vector<PortFacts> ports_;          // at most 256, whatever is repeated in the block
  std::optional<std::string> transport_;  // as printed, without its number
  std::optional<std::string> board_;
  std::optional<std::string> guid_;  // of the system image
  std::optional<int> count_;         // of ports, as announced
  int counted_at_ = 0;
  std::optional<double> lanes_;  // of the port at hand
  bool verbose_ = false;         // the port at hand shows lines of -v …
  bool has_speed_ = false;       // … and active_speed, the last one before its GIDs
};

void IbvDevinfoReader::open(const Line& line, std::string_view hca, Facts& facts) {
  *this = IbvDevinfoReader();
  open_ = true;
  hca_ = hca;
  last_ = line.number;
  problems_before_ = facts.problem_count;
  if (!is_hca_name(hca))
    facts.problem(line.number, "expected a device name after hca_id:, not " + quote(hca));
}

// Another port or device follows: the lines of the port at hand are complete.
void IbvDevinfoReader::end_port() {
  PortFacts* told = port();
  if (told != nullptr && verbose_ && has_speed_ && told->rows.empty()) told->no_gid = true;
}

bool IbvDevinfoReader::read_field(const Line& line, const KeyValue& field, Facts& facts) {
  if (field.key == "transport") {
    read_transport(line, field.value, facts);
  } else if (field.key == "sys_image_guid") {
    const auto guid = parse_guid(field.value);
    if (!guid) facts.problem(line.number, "expected a GUID of 16 hex digits, not " + quote(field.value));
    const bool is_zero = field.value.find_first_not_of("0:") == field.value.npos;
    if (guid && !is_zero) state(guid_, *guid, line, facts);
  } else if (field.key == "board_id") {
    if (!field.value.empty()) state(board_, printable(field.value, 64), line, facts);
  } else if (field.key == "phys_port_cnt") {
    const auto count = read_number(field.value, kMaxPortNumber);
    if (!count) facts.problem(line.number, "expected a number of ports, not " + quote(field.value));
    if (count) state(count_, *count, line, facts);
    counted_at_ = line.number;
  } else if (field.key == "port") {
    read_port(line, field.value, facts);
  } else {
    return read_port_field(line, field, facts);
  }
  return true;
}

void IbvDevinfoReader::read_port(const Line& line, std::string_view value, Facts& facts) {
  if (verbose_ && !has_speed_) missing("the last lines of the port before (active_speed)", facts);
  end_port();
  verbose_ = has_speed_ = false;
  lanes_.reset();
  const auto number = read_port_number(value);
  if (!number) facts.problem(line.number, "expected a port number, not " + quote(value));
  PortFacts told;
  told.port.hca = hca_;
  told.port.number = number.value_or(0);
  told.line = line.number;
  const auto same = std::find_if(ports_.begin(), ports_.end(), [&](const PortFacts& other) {
    return other.port.number == told.port.number;
  });
  if (same != ports_.end()) {
    if (number) {
      facts.problem(line.number, "port " + std::to_string(*number) + " of " + printable(hca_, 60) +
                                     " stands twice in the block, first in line " +
                                     std::to_string(same->line));
    }
    told.line = same->line;
    ports_.erase(same);
  }
  ports_.push_back(std::move(told));
}

bool IbvDevinfoReader::read_port_field(const Line& line, const KeyValue& field, Facts& facts) {
  PortFacts* told = port();
  const bool is_row = field.key.starts_with("GID[");
  if (told == nullptr) {
    if (!is_row && field.key != "state" && field.key != "link_layer") return is_plain_key(field.key);
    facts.problem(line.number, "expected a line port: before " + quote(field.key));
  } else if (field.key == "state") {
    read_state(line, field.value, facts);
  } else if (field.key == "active_mtu") {
    const auto mtu = read_number(field.value.substr(0, field.value.find(' ')), 4096);
    if (mtu && *mtu >= 256) state(told->port.active_mtu, *mtu, line, facts);
  } else if (field.key == "link_layer") {
    read_link_layer(line, field.value, facts);
  } else if (field.key == "max_msg_sz") {
    verbose_ = true;
  } else if (field.key == "gid_tbl_len") {
    const auto length = read_number(field.value, kMaxGidIndex + 1);
    if (!length) facts.problem(line.number, "expected a GID table length, not " + quote(field.value));
    if (length) state(told->port.gid_table_length, *length, line, facts);
  } else if (field.key == "active_width") {
    lanes_ = lanes_of(field.value);
  } else if (field.key == "active_speed") {
    has_speed_ = true;
    const auto speed = lane_speed_of(field.value);
    if (lanes_ && speed && *lanes_ * *speed > 0) state(told->port.rate_gbps, *lanes_ * *speed, line, facts);
  } else if (is_row) {
    read_row(line, field, facts);
  } else {
    return is_plain_key(field.key);
  }
  return true;
}

void IbvDevinfoReader::read_transport(const Line& line, std::string_view value, Facts& facts) {
  const std::string name(value.substr(0, value.find(" (")));
  for (const std::string_view known : {"InfiniBand", "iWARP", "eRDMA", "usNIC", "usNIC UDP", "unspecified"}) {
    if (name == known) return state(transport_, name, line, facts);
  }
  facts.problem(line.number,
                "expected transport InfiniBand, iWARP, eRDMA, usNIC or unspecified, not " + quote(value));
}

void IbvDevinfoReader::read_link_layer(const Line& line, std::string_view value, Facts& facts) {
  std::optional<LinkLayer>& known = port()->port.link_layer;
  if (value == "Ethernet") return state(known, LinkLayer::Ethernet, line, facts);
  if (value == "InfiniBand") return state(known, LinkLayer::InfiniBand, line, facts);
  if (value == "Unspecified" || value == "Unknown") return state(known, LinkLayer::Unspecified, line, facts);
  facts.problem(line.number, "expected Ethernet, InfiniBand or Unspecified, not " + quote(value));
}

// "PORT_ACTIVE (4)"
void IbvDevinfoReader::read_state(const Line& line, std::string_view value, Facts& facts) {
  constexpr std::string_view kPrefix = "PORT_";
  const auto blank = std::min(value.find(' '), value.size());
  const auto known = value.starts_with(kPrefix)
                         ? read_state_name(value.substr(kPrefix.size(), blank - kPrefix.size()))
                         : std::nullopt;
  if (!known ||
      (blank < value.size() && value.substr(blank) != " (" + std::to_string(state_number(*known)) + ")")) {
    return facts.problem(
        line.number,
        "expected PORT_DOWN (1), PORT_INIT (2), PORT_ARMED (3) or PORT_ACTIVE (4), not " + quote(value));
  }
  state(port()->port.state, *known, line, facts);
}

void IbvDevinfoReader::read_row(const Line& line, const KeyValue& field, Facts& facts) {
  PortFacts& told = *port();
  const auto refuse = [&](const std::string& what) {
    facts.problem(line.number, "expected GID[INDEX]: GID[, RoCE v1|RoCE v2]: " + what);
  };
  const auto bracket = field.key.find(']');
  const auto inner = bracket == field.key.npos ? "" : trim(field.key.substr(4, bracket - 4));
  const auto index = read_number(inner, kMaxGidIndex);
  const auto comma = std::min(field.value.find(','), field.value.size());
  const auto gid_text = trim(field.value.substr(0, comma));
  const auto gid = parse_gid(gid_text);
  if (!index || bracket + 1 != field.key.size()) return refuse(quote(field.key) + " holds no index");
  if (!gid) return refuse(quote(gid_text) + " is not a GID");

  RowFacts row;
  row.line = line.number;
  row.row.index = *index;
  row.row.gid = *gid;
  if (comma < field.value.size()) {
    const auto type = trim(field.value.substr(comma + 1));
    if (type == "RoCE v2") {
      row.row.type = GidType::RoCEv2;
    } else if (type == "RoCE v1") {
      row.row.type = GidType::RoCEv1;
    } else if (type == "IB") {
      row.row.type = GidType::IB;
    } else {
      return refuse(quote(type) + " is not a type");
    }
  }
  if (row.row.type && row.row.type != GidType::IB)
    state(told.port.link_layer, LinkLayer::Ethernet, line, facts);
  facts.add_row(told, std::move(row));
}

void IbvDevinfoReader::set_transport(Port& port) const {
  // The verbs have one transport for InfiniBand and RoCE; the link layer tells them apart.
  if (transport_ == "iWARP") port.transport = Transport::iWARP;
  if (transport_ == "eRDMA") port.transport = Transport::eRDMA;
  if (transport_ != "InfiniBand") return;
  if (port.link_layer == LinkLayer::Ethernet) port.transport = Transport::RoCE;
  if (port.link_layer == LinkLayer::InfiniBand) port.transport = Transport::InfiniBand;
}

void IbvDevinfoReader::missing(const std::string& what, Facts& facts) const {
  if (facts.problem_count != problems_before_) return;  // what is missing may be in the line that was refused
  facts.problem(last_, "the block of " + quote(hca_) + " ends here without " + what);
}

void IbvDevinfoReader::check(Facts& facts) const {
  if (verbose_ && !has_speed_) return missing("the last lines of its port (active_speed)", facts);
  if (!transport_) return missing("transport", facts);
  if (!count_) return missing("phys_port_cnt", facts);
  if (ports_.empty()) return missing("its ports", facts);
  for (const PortFacts& told : ports_) {
    const std::string name = " of port " + std::to_string(told.port.number);
    if (!told.port.state) return missing("the state" + name, facts);
    if (!told.port.link_layer) return missing("the link layer" + name, facts);
  }
  if (*count_ != static_cast<int>(ports_.size())) {
    facts.problem(last_, "the block of " + quote(hca_) + " ends here with " + std::to_string(ports_.size()) +
                             " of the " + std::to_string(*count_) + " ports that line " +
                             std::to_string(counted_at_) + " announces");
  }
}

// A block with a line that wasn't understood has been reported and gives nothing.
void IbvDevinfoReader::finish(Facts& facts) {
  if (!open_) return;
  open_ = false;
  check(facts);
  if (facts.problem_count != problems_before_) return;
  for (PortFacts& told : ports_) {
    set_transport(told.port);
    told.port.sys_image_guid = guid_;
    told.port.board_id = board_;
    facts.add(std::move(told));
  }
}

}  // namespace

std::unique_ptr<Reader> make_ibv_devinfo_reader() {
  return std::make_unique<IbvDevinfoReader>();
}

}  // namespace nccl_env::listing
