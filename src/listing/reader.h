// SPDX-License-Identifier: Apache-2.0
// Reader: one per tool. Lines go in, facts with their places come out.
#pragma once

#include <memory>

#include "facts.h"
#include "line.h"

namespace nccl_env::listing {

class Reader {
 public:
  explicit Reader(Facts& facts) : facts_(facts) {}
  virtual ~Reader() = default;

  // True if a section, block or row of this tool begins at the line, whatever stands before it.
  [[nodiscard]] virtual bool begins(const Line& line) const = 0;
  // Reads a line that begins something, or any other line below it.
  // False: the line says nothing in this format.
  virtual bool take(const Line& line) = 0;
  // The file ends. Tells what is missing.
  virtual void finish() {}

 protected:
  Facts& facts_;
};

// Each source describes its format.
std::unique_ptr<Reader> make_show_gids_reader(Facts& facts);
std::unique_ptr<Reader> make_ibv_devinfo_reader(Facts& facts);
std::unique_ptr<Reader> make_rdma_link_reader(Facts& facts);

}  // namespace nccl_env::listing
