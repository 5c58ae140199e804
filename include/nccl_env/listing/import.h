// SPDX-License-Identifier: Apache-2.0
// Import of listings: the text of show_gids, ibv_devinfo, … as people paste it into tickets becomes a
// NodeFabric (docs/reference/node-fabric.md). A half-read listing would give a wrong table: what depends on a
// line that should have been understood and is not, stays unknown, with a note. If ports themselves depend on
// it, or a tool says that nothing can be used here, there is no table.
//
//   text ----> [ Line ]* ----> [ Reader ], one a format ----> [ Facts ]: each value with its place
//                                                                |
//                                          [ merge ] <-----------+
//                                              |
//                                              v
//                                   Port* of a NodeFabric, or problems with file and line
//
// A reader knows one section, the facts all of them. Places hold names of the caller's files; the table holds
// nothing of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/findings/finding.h"

namespace nccl_env {

enum class ListingFormat { Auto, ShowGids, IbvDevinfo, RdmaLink, Ibstat, Ibstatus, Ibdev2netdev };

// auto, show_gids, ibv_devinfo, rdma-link, ibstat, ibstatus, ibdev2netdev; nothing for other names.
std::optional<ListingFormat> parse_listing_format(std::string_view name);
std::string_view to_string(ListingFormat format);

struct ListingFile {
  std::string name;  // for messages
  std::string text;  // at most 4 MiB, lines of at most 4096 bytes, LF or CRLF
};

struct ImportOptions {
  std::string node;                            // metadata.name of the table
  std::optional<std::string> node_interface;   // listings don't say it
  ListingFormat format = ListingFormat::Auto;  // else lines of other formats are problems
};

struct SkippedLine {
  std::string file;
  int line = 0;
  std::string text;  // cut, printable ASCII
};

struct ImportReport {
  NodeFabric table;                  // without a time: never stale
  int skipped_lines = 0;             // not blank and not of a listing: prompts, notes, comments
  std::vector<SkippedLine> samples;  // the first few of them, comments left out
  // Warnings, the first 99: what was read in part (ListingLine), and what a tool says cannot be used.
  std::vector<Finding> notes;
};

struct ImportOutcome {
  std::optional<ImportReport> report;  // absent if there is a finding
  // ListingLine: the first 99, in reading order; rows of unknown ports and contradictions between listings
  // last. NoGidHere, NoDevices and LibraryTooOld where a tool's answer is that. The subject is a file,
  // its path the line, from 1; about an option there is neither. The sentence, which is printable ASCII, says
  // what was expected, and for a contradiction the other place.
  std::vector<Finding> findings;
  std::size_t more = 0;  // further ones, which are only counted
};

// The files are of one node; facts merge by HCA and port.
ImportOutcome import_listings(const std::vector<ListingFile>& files, const ImportOptions& options);

}  // namespace nccl_env
