// SPDX-License-Identifier: Apache-2.0
// What a JSON text costs its reader, told before a parser sees it.
#pragma once

#include <string_view>

namespace nccl_env {

// A parser turns a number of at most 20 bytes without an exponent into a double by a multiplication: 64 bits
// hold its digits, and they are followed by fewer than 20 places. Any other one may take the arithmetic of
// long numbers, 10 µs and more, which 24 bytes are enough for. 64 bits of an integer with its sign are no
// longer, and objects of Kubernetes hold hardly any number with an exponent.
inline constexpr std::size_t kPlainNumberBytes = 20;
inline constexpr int kMostOtherNumbers = 32;
inline constexpr std::string_view kCostlyNumbers =
    "holds more than 32 numbers with an exponent or of more than 20 characters";

// True if the text holds more than kMostOtherNumbers of the others. Takes any text.
bool holds_costly_numbers(std::string_view text);

}  // namespace nccl_env
