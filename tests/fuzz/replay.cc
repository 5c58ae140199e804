// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/fuzz.h"
#include "support/places.h"

namespace nccl_env::fuzz {

void replay(const char* name, void (*target)(std::string_view)) {
  const std::filesystem::path corpus = std::filesystem::path(tests::in_source("/tests/fuzz/corpus")) / name;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << corpus;
  for (const auto& path : files) {
    std::fprintf(stderr, "%s\n", path.c_str());  // the last one, if it crashes
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    ASSERT_TRUE(file) << path;
    target(input);
  }
  target({});
}

}  // namespace nccl_env::fuzz
