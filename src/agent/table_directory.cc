// SPDX-License-Identifier: Apache-2.0
#include "table_store.h"

#include "nccl_env/base/file.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/base/yaml_writer.h"

namespace nccl_env::agent {
namespace {

// parse_documents takes as much; the largest table is some 2 MB.
constexpr std::size_t kMaxFile = 8u << 20;

class TableDirectory : public TableStore {
 public:
  explicit TableDirectory(std::filesystem::path file) : file_(std::move(file)) {}

  Result<Beginning> begin() override {
    remove_leftovers();
    const auto text = read_file(file_, kMaxFile);
    const auto documents = text ? parse_documents(*text, file_.string()) : text.error();
    Beginning beginning;
    if (!documents || documents->size() != 1) return beginning;
    beginning.row_objects = has_row_objects(documents->front());
    if (auto table = parse_node_fabric(documents->front())) beginning.earlier = std::move(*table);
    return beginning;
  }

  Result<NodeFacts> write(const nlohmann::ordered_json& object) override {
    const Status written = write_file(file_, to_yaml(object), 0644);
    if (!written) return written.error();
    return NodeFacts{};
  }

 private:
  // An agent that was killed while it wrote left what write_file() began: NAME.yaml.XXXXXX.
  void remove_leftovers() const {
    const std::string begin = file_.filename().string() + ".";
    std::error_code error;
    std::filesystem::directory_iterator entry(file_.parent_path(), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      std::error_code ignored;
      if (name.size() == begin.size() + 6 && name.starts_with(begin) && entry->is_regular_file(ignored))
        std::filesystem::remove(entry->path(), ignored);
    }
  }

  const std::filesystem::path file_;
};

}  // namespace

Result<std::unique_ptr<TableStore>> open_directory(std::filesystem::path directory, const std::string& node) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    return Error{"--store: " + directory.string() + ": no such directory"};
  return std::unique_ptr<TableStore>(std::make_unique<TableDirectory>(directory / (node + ".yaml")));
}

}  // namespace nccl_env::agent
