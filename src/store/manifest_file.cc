// SPDX-License-Identifier: Apache-2.0
#include "manifest_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::store {
namespace {

// parse_documents takes no more; the table of a node with nine HCAs is 5 KiB.
constexpr std::size_t kMaxFileBytes = 8u << 20;

bool is_manifest(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  return !name.starts_with('.') && (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

}  // namespace

Result<std::vector<std::filesystem::path>> manifests_in(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (is_manifest(entry->path()) && !entry->is_directory(ignored)) names.push_back(entry->path());
  }
  if (error) return Error{path.string() + ": " + error.message()};
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  std::error_code error;  // opening a pipe would wait for its writer
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return Error{path.string() + ": not a regular file"};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path.string() + ": " + std::strerror(errno)};
  std::string text;
  char block[64 << 10];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > limit)
      return Error{path.string() + ": larger than " + std::to_string(limit) + " bytes"};
  }
  if (file.bad()) return Error{path.string() + ": cannot be read"};
  return text;
}

ManifestFile::Stamp ManifestFile::stamp() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size, status.st_ino};
}

bool ManifestFile::refresh(const PolicyOptions& options) {
  const Stamp now = stamp();
  if (now == seen_) return false;
  seen_ = now;
  load(options);
  return true;
}

void ManifestFile::load(const PolicyOptions& options) {
  problem_.clear();
  Objects read;
  const Result<std::string> text = read_file(path_, kMaxFileBytes);
  if (!text) {
    problem_ = text.error().message;
  } else if (const auto documents = parse_documents(*text, name()); !documents) {
    problem_ = documents.error().message;
  } else {
    for (const nlohmann::json& document : *documents) add_object(document, options, read);
    for (const std::string& problem : read.problems)
      problem_ += (problem_.empty() ? name() + ": " : "; ") + problem;
  }
  if (!problem_.empty() && was_good_) return;
  was_good_ = problem_.empty();
  objects_ = std::move(read);
}

}  // namespace nccl_env::store
