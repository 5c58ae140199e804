// SPDX-License-Identifier: Apache-2.0
// Tells what a JSON text would cost its reader, before a parser sees it.
#pragma once

#include <string_view>

namespace nccl_env {

// A number of at most 20 bytes without an exponent costs its parser a multiplication: 64 bits hold its
// digits. Any other one may take arithmetic of long numbers, which is 10 µs and more for 24 bytes. An integer
// of 64 bits with its sign is no longer than that, and objects of Kubernetes hold hardly any exponent.
inline constexpr std::size_t kPlainNumberBytes = 20;
inline constexpr int kMostOtherNumbers = 32;
inline constexpr std::string_view kCostlyNumbers =
    "holds more than 32 numbers with an exponent or of more than 20 characters";

// True if the text holds more than kMostOtherNumbers of the others. Takes any text.
bool holds_costly_numbers(std::string_view text);

}  // namespace nccl_env
