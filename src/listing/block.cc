// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <utility>

#include "values.h"

namespace nccl_env::listing {

void DeviceBlock::open(const Line& head, std::string hca, const Facts& facts) {
  *this = DeviceBlock();
  open_ = true;
  hca_ = std::move(hca);
  head_ = head.place;
  last_ = head.place;
  problems_before_ = facts.problem_count;
}

void DeviceBlock::add_port(const Line& line, int number, Facts& facts) {
  const auto [position, is_new] = positions_.emplace(number, ports_.size());
  if (is_new) ports_.emplace_back();
  current_ = position->second;
  PortFacts& port = ports_[current_];
  if (!is_new && number != 0) {
    facts.problem(line.place, "port " + std::to_string(number) + " of " + printable(hca_, 60) +
                                  " stands twice in the block, first at " + to_string(port.place));
  }
  const Place first = is_new ? line.place : port.place;
  port = PortFacts();
  port.hca = hca_;
  port.number = number;
  port.place = first;
}

void DeviceBlock::missing(const std::string& what, Facts& facts) {
  if (facts.problem_count != problems_before_) return;  // what is missing may be in the line that was refused
  facts.problem(last_, "the block of " + quote(hca_) + " ends here without " + what);
}

void DeviceBlock::check(Facts& facts) {
  if (ports_.empty()) return missing("its ports", facts);
  for (const PortFacts& port : ports_) {
    const std::string name = " of port " + std::to_string(port.number);
    if (!port.state) return missing("the state" + name, facts);
    if (!port.link_layer) return missing("the link layer" + name, facts);
  }
  if (shared.port_count && shared.port_count->value != static_cast<int>(ports_.size())) {
    facts.problem(last_, "the block of " + quote(hca_) + " ends here with " + std::to_string(ports_.size()) +
                             " of the " + std::to_string(shared.port_count->value) + " ports that " +
                             to_string(shared.port_count->place) + " announces");
  }
}

void DeviceBlock::close(Facts& facts) {
  if (!open_) return;
  open_ = false;
  check(facts);
  if (facts.problem_count != problems_before_) return;
  for (PortFacts& port : ports_) {
    each_fact([&](const auto& fact) {
      if (shared.*fact.stated) port.*fact.stated = shared.*fact.stated;
    });
    port.port_count = shared.port_count;
    port.device_type = shared.device_type;
    facts.add(std::move(port));
  }
}

void read_sys_image_guid(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts) {
  const auto guid = read_guid(value);
  if (!guid) return facts.note(line.place, "expected a GUID of 16 hex digits, not " + quote(value));
  if (!guid->empty()) state(block.shared.sys_image_guid, {*guid, line.place}, "the system image GUID", facts);
}

void read_port_link_layer(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts) {
  const auto layer = read_link_layer(value);
  if (!layer)
    return facts.problem(line.place, "expected Ethernet, InfiniBand or Unspecified, not " + quote(value));
  if (block.port() == nullptr)
    return facts.problem(line.place, "expected the port's head before its link layer");
  state(block.port()->link_layer, {*layer, line.place}, "the link layer", facts);
}

void read_port_count(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts) {
  const auto count = read_number(value, kMaxPortNumber);
  if (!count) return facts.problem(line.place, "expected a number of ports, not " + quote(value));
  state(block.shared.port_count, {*count, line.place}, "the number of ports", facts);
}

}  // namespace nccl_env::listing
