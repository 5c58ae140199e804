// SPDX-License-Identifier: Apache-2.0
// Inputs of commands: files (- is the standard input), the objects in them, and words of the command line.
//
//   command line ----> [ inputs ] ----> NodeFabric*, NcclPolicy*   shared, immutable
//                         ^                    |
//   files, -  ------------+                    v
//   the store's load_once                  a command ----> [ Terminal ]: streams, exit code
//                                              |
//                                              +--> [ table_view ]: a table with its verdicts
//
// A program owns its streams, signals and log; a command borrows them, and returns an exit code.
#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/program/terminal.h"
#include "nccl_env/result.h"
#include "nccl_env/store/load_once.h"

namespace nccl_env::program {

using Tables = std::vector<std::shared_ptr<const NodeFabric>>;
using Policies = std::vector<std::shared_ptr<const NcclPolicy>>;

struct PolicyArguments {
  std::string file;
  std::string name;  // where the file holds several
  bool allow_code_paths = false;
};

// The longest text that a reader of manifests accepts.
inline constexpr std::size_t kMaxInputBytes = 8u << 20;

Result<std::string> read_text(const std::string& file, std::istream& in, std::size_t limit = kMaxInputBytes);
Result<std::vector<nlohmann::json>> read_documents(const std::string& file, std::istream& in);

// Every NodeFabric of the files and directories, each node once; a file or directory without one is refused.
// From a directory, the files that a webhook would read count, and none of them may be refused.
Result<Tables> read_tables(const std::vector<std::string>& files, std::istream& in);
// The tables that can be read, and a problem for each file or object that cannot. Of two with one name the
// first counts. Files that hold lists without items alone give neither.
store::Reading read_each_table(const std::vector<std::string>& files, std::istream& in);
// Every NcclPolicy of the file; one that is refused refuses the file.
Result<Policies> read_policies(const PolicyArguments& arguments, std::istream& in);

// The one policy of the file that the arguments choose; without a file `into` stays as it is. Fails with
// kNotSeen for the file, with kUsage for a wrong name.
Failure read_chosen_policy(const PolicyArguments& arguments, std::istream& in,
                           std::shared_ptr<const NcclPolicy>& into);

// By name, or the only one. An error is a mistake on the command line, and lists the names.
Result<std::shared_ptr<const NodeFabric>> choose_table(const Tables& tables, const std::string& node);
Result<std::shared_ptr<const NcclPolicy>> choose_policy(const Policies& policies, const std::string& name);

Result<NcclVersion> read_nccl_version(const std::string& text);  // "": the newest that is known
Result<Timestamp> read_moment(const std::string& text);          // "": now

}  // namespace nccl_env::program
