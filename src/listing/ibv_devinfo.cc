// SPDX-License-Identifier: Apache-2.0
// ibv_devinfo: a block per device that begins with hca_id:, with "key:   value" lines of the device, then
// for each port a line port:, and the port's lines. With -v also many capability lines, and at the end of
// each port its valid GID rows: "GID[  1]:   ::ffff:10.22.116.221, RoCE v2" (older ones: no type).
#include <algorithm>

#include "block.h"
#include "nccl_env/core/text/join.h"
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

class IbvDevinfoReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override {
    return line.text.compare(0, 7, "hca_id:") == 0;
  }

  bool take(const Line& line, Facts& facts) override {
    const auto field = split_key_value(line.text);
    if (begins(line)) {
      end_port();
      finish(facts);
      open(line, field->value, facts);
      return true;
    }
    if (!block_.is_open()) return false;
    const bool taken = (field && read_field(line, *field, facts)) || is_capability(line);
    if (taken) block_.touch(line);
    return taken;
  }

  void finish(Facts& facts) override;

 private:
  void open(const Line& line, std::string_view hca, Facts& facts);
  void end_port();
  void leave_cut_rows(Facts& facts);
  bool read_field(const Line& line, const KeyValue& field, Facts& facts);
  bool read_port_field(const Line& line, const KeyValue& field, Facts& facts);
  void read_transport(const Line& line, std::string_view value, Facts& facts);
  void read_state(const Line& line, std::string_view value, Facts& facts);
  void read_row(const Line& line, const KeyValue& field, Facts& facts);
  void set_transport(PortFacts& port) const;
  static void check_types(const PortFacts& port, Facts& facts);

  DeviceBlock block_;
  std::optional<Stated<std::string>> transport_;  // as printed, without its number
  std::optional<double> lanes_;                   // of the port at hand
  bool verbose_ = false;                          // the port at hand shows lines of -v …
  bool has_speed_ = false;                        // … and active_speed, the last one before its GIDs
  int fewest_rows_ = 0;                           // that a port before has, of those that have any
};

void IbvDevinfoReader::open(const Line& line, std::string_view hca, Facts& facts) {
  transport_.reset();
  verbose_ = has_speed_ = false;
  block_.open(line, std::string(hca), facts);
  if (!is_hca_name(hca))
    return facts.problem(line.place, "expected a device name after hca_id:, not " + quote(hca));
  facts.answers.opened.emplace(hca);
}

// Another port or device follows: the lines of the port at hand are complete.
void IbvDevinfoReader::end_port() {
  PortFacts* port = block_.port();
  if (port == nullptr || !verbose_ || !has_speed_) return;
  const auto rows = static_cast<int>(port->rows.size());
  if (rows == 0) port->no_gid = port->place;
  if (rows > 0) fewest_rows_ = fewest_rows_ == 0 ? rows : std::min(fewest_rows_, rows);
}

// The last port of a listing may have been cut within its rows, which stand last.
void IbvDevinfoReader::leave_cut_rows(Facts& facts) {
  PortFacts* port = block_.port();
  if (port == nullptr || port->no_gid || static_cast<int>(port->rows.size()) >= fewest_rows_) return;
  facts.note(block_.last(), "the listing ends here with " + count_of(port->rows.size(), "row") + " of " +
                                printable(port->hca, 60) +
                                ", where each port before has more: its rows count as not known");
  port->rows.clear();
}

bool IbvDevinfoReader::read_field(const Line& line, const KeyValue& field, Facts& facts) {
  if (field.key == "transport") {
    read_transport(line, field.value, facts);
  } else if (field.key == "vendor_part_id") {
    if (const auto part = read_number(field.value, kMostDeviceType))
      block_.shared.device_type = {*part, line.place};
  } else if (field.key == "sys_image_guid") {
    read_sys_image_guid(line, field.value, block_, facts);
  } else if (field.key == "board_id") {
    if (!field.value.empty()) {
      state(block_.shared.board_id, {printable(field.value, 64), line.place}, "the board id", facts);
    }
  } else if (field.key == "phys_port_cnt") {
    read_port_count(line, field.value, block_, facts);
  } else if (field.key == "port") {
    if (verbose_ && !has_speed_) block_.missing("the last lines of the port before (active_speed)", facts);
    end_port();
    verbose_ = has_speed_ = false;
    lanes_.reset();
    const auto number = read_port_number(field.value);
    if (!number) facts.problem(line.place, "expected a port number, not " + quote(field.value));
    block_.add_port(line, number.value_or(0), facts);
  } else {
    return read_port_field(line, field, facts);
  }
  return true;
}

bool IbvDevinfoReader::read_port_field(const Line& line, const KeyValue& field, Facts& facts) {
  PortFacts* port = block_.port();
  const bool is_row = field.key.compare(0, 4, "GID[") == 0;
  if (port == nullptr) {
    if (!is_row && field.key != "state" && field.key != "link_layer") return is_plain_key(field.key);
    facts.problem(line.place, "expected a line port: before " + quote(field.key));
  } else if (field.key == "state") {
    read_state(line, field.value, facts);
  } else if (field.key == "active_mtu") {
    const auto mtu = read_number(field.value.substr(0, field.value.find(' ')), 4096);
    if (mtu && *mtu >= 256) state(port->active_mtu, {*mtu, line.place}, "active_mtu", facts);
  } else if (field.key == "link_layer") {
    read_port_link_layer(line, field.value, block_, facts);
  } else if (field.key == "max_msg_sz") {
    verbose_ = true;
  } else if (field.key == "gid_tbl_len") {
    const auto length = read_number(field.value, kMaxGidIndex + 1);
    if (!length) facts.note(line.place, "expected a GID table length, not " + quote(field.value));
    if (length) state(port->gid_table_length, {*length, line.place}, "gid_tbl_len", facts);
  } else if (field.key == "active_width") {
    lanes_ = lanes_of(field.value);
  } else if (field.key == "active_speed") {
    has_speed_ = true;
    const auto speed = lane_speed_of(field.value);
    if (lanes_ && speed && *lanes_ * *speed > 0)
      state(port->rate_gbps, {*lanes_ * *speed, line.place}, "the rate", facts);
  } else if (is_row) {
    read_row(line, field, facts);
  } else {
    return is_plain_key(field.key);
  }
  return true;
}

void IbvDevinfoReader::read_transport(const Line& line, std::string_view value, Facts& facts) {
  const auto number = value.find(" (");
  const std::string name(value.substr(0, number));
  for (const std::string_view known : {"InfiniBand", "iWARP", "eRDMA", "usNIC", "usNIC UDP", "unspecified"}) {
    if (name == known) return state(transport_, {name, line.place}, "the transport", facts);
  }
  facts.problem(line.place,
                "expected transport InfiniBand, iWARP, eRDMA, usNIC or unspecified, not " + quote(value));
}

// "PORT_ACTIVE (4)"
void IbvDevinfoReader::read_state(const Line& line, std::string_view value, Facts& facts) {
  constexpr std::string_view kPrefix = "PORT_";
  const auto blank = std::min(value.find(' '), value.size());
  const bool prefixed = value.substr(0, kPrefix.size()) == kPrefix;
  const auto known =
      prefixed ? read_state_name(value.substr(kPrefix.size(), blank - kPrefix.size())) : std::nullopt;
  if (!known ||
      (blank < value.size() && value.substr(blank) != " (" + std::to_string(state_number(*known)) + ")")) {
    return facts.problem(
        line.place,
        "expected PORT_DOWN (1), PORT_INIT (2), PORT_ARMED (3) or PORT_ACTIVE (4), not " + quote(value));
  }
  state(block_.port()->state, {*known, line.place}, "the state", facts);
}

void IbvDevinfoReader::read_row(const Line& line, const KeyValue& field, Facts& facts) {
  const auto refuse = [&](const std::string& what) {
    block_.port()->unread = {"expected GID[INDEX]: GID[, RoCE v1|RoCE v2]: " + what, line.place};
  };
  const auto bracket = field.key.find(']');
  const auto inner = bracket == field.key.npos ? "" : trim(field.key.substr(4, bracket - 4));
  const auto index = read_number(inner, kMaxGidIndex);
  const auto comma = std::min(field.value.find(','), field.value.size());
  const auto gid_text = trim(field.value.substr(0, comma));
  const auto gid = read_gid(gid_text);
  if (!index || bracket + 1 != field.key.size()) return refuse(quote(field.key) + " holds no index");
  if (!gid) return refuse(quote(gid_text) + " is not a GID");

  RowFacts row;
  row.index = *index;
  row.gid = {gid->gid, line.place};
  row.masked = gid->masked;
  if (comma < field.value.size()) {
    const auto type = trim(field.value.substr(comma + 1));
    if (type == "RoCE v2") {
      row.type = {GidType::RoCEv2, line.place};
    } else if (type == "RoCE v1") {
      row.type = {GidType::RoCEv1, line.place};
    } else if (type == "IB") {
      row.type = {GidType::IB, line.place};
    } else {
      return refuse(quote(type) + " is not a type");
    }
  }
  if (row.type && row.type->value != GidType::IB) {
    state(block_.port()->link_layer, {LinkLayer::Ethernet, line.place}, "the link layer", facts);
  }
  block_.port()->rows.push_back(std::move(row));
}

void IbvDevinfoReader::set_transport(PortFacts& port) const {
  // The verbs have one transport for InfiniBand and RoCE; the link layer tells them apart.
  const auto& [name, place] = *transport_;
  if (name == "iWARP") port.transport = {Transport::iWARP, place};
  if (name == "eRDMA") port.transport = {Transport::eRDMA, place};
  if (name != "InfiniBand" || !port.link_layer) return;
  if (port.link_layer->value == LinkLayer::Ethernet) port.transport = {Transport::RoCE, place};
  if (port.link_layer->value == LinkLayer::InfiniBand) port.transport = {Transport::InfiniBand, place};
}

// ibv_devinfo prints the type of all rows of a port, or, in older versions, of none.
void IbvDevinfoReader::check_types(const PortFacts& port, Facts& facts) {
  const auto typed = [](const RowFacts& row) { return row.type.has_value(); };
  const auto with = std::find_if(port.rows.begin(), port.rows.end(), typed);
  const auto without = std::find_if_not(port.rows.begin(), port.rows.end(), typed);
  if (with == port.rows.end() || without == port.rows.end()) return;
  facts.problem(without->gid.place, "the row ends without its type, which that of index " +
                                        std::to_string(with->index) + " has at " +
                                        to_string(with->gid.place));
}

void IbvDevinfoReader::finish(Facts& facts) {
  if (!block_.is_open()) return;
  if (verbose_ && !has_speed_) {
    block_.missing("the last lines of its port (active_speed)", facts);
  } else if (!transport_) {
    block_.missing("transport", facts);
  } else if (!block_.shared.port_count) {
    block_.missing("phys_port_cnt", facts);
  } else {
    for (PortFacts& port : block_.ports()) {
      set_transport(port);
      check_types(port, facts);
    }
    leave_cut_rows(facts);
    for (PortFacts& port : block_.ports()) {
      if (!port.rows.empty()) port.table = {"ibv_devinfo", port.place};
    }
  }
  block_.close(facts);
}

}  // namespace

std::unique_ptr<Reader> make_ibv_devinfo_reader() {
  return std::make_unique<IbvDevinfoReader>();
}

}  // namespace nccl_env::listing
