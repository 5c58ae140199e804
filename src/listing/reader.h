// SPDX-License-Identifier: Apache-2.0
// Reader: one per listing format. Lines go in, facts with their places come out.
#pragma once

#include <memory>

#include "facts.h"
#include "line.h"

namespace nccl_env::listing {

class Reader {
 public:
  virtual ~Reader() = default;

  // True if a section, block or row of this format begins at the line, whatever stands before it.
  [[nodiscard]] virtual bool begins(const Line& line) const = 0;
  // Reads a line that begins something, or any other line of the section that is open.
  // False: the line says nothing in this format.
  virtual bool take(const Line& line, Facts& facts) = 0;
  // The section is over: the lines go on in another format, or the file ends. Tells what is missing.
  virtual void finish(Facts& /*facts*/) {}
};

// Each source describes its format.
std::unique_ptr<Reader> make_show_gids_reader();
std::unique_ptr<Reader> make_ibv_devinfo_reader();
std::unique_ptr<Reader> make_rdma_link_reader();
std::unique_ptr<Reader> make_ibstat_reader();
std::unique_ptr<Reader> make_ibstatus_reader();
std::unique_ptr<Reader> make_ibdev2netdev_reader();

}  // namespace nccl_env::listing
