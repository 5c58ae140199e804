// SPDX-License-Identifier: Apache-2.0
// ibstatus: a block per port,
//   Infiniband device 'DEV' port N status:
//     default gid: …, state: 4: ACTIVE, rate: 25 Gb/sec (1X EDR), link_layer: Ethernet
// The default gid is row 0: on Ethernet it is zero where the port's netdev is in another network namespace.
#include <algorithm>

#include "block.h"
#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

class IbstatusReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override {
    return (line.word(0) == "Infiniband" || line.word(0) == "InfiniBand") && line.word(1) == "device" &&
           line.word(2).substr(0, 1) == "'";
  }

  bool take(const Line& line, Facts& facts) override {
    if (begins(line)) {
      finish(facts);
      open(line, facts);
      return true;
    }
    return block_.take_field(line, [&](const KeyValue& field) { return read_field(line, field, facts); });
  }

  void finish(Facts& facts) override {
    if (block_.is_open() && !has_rate_) block_.missing("the rate", facts);
    block_.close(facts);
  }

 private:
  void open(const Line& line, Facts& facts);
  bool read_field(const Line& line, const KeyValue& field, Facts& facts);
  void read_state(const Line& line, std::string_view value, Facts& facts);
  void read_rate(const Line& line, std::string_view value, Facts& facts);

  DeviceBlock block_;
  bool has_rate_ = false;
};

void IbstatusReader::open(const Line& line, Facts& facts) {
  std::string_view name = line.word(2).substr(1);
  const bool closed = !name.empty() && name.back() == '\'';
  if (closed) name.remove_suffix(1);
  const auto number = read_port_number(line.word(4));
  block_.open(line, std::string(name), facts);
  has_rate_ = false;
  if (!closed || !is_hca_name(name) || line.word(3) != "port" || !number || line.word(5) != "status:") {
    facts.problem(line.place, "expected Infiniband device 'DEVICE' port N status:, not " + quote(line.text));
  }
  block_.add_port(line, number.value_or(0), facts);
}

bool IbstatusReader::read_field(const Line& line, const KeyValue& field, Facts& facts) {
  if (field.key == "default gid") {
    // "unknown" is its own word for a GID that it could not read.
    const auto gid = read_gid(field.value);
    if (!gid && field.value != "unknown") facts.note(line.place, "expected a GID, not " + quote(field.value));
    if (gid && !gid->masked && gid->gid.is_zero()) block_.port()->no_gid = line.place;
  } else if (field.key == "state") {
    read_state(line, field.value, facts);
  } else if (field.key == "rate") {
    read_rate(line, field.value, facts);
  } else if (field.key == "link_layer") {
    read_port_link_layer(line, field.value, block_, facts);
  } else {
    return field.key == "base lid" || field.key == "sm lid" || field.key == "phys state";
  }
  return true;
}

// "4: ACTIVE"
void IbstatusReader::read_state(const Line& line, std::string_view value, Facts& facts) {
  const auto field = split_key_value(value);
  const auto known = field ? read_state_name(field->value) : std::nullopt;
  if (!known || read_number(field->key, 4) != state_number(*known)) {
    return facts.problem(line.place, "expected 1: DOWN, 2: INIT, 3: ARMED or 4: ACTIVE, not " + quote(value));
  }
  state(block_.port()->state, {*known, line.place}, "the state", facts);
}

// "25 Gb/sec (1X EDR)". Kernels print speeds that they don't know yet (XDR) as SDR, so SDR tells nothing.
void IbstatusReader::read_rate(const Line& line, std::string_view value, Facts& facts) {
  constexpr std::string_view kUnit = "Gb/sec";
  const auto blank = std::min(value.find(' '), value.size());
  const auto rate = read_decimal(value.substr(0, blank));
  const auto rest = trim(value.substr(blank));
  has_rate_ = true;
  if (!rate || rest.substr(0, kUnit.size()) != kUnit)
    return facts.note(line.place, "expected a rate such as 100 Gb/sec (4X EDR), not " + quote(value));
  if (*rate > 0 && rest.find("SDR") == rest.npos)
    state(block_.port()->rate_gbps, {*rate, line.place}, "the rate", facts);
}

}  // namespace

std::unique_ptr<Reader> make_ibstatus_reader() {
  return std::make_unique<IbstatusReader>();
}

}  // namespace nccl_env::listing
