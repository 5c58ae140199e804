// SPDX-License-Identifier: Apache-2.0
// nccl-env run as a function, in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "nccl_env/cli/cli.h"
#include "support/places.h"
#include "support/temporary_directory.h"

namespace nccl_env::tests {

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
};

// From here on the process and its children ask clusters through tests/support/programs/kubectl.cc.
inline void use_fake_kubectl() {
  static const std::string before = std::getenv("PATH");
  ::setenv("PATH", (tests::in_build("/tests/programs") + ":" + before).c_str(), 1);
}

// `width`: of a terminal; 0: it is none.
inline CliResult run_cli(std::vector<std::string> arguments, const std::string& input = "",
                         std::size_t width = 0) {
  std::vector<const char*> argv{"nccl-env"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int code = cli::run_cli(static_cast<int>(argv.size()), argv.data(), {in, out, err, width});
  return {code, out.str(), err.str()};
}

inline std::string source_file(const std::string& path) {
  return tests::in_source("/" + path);
}

class CliTest : public ::testing::Test {
 public:
  CliTest() { use_fake_kubectl(); }

 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_.path() / name).string();
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace nccl_env::tests
