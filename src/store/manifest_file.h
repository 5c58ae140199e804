// SPDX-License-Identifier: Apache-2.0
// One manifest file: read again only when it changed, and keeping its last good objects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/policy/reader.h"
#include "nccl_env/result.h"
#include "nccl_env/store/manifests.h"

namespace nccl_env::store {

// Its name, without the directory: a store keeps thousands by name, and their paths once.
inline std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

class ManifestFile {
 public:
  // True if the file, which is always the same, had changed since the last call. One with a problem keeps its
  // last good objects; if it never was good, the good ones in it count.
  bool refresh(const std::string& path, const PolicyOptions& options);

  [[nodiscard]] const Objects& objects() const { return objects_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "" if the file is good

 private:
  struct Stamp {
    std::int64_t seconds = 0, nanoseconds = 0, size = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp(const std::string& path);
  void load(const std::string& path, const PolicyOptions& options);

  std::optional<Stamp> seen_;
  Objects objects_;
  std::string problem_;
  bool was_good_ = false;
};

}  // namespace nccl_env::store
