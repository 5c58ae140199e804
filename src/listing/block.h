// SPDX-License-Identifier: Apache-2.0
// The block of one device with its ports, as ibv_devinfo, ibstat and ibstatus print it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facts.h"

namespace nccl_env::listing {

class DeviceBlock {
 public:
  [[nodiscard]] bool is_open() const { return open_; }
  // `head` is the line that names the device.
  void open(const Line& head, std::string hca, const Facts& facts);
  // `number` is 0 for a port number that was refused, and at most 255. A port that stands twice is a problem;
  // its lines then replace the first ones, so a block holds at most 256 ports whatever is repeated in it.
  void add_port(const Line& line, int number, Facts& facts);
  // nullptr before the first port.
  [[nodiscard]] PortFacts* port() { return ports_.empty() ? nullptr : &ports_[current_]; }
  [[nodiscard]] std::vector<PortFacts>& ports() { return ports_; }

  // Reads a line "key: value" of an open block by `read(field)`, which tells whether the line is one of the
  // block.
  template <class Read>
  bool take_field(const Line& line, const Read& read) {
    const auto field = split_key_value(line.text);
    const bool taken = open_ && field && read(*field);
    if (taken) touch(line);
    return taken;
  }
  // Called with every line of the block: a block that was cut off is reported at its last line.
  void touch(const Line& line) { last_ = line.place; }
  [[nodiscard]] const Place& last() const { return last_; }
  // Reports that the block ends without `what`.
  void missing(const std::string& what, Facts& facts);

  // Closes the block: checks that it has ports, each with state and link layer, and as many as stated; then
  // hands the ports over. A block with a line that wasn't understood has been reported and gives nothing.
  void close(Facts& facts);

  PortFacts shared;  // what the block says of the device, and so of all of its ports

 private:
  void check(Facts& facts);

  bool open_ = false;
  std::string hca_;
  Place head_;
  Place last_;
  std::size_t problems_before_ = 0;
  std::vector<PortFacts> ports_;
  std::map<int, std::size_t> positions_;  // places in ports_, by port number
  std::size_t current_ = 0;
};

// Read single fields that several formats share; a value that can't be read is a problem, but for the GUID,
// on which no answer depends.
void read_sys_image_guid(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts);
void read_port_link_layer(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts);
void read_port_count(const Line& line, std::string_view value, DeviceBlock& block, Facts& facts);

}  // namespace nccl_env::listing
