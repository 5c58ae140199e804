// SPDX-License-Identifier: Apache-2.0
// Where the checkout and the built programs are. Told by one source file alone, so that the objects of all
// the others are the same in every checkout, and a cache of them serves each.
#pragma once

#include <string>

namespace nccl_env::tests {

// "/docs/reference/cli.md" -> the file in the checkout.
std::string in_source(const std::string& path);
// "/bin/nccl-env" -> the program that this build made.
std::string in_build(const std::string& path);

}  // namespace nccl_env::tests
