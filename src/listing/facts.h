// SPDX-License-Identifier: Apache-2.0
// What a listing tells of ports, with the lines where it stands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"

namespace nccl_env::listing {

struct RowFacts {
  int line = 0;
  GidRow row;           // without its address
  bool not_v2 = false;  // "v1" without a netdev: RoCE v1, InfiniBand or iWARP
};

struct PortFacts {
  Port port;                     // without rows
  int line = 0;                  // where it is named
  bool no_gid = false;           // it is told that no GID is there; InfiniBand ports have one
  std::map<int, RowFacts> rows;  // by index
};

// With the line that counts the rest these are a hundred lines.
constexpr std::size_t kMostProblems = 99;

struct Facts {
  std::string file;  // for messages
  std::vector<PortFacts> ports;
  std::vector<Finding> problems;  // the first kMostProblems
  std::size_t problem_count = 0;  // all

  // Line 0: the whole file. Beyond kMostProblems only counted.
  void problem(int line, std::string message);
  // nullptr where the port was not told yet.
  PortFacts* find(std::string_view hca, int number);
  // A port that is told already is a problem, and so are more than a table holds: then nullptr.
  PortFacts* add(PortFacts port);
  // A row that the port has already is a problem, and so are more than a table holds.
  void add_row(PortFacts& port, RowFacts row);

 private:
  std::size_t rows_ = 0;
};

// A port with all that its facts tell.
Port make_port(const PortFacts& told);

}  // namespace nccl_env::listing
