// SPDX-License-Identifier: Apache-2.0
// nccl.conf, in the grammar that NCCL 2.18 to 2.32 read alike (setEnvFile, src/misc/param.cc): NAME=VALUE
// lines that end in LF. No blanks around the '=' and no quotes (both would become part of name or value), no
// CR (kept up to 2.29.7). A '#' in the first column is a comment from 2.26 on only; before, such a line
// counts for nothing where it has no '=', and else sets a variable that begins with '#'.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env {

using ConfValues = std::map<std::string, std::string, std::less<>>;

// A text of nccl.conf. `notes` are comments of ours, "#NAME VALUE", for readers that know them: NCCL takes
// none of them. One without a value, "#NAME", stands for that of the line without its '='.
struct ConfText {
  ConfValues values;  // of two lines of a name the first counts
  ConfValues notes;
  bool is_ours = true;  // false: a line is neither
};

// Returns the lines in name order, the notes behind them; "" for neither. A note that is longer than a line
// may be stands in several. Refuses a name or value that the grammar cannot carry: NCCL cuts both at 1023
// bytes, and a line feed would begin another line.
Result<std::string> render_conf(const ConfValues& values, const ConfValues& notes = {});
// Reads any text as NCCL does; beside its lines, it takes our notes.
ConfText read_conf(std::string_view text);

// Returns the same values as the kubelet reads them for a fileKeyRef (KEP-3721, pkg/kubelet/util/env
// of 1.35): NAME='VALUE' lines, in which nothing is escaped. A value that cannot stand in one is left out,
// because one bad line keeps the container from starting; an empty one counts as not there.
std::string render_env_file(const ConfValues& values);

}  // namespace nccl_env

namespace nccl_env::conf_file {

inline constexpr std::string_view kName = "nccl.conf";       // the file, and its name in a status
inline constexpr std::string_view kPath = "/etc/nccl.conf";  // where every NCCL reads it
// Paths at which NCCL and RCCL read it. RCCL has the same grammar (ROCm/rccl, src/misc/param.cc), so one file
// serves both.
inline constexpr std::array<std::string_view, 2> kPaths{kPath, "/etc/rccl.conf"};
inline constexpr std::string_view kFolder = "/nccl-env";  // of files at places of our own
// Such a place, which NCCL_CONF_FILE names: NCCL reads the image's /etc/nccl.conf as well, after it.
inline constexpr std::string_view kNamedPath = "/nccl-env/nccl.conf";
inline constexpr std::array<std::string_view, 2> kNamedPaths{kNamedPath,
                                                             kPaths[1]};  // released RCCL needs its own
// The name, in an annotation's key, of the text without an index: for a pod that may have a list of HCAs of
// its own.
inline constexpr std::string_view kNoIndexText = "noindex-nccl.conf";
inline constexpr std::string_view kVolume = "nccl-env-conf";       // the volume that holds it
inline constexpr std::string_view kEnvName = "env";                // the file of EnvFile, in the same volume
inline constexpr std::string_view kResolver = "nccl-env-resolve";  // the init container that writes it

}  // namespace nccl_env::conf_file
