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

class ManifestFile {
 public:
  explicit ManifestFile(std::string path) : path_(std::move(path)) {}

  // True if the file had changed since the last call. A file with a problem keeps its last good objects; if
  // it never was good, the good ones in it count.
  bool refresh(const PolicyOptions& options);

  [[nodiscard]] const Objects& objects() const { return objects_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "" if the file is good
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }

 private:
  struct Stamp {
    std::int64_t seconds = 0, nanoseconds = 0, size = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  [[nodiscard]] Stamp stamp() const;
  void load(const PolicyOptions& options);

  std::string path_;
  std::optional<Stamp> seen_;
  Objects objects_;
  std::string problem_;
  bool was_good_ = false;
};

}  // namespace nccl_env::store
