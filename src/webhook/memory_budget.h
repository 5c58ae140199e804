// SPDX-License-Identifier: Apache-2.0
// The most memory that the webhook needs, from its options. --help prints the sum; its terms' reasons stand
// in the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nccl_env::webhook {

struct MemoryInput {
  int threads = 8;          // of the server
  int waiting_threads = 4;  // for look-ups
  int max_connections = 1024;
  std::size_t large_bodies = 64u << 20;  // bodies and replies in flight, beyond 64 KiB each
  int tables = 10'000;                   // NodeFabrics of eight ports
};

// A request larger than this is answered one at a time. It is 13 times a GPU pod's review, and bounds what
// the parser of each thread takes.
inline constexpr std::size_t kLargeReview = 256u << 10;

struct MemoryTerm {
  std::string what;         // "connections (1024 x 150 KiB)"
  std::string_view option;  // that lowers it; "" if none does
  std::uint64_t bytes = 0;
};

std::vector<MemoryTerm> memory_terms(const MemoryInput& input);
std::uint64_t memory_bound(const MemoryInput& input);
// The bound in MiB, rounded up.
std::uint64_t memory_mib(const MemoryInput& input);
// The sum as --help and the log say it: "603 MiB = 18 program + 150 connections (1024 x 150 KiB) + …".
std::string memory_formula(const MemoryInput& input);

// A sentence that names the option to lower, if the bound is above the container's limit.
std::optional<std::string> memory_problem(const MemoryInput& input, std::optional<std::uint64_t> limit);

}  // namespace nccl_env::webhook
