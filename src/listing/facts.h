// SPDX-License-Identifier: Apache-2.0
// What a listing tells of ports, with the lines where it stands.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "line.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"

namespace nccl_env::listing {

struct Told {
  int line = 0;
  std::string text;
};

struct RowFacts {
  int line = 0;
  GidRow row;           // without its address
  bool not_v2 = false;  // "v1" without a netdev: RoCE v1, InfiniBand or iWARP
};

struct PortFacts {
  Port port;                       // without rows
  int line = 0;                    // where it is named
  std::optional<int> device_type;  // the PCI id of its device
  bool no_gid = false;             // it is told that no GID is there; InfiniBand ports have one
  std::map<int, RowFacts> rows;    // by index
  // Why some row could not be read: then the port's rows are not known.
  std::optional<Told> unread;
};

std::string name_of(const Port& port);

// With the line that counts the rest these are a hundred lines.
constexpr std::size_t kMostProblems = 99;

// Tells that a tool found nothing, or that it could not use what it found.
struct Answers {
  int count = 0;
  std::optional<int> no_gid;            // show_gids: there is not one
  std::optional<int> no_device;         // libibverbs finds none
  std::optional<Told> abi;              // libibverbs does not fit a driver: both ABIs, in words
  std::set<std::string> not_supported;  // devices of that driver
  std::optional<int> not_opened;        // the first device that ibv_devinfo could not open …
  std::size_t not_opened_count = 0;
};

struct Facts {
  std::string file;  // for messages
  std::vector<PortFacts> ports;
  Answers answers;
  std::vector<Finding> notes;     // the first kMostProblems
  std::vector<Finding> problems;  // the first kMostProblems
  std::size_t problem_count = 0;  // all

  // Line 0: the whole file. Beyond kMostProblems only counted.
  void problem(int line, std::string message, Code code = Code::ListingLine);
  void note(int line, std::string message, Code code = Code::ListingLine);
  // nullptr where the port was not told yet.
  PortFacts* find(std::string_view hca, int number);
  // A port that is told already is a problem, and so are more than a table holds: then nullptr.
  PortFacts* add(PortFacts port);
  // A row that the port has already is a problem, and so are more than a table holds.
  void add_row(PortFacts& port, RowFacts row);

 private:
  Subject subject_at(int line) const;

  std::map<std::pair<std::string, int>, std::size_t, std::less<>> positions_;
  std::size_t rows_ = 0;
};

}  // namespace nccl_env::listing
