// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/nccl_process.h"

#include <unistd.h>

#include "nccl_env/base/file.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env::program {
namespace {

// NCCL reads lines of at most 1 KiB; a file with a line for each variable that it knows has some 10 KiB.
constexpr std::size_t kMaxConf = 1u << 20;

void add_conf(const std::string& path, NcclProcess& into) {
  const auto text = read_file(path, kMaxConf);
  if (!text) return;
  for (const auto& [name, value] : read_conf(*text).values) {
    if (into.env.emplace(name, value).second) into.files.emplace(name, path);
  }
}

}  // namespace

NcclProcess read_nccl_process() {
  NcclProcess process;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != text.npos) process.env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  const std::string named(nccl_getenv_or_empty(process.env, variable::kConfFile));
  const std::string home(nccl_getenv_or_empty(process.env, "HOME"));
  if (!named.empty()) {
    add_conf(named, process);
  } else if (!home.empty()) {
    add_conf(home + "/.nccl.conf", process);
  }
  add_conf(std::string(conf_file::kPath), process);
  return process;
}

}  // namespace nccl_env::program
