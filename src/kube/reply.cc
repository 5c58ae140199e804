// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "nccl_env/kube/client.h"

namespace nccl_env::kube {
namespace {

constexpr std::size_t kMaxMessage = 1024;

}  // namespace

std::string status_message(const Reply& reply) {
  std::string text = "HTTP " + std::to_string(reply.status);
  const auto status = nlohmann::json::parse(reply.body, nullptr, false);
  if (!status.is_object()) return text;
  const auto message = status.find("message");
  if (message == status.end() || !message->is_string()) return text;
  return text + ": " + message->get_ref<const std::string&>().substr(0, kMaxMessage);
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter_or_digit || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace nccl_env::kube
