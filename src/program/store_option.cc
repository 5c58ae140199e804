// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/store_option.h"

namespace nccl_env::program {

std::optional<std::string> store_path(const std::string& text) {
  constexpr std::string_view kDirectory = "dir:";
  if (!text.starts_with(kDirectory) || text.size() == kDirectory.size()) return std::nullopt;
  return text.substr(kDirectory.size());
}

CLI::Validator store_directory(std::filesystem::path& into) {
  const auto read = [&into](std::string& text) -> std::string {
    if (text == "kubernetes") return {};
    if (const auto path = store_path(text)) return into = *path, "";
    std::error_code error;
    const bool there = std::filesystem::is_directory(text, error);
    return "must be kubernetes or dir:PATH" + (there ? "; do you mean dir:" + text + "?" : "");
  };
  return {read, "kubernetes|dir:PATH"};
}

}  // namespace nccl_env::program
