// SPDX-License-Identifier: Apache-2.0
#include "support/places.h"

namespace nccl_env::tests {

std::string in_source(const std::string& path) {
  return NCCL_ENV_SOURCE_DIR + path;
}

std::string in_build(const std::string& path) {
  return NCCL_ENV_BINARY_DIR + path;
}

}  // namespace nccl_env::tests
