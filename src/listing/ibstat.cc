// SPDX-License-Identifier: Apache-2.0
// ibstat: a block per device that begins with CA 'NAME', "Key: value" lines, and per port a line "Port N:".
// ibstat NAME PORT prints "CA: 'NAME'" and the one port.
#include <algorithm>

#include "block.h"
#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

// The name in quotes after the block's head, or nothing.
std::optional<std::string_view> device_of(std::string_view text) {
  for (const std::string_view head : {"CA '", "CA: '", "iWARP RNIC '", "RNIC '"}) {
    if (text.substr(0, head.size()) == head) {
      const auto name = text.substr(head.size());
      return name.substr(0, name.find('\''));
    }
  }
  return std::nullopt;
}

bool is_unused_key(std::string_view key) {
  constexpr std::string_view kKeys[] = {"Firmware version", "Hardware version", "Node GUID",
                                        "Physical state",   "Base lid",         "LMC",
                                        "SM lid",           "Capability mask"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

class IbstatReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override { return device_of(line.text).has_value(); }

  bool take(const Line& line, Facts& facts) override {
    const auto device = device_of(line.text);
    if (device) {
      finish(facts);
      block_.open(line, std::string(*device), facts);
      counts_ports_ = line.word(0) != "CA:";
      if (!is_hca_name(*device)) facts.problem(line.place, "expected CA 'DEVICE', not " + quote(line.text));
      return true;
    }
    return block_.take_field(line, [&](const KeyValue& field) { return read_field(line, field, facts); });
  }

  void finish(Facts& facts) override {
    if (!block_.is_open()) return;
    if (counts_ports_ && !block_.shared.port_count) block_.missing("Number of ports", facts);
    block_.close(facts);
  }

 private:
  bool read_field(const Line& line, const KeyValue& field, Facts& facts);
  void read_rate(const Line& line, std::string_view value, Facts& facts);

  DeviceBlock block_;
  bool counts_ports_ = true;
};

bool IbstatReader::read_field(const Line& line, const KeyValue& field, Facts& facts) {
  if (field.key == "Number of ports") {
    read_port_count(line, field.value, block_, facts);
  } else if (field.key == "CA type") {
    const auto type =
        field.value.substr(0, 2) == "MT" ? read_number(field.value.substr(2), kMostDeviceType) : std::nullopt;
    if (type) block_.shared.device_type = {*type, line.place};
  } else if (field.key == "Port GUID") {
    // The lower half of row 0, which every port has that has a GID.
    if (block_.port() != nullptr && read_guid(field.value) == "") block_.port()->no_gid = line.place;
  } else if (field.key == "System image GUID") {
    read_sys_image_guid(line, field.value, block_, facts);
  } else if (field.key.substr(0, 5) == "Port " && field.value.empty()) {
    const auto number = read_port_number(field.key.substr(5));
    if (!number) facts.problem(line.place, "expected Port NUMBER:, not " + quote(line.text));
    block_.add_port(line, number.value_or(0), facts);
  } else if (field.key == "Link layer") {
    read_port_link_layer(line, field.value, block_, facts);
  } else if (field.key == "State" || field.key == "Rate") {
    if (block_.port() == nullptr) {
      facts.problem(line.place, "expected a line Port N: before " + quote(field.key));
    } else if (field.key == "Rate") {
      read_rate(line, field.value, facts);
    } else if (const auto known = read_state_name(field.value)) {
      state(block_.port()->state, {*known, line.place}, "the state", facts);
    } else {
      facts.problem(line.place,
                    "expected State Active, Armed, Initializing or Down, not " + quote(field.value));
    }
  } else {
    return is_unused_key(field.key);
  }
  return true;
}

// "100", "40 (FDR10)". Kernels print speeds that they don't know yet (XDR) as SDR, 10 for four lanes, and
// ibstat doesn't print the name SDR: up to 10 without a name tells nothing.
void IbstatReader::read_rate(const Line& line, std::string_view value, Facts& facts) {
  constexpr double kMostSdr = 10;
  const auto blank = std::min(value.find(' '), value.size());
  const auto rate = read_decimal(value.substr(0, blank));
  const auto name = trim(value.substr(blank));
  if (!rate || (!name.empty() && name != "(FDR10)")) {
    return facts.note(line.place, "expected a rate in Gb/s, not " + quote(value));
  }
  if (*rate > kMostSdr || !name.empty()) {
    state(block_.port()->rate_gbps, {*rate, line.place}, "the rate", facts);
  }
}

}  // namespace

std::unique_ptr<Reader> make_ibstat_reader() {
  return std::make_unique<IbstatReader>();
}

}  // namespace nccl_env::listing
