// SPDX-License-Identifier: Apache-2.0
// How NCCL reads a variable: getenv's view of its text, and its integer parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nccl_env {

using NcclEnv = std::map<std::string, std::string, std::less<>>;

// Returns the text as a C program sees it: it ends at a NUL byte. Linux passes no string longer than 128 KiB
// (MAX_ARG_STRLEN), so that nothing beyond is read either.
std::string_view nccl_text(std::string_view text);

// The value, or nullopt where it is unset.
std::optional<std::string_view> nccl_getenv(const NcclEnv& env, std::string_view name);
// The value; empty where it is unset or empty.
std::string_view nccl_getenv_or_empty(const NcclEnv& env, std::string_view name);

// ncclLoadParam (src/misc/param.cc): unset, empty and out of range give the default.
std::int64_t nccl_parameter(const NcclEnv& env, std::string_view name, std::int64_t fallback);

// atoi, which is (int)strtol(text, NULL, 10): too large a number gives the low bits of LONG_MAX, -1, and too
// small a number those of LONG_MIN, 0.
int nccl_atoi(std::string_view text);

}  // namespace nccl_env
