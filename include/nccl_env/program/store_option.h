// SPDX-License-Identifier: Apache-2.0
// --store of the webhook and the agent: kubernetes, or dir:PATH.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

namespace nccl_env::program {

// The PATH of dir:PATH; nothing for anything else.
std::optional<std::string> store_path(const std::string& text);

// For the option's check(): reads PATH into `into`, which stays as it is for kubernetes.
CLI::Validator store_directory(std::filesystem::path& into);

}  // namespace nccl_env::program
