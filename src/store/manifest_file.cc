// SPDX-License-Identifier: Apache-2.0
#include "manifest_file.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "nccl_env/base/file.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::store {
namespace {

// parse_documents takes no more; the table of a node with nine HCAs is 5 KiB.
constexpr std::size_t kMaxFileBytes = 8u << 20;

// One table as JSON, which is most of what a large store holds. Anything else takes the long way, which also
// says what is wrong and where.
std::optional<NodeFabric> quick_table(std::string_view path, std::string_view text) {
  if (!path.ends_with(".json")) return std::nullopt;
  auto table = read_node_fabric(text);
  return table ? std::optional(*std::move(table)) : std::nullopt;
}

}  // namespace

ManifestFile::Stamp ManifestFile::stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size, status.st_ino};
}

bool ManifestFile::refresh(const std::string& path, const PolicyOptions& options) {
  const Stamp now = stamp(path);
  if (now == seen_) return false;
  seen_ = now;
  load(path, options);
  return true;
}

void ManifestFile::load(const std::string& path, const PolicyOptions& options) {
  problem_.clear();
  Objects read;
  const Result<std::string> text = read_file(path, kMaxFileBytes);
  if (!text) {
    problem_ = text.error().message;
  } else if (const auto table = quick_table(path, *text)) {
    read.tables.push_back(pack(*table));
  } else if (const auto documents = parse_documents(*text, file_name(path)); !documents) {
    problem_ = documents.error().message;
  } else {
    for (const nlohmann::json& document : *documents) add_object(document, options, read);
    for (const Objects::Problem& problem : read.problems)
      problem_ += (problem_.empty() ? file_name(path) + ": " : "; ") + problem.sentence;
  }
  if (!problem_.empty() && was_good_) return;
  was_good_ = problem_.empty();
  objects_ = std::move(read);
}

}  // namespace nccl_env::store
