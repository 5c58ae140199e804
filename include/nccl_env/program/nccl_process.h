// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "nccl_env/core/engines/nccl/environment.h"

namespace nccl_env::program {

// The variables of a NCCL process that would start here: those of this environment, then those of the files
// in NCCL's order, which change none that is set already.
struct NcclProcess {
  NcclEnv env;
  std::map<std::string, std::string, std::less<>> files = {};  // by variable, of those that a file sets
};
NcclProcess read_nccl_process();

}  // namespace nccl_env::program
