// SPDX-License-Identifier: Apache-2.0
// Import of a listing: the text of show_gids, ibv_devinfo or rdma link as people paste it into tickets
// becomes a NodeFabric (docs/reference/node-fabric.md). A half-read listing would give a wrong table: where a
// line should have been understood and is not, or a tool says that it could not use what is there, there is
// no table.
//
//   text ----> [ Line ]* ----> [ Reader ], that of its tool ----> [ Facts ] of ports, with their lines
//                                                                    |
//                                                                    v
//                                              Port* of a NodeFabric, or problems with file and line
//
// The table holds nothing of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

struct ListingFile {
  std::string name;  // for messages
  std::string text;  // of one tool on one node; at most 4 MiB, lines of at most 4096 bytes, LF or CRLF
};

struct ImportOptions {
  std::string node;                           // metadata.name of the table
  std::optional<std::string> node_interface;  // listings don't say it
};

struct ImportReport {
  NodeFabric table;       // without a time: never stale
  int skipped_lines = 0;  // not blank and not of the listing: prompts, notes, comments
};

struct ImportOutcome {
  std::optional<ImportReport> report;  // absent if there is a finding
  // ListingLine: the first 99, in reading order. The subject is the file, its path the line, from 1; about an
  // option there is neither. The sentence, which is printable ASCII, says what was expected.
  std::vector<Finding> findings;
  std::size_t more = 0;  // further ones, which are only counted
};

ImportOutcome import_listing(const ListingFile& file, const ImportOptions& options);

}  // namespace nccl_env
