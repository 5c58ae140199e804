// SPDX-License-Identifier: Apache-2.0
// NCCL's name lists against a literal second reading of docs/internals/nccl-rules.md, "Name lists".
// The input is LIST\nDEVICE:PORT, the first byte chooses version and limit.
#include "fuzz/fuzz.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/version.h"

namespace nccl_env::fuzz::name_list_fuzz {
namespace {

std::vector<std::string> split(std::string text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Whether the list selects the device, by copying strings about.
bool selects(std::string list, const std::string& device, int port, bool newest, int limit) {
  list = list.c_str();  // ends at a NUL
  const bool exclude = list.substr(0, 1) == "^";
  if (exclude) list.erase(0, 1);
  const bool exact = list.substr(0, 1) == "=";
  if (exact) list.erase(0, 1);
  int entries = 0;
  bool found = false;
  for (const std::string& entry : split(list, ',')) {
    const std::vector<std::string> fields = split(entry, ':');
    std::string name = fields[0];
    if (name.empty() || entries == limit) continue;
    ++entries;
    if (newest) name = name.substr(0, 63);
    if (!newest && name.size() > 63) continue;  // no device's name is that long
    const bool any = fields.size() == 1 || (newest && fields[1].empty());
    const int wanted = any ? -1 : std::atoi(fields[1].c_str());
    const bool named = exact ? device == name : device.rfind(name, 0) == 0;
    found = found || (named && (wanted == -1 || port == -1 || wanted == port));
  }
  return (entries == 0 || found) != exclude;
}

}  // namespace

FUZZ_TARGET(name_list) {
  const unsigned choice = take_byte(input);
  const bool newest = (choice & 1) != 0;
  const int limit = (choice & 2) != 0 ? 32 : 3;
  const std::size_t end = input.find('\n');
  if (input.size() > 4096) return;
  const std::string list(input.substr(0, end));
  const std::string_view rest = end == input.npos ? "" : input.substr(end + 1);
  const std::string device = std::string(rest.substr(0, rest.find(':'))).substr(0, 63);
  const int port = rest.find(':') == rest.npos ? -1 : rest.back() - '0';

  const NcclVersion version = newest ? kNewestNccl : NcclVersion{2, 21, 5};
  const NcclNameList read = parse_nccl_name_list(list, version, limit);
  require(read.entries.size() <= static_cast<std::size_t>(limit), "no more entries than NCCL reads");
  require(read.selects(device, port) == selects(list, device, port, newest, limit), "both readings agree");
}

}  // namespace nccl_env::fuzz::name_list_fuzz
