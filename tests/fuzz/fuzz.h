// SPDX-License-Identifier: Apache-2.0
// FUZZ_TARGET(name) { … input … }: one property of everything that may come from outside. Under libFuzzer it
// is the program's only target; without, a test that replays tests/fuzz/corpus/NAME.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nccl_env/utf8.h"

namespace nccl_env::fuzz {

// Aborts: libFuzzer keeps the input.
inline void require(bool holds, std::string_view rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %.*s\n", static_cast<int>(rule.size()), rule.data());
  std::abort();
}

// Answers for a terminal are UTF-8 without what it would obey, in lines.
inline void require_shown(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    require(length > 0, "UTF-8");
    require(text.front() == '\n' || !steers_display(code_point(text.substr(0, length))), "shown, not obeyed");
    text.remove_prefix(length);
  }
}

// Takes the first byte off the input, as a choice.
inline unsigned take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

inline nlohmann::json unordered(const nlohmann::ordered_json& json) {
  return nlohmann::json::parse(json.dump());
}

#ifdef NCCL_ENV_FUZZ_REPLAY
// Runs every file of tests/fuzz/corpus/NAME; prints each before it runs.
void replay(const char* name, void (*target)(std::string_view));
#endif

}  // namespace nccl_env::fuzz

#ifdef NCCL_ENV_FUZZ_REPLAY
#include <gtest/gtest.h>
#define FUZZ_TARGET(name)                         \
  static void run_##name(std::string_view input); \
  TEST(Replay, name) {                            \
    nccl_env::fuzz::replay(#name, run_##name);    \
  }                                               \
  static void run_##name(std::string_view input)
#else
#define FUZZ_TARGET(name)                                                             \
  static void run_##name(std::string_view input);                                     \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    run_##name(std::string_view(reinterpret_cast<const char*>(data), size));          \
    return 0;                                                                         \
  }                                                                                   \
  static void run_##name(std::string_view input)
#endif
