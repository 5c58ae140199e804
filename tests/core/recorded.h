// SPDX-License-Identifier: Apache-2.0
// The recorded admission requests under tests/data.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "support/places.h"

namespace nccl_env::tests {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path.string());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// File name -> text of every tests/data/admission/PREFIX*.json.
inline std::map<std::string, std::string> recorded(const std::string& prefix) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(tests::in_source("/tests/data/admission"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) found.emplace(name, read_text(entry.path()));
  }
  if (found.empty()) throw std::runtime_error("no recorded request begins with " + prefix);
  return found;
}

}  // namespace nccl_env::tests
