// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nccl_env/result.h"
#include "table_store.h"

namespace nccl_env::app {

// Opens DIRECTORY/NODE.yaml, written beside it and renamed: a reader sees the old file or the new one. The
// directory must exist.
Result<std::unique_ptr<TableStore>> open_directory(std::filesystem::path directory, const std::string& node);

}  // namespace nccl_env::app
