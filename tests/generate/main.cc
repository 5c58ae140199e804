// SPDX-License-Identifier: Apache-2.0
// Writes what comes from the descriptions of our objects (outputs.h) into the checkout.
#include <cstdio>
#include <exception>
#include <fstream>

#include "generate/outputs.h"
#include "support/places.h"

int main() {
  try {
    for (const auto& output : nccl_env::generate::outputs()) {
      std::ofstream file(nccl_env::tests::in_source("/" + output.path));
      file << output.text;
      if (!file.flush()) throw std::runtime_error(output.path + ": cannot be written");
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "generate: %s\n", problem.what());
    return 1;
  }
}
