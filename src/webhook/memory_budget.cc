// SPDX-License-Identifier: Apache-2.0
#include "memory_budget.h"

#include <algorithm>

#include "nccl_env/core/pod/limits.h"
#include "nccl_env/webhook/binding_cache.h"

namespace nccl_env::webhook {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

constexpr std::uint64_t kProgram = 18 * kMiB;  // 14 measured when idle; 2 of the log
// 18 KiB of session and OpenSSL; in a request 32 of input, 64 of body or reply, 34 of record buffers.
constexpr std::uint64_t kConnection = 150 * kKiB;
// simdjson: 8 bytes of tape, 5/3 of strings and 4 of indexes for each byte.
constexpr std::uint64_t kParser = 14;
constexpr std::uint64_t kBuffers =
    16 * 160 * kKiB;                             // sets of buffers that a thread keeps for the next requests
constexpr std::uint64_t kAnswering = 32 * kMiB;  // the contract of docs/reference/webhook.md
constexpr std::uint64_t kTable = 3 * kKiB;       // of eight ports, packed, with its places in maps
// A page of 500 tables in a buffer that grows by doubling, and the positions of its parts.
constexpr std::uint64_t kListPage = 32 * kMiB;

std::uint64_t count(int number) {
  return static_cast<std::uint64_t>(std::max(number, 0));
}

std::uint64_t mib(std::uint64_t bytes) {
  return (bytes + kMiB - 1) / kMiB;
}

std::string times(int number, std::uint64_t bytes) {
  const bool whole = bytes % kMiB == 0;
  return std::to_string(number) + " x " + std::to_string(bytes / (whole ? kMiB : kKiB)) +
         (whole ? " MiB" : " KiB");
}

}  // namespace

std::vector<MemoryTerm> memory_terms(const MemoryInput& input) {
  constexpr std::uint64_t kReview = kParser * kLargeReview;
  constexpr std::uint64_t kThread = kReview + kMaxBindingBytes + kBuffers;
  constexpr std::uint64_t kWaitingThread = kReview + kMaxBindingBytes + (1 + kParser) * kMaxWholeReview;
  return {
      {"program", "", kProgram},
      {"connections (" + times(input.max_connections, kConnection) + ")", "--max-connections",
       count(input.max_connections) * kConnection},
      // A body that grows has an old and a new block for a moment.
      {"large bodies and replies", "", input.large_bodies + input.large_bodies / 2},
      {"threads (" + times(input.threads, kThread) + ")", "--threads", count(input.threads) * kThread},
      {"look-ups (" + times(input.waiting_threads, kWaitingThread) + ")", "",
       count(input.waiting_threads) * kWaitingThread},
      {"one large request", "", kParser * kMaxWholeReview + kAnswering},
      {"tables (" + times(input.tables, kTable) + ")", "", count(input.tables) * kTable},
      {"a page of a list", "", kListPage},
  };
}

std::uint64_t memory_bound(const MemoryInput& input) {
  std::uint64_t sum = 0;
  for (const MemoryTerm& term : memory_terms(input)) sum += term.bytes;
  return sum;
}

std::uint64_t memory_mib(const MemoryInput& input) {
  return mib(memory_bound(input));
}

std::string memory_formula(const MemoryInput& input) {
  std::string text;
  for (const MemoryTerm& term : memory_terms(input))
    text += (text.empty() ? " MiB = " : " + ") + std::to_string(mib(term.bytes)) + " " + term.what;
  return std::to_string(memory_mib(input)) + text;
}

std::optional<std::string> memory_problem(const MemoryInput& input, std::optional<std::uint64_t> limit) {
  if (!limit || memory_bound(input) <= *limit) return std::nullopt;
  const std::vector<MemoryTerm> terms = memory_terms(input);
  const auto largest = std::max_element(terms.begin(), terms.end(), [](const auto& left, const auto& right) {
    return (left.option.empty() ? 0 : left.bytes) < (right.option.empty() ? 0 : right.bytes);
  });
  return std::string(largest->option) + ": with these options the program may need " + memory_formula(input) +
         "; the container's limit is " + std::to_string(*limit / kMiB) + " MiB: lower " +
         std::string(largest->option) + ", or raise the limit";
}

}  // namespace nccl_env::webhook
