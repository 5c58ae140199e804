// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::listing {
namespace {

constexpr std::string_view kMasks = "xX*#?";

// Returns the text with the least or the greatest digits in place of masked ones: fd00:xxxx, 10.x.x.x.
std::string filled(std::string_view text, bool least) {
  std::string result;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find_first_of(":.", start), text.size());
    const std::string_view part = text.substr(start, end - start);
    const bool decimal = (end < text.size() && text[end] == '.') || (start > 0 && text[start - 1] == '.');
    if (decimal && is_masked(part)) {
      result += least ? "0" : "255";
    } else {
      for (const char c : part) result += kMasks.find(c) == kMasks.npos ? c : least ? '0' : 'f';
    }
    if (end < text.size()) result += text[end];
    start = end + 1;
  }
  return result;
}

// True if all GIDs between the two are of one class: link-local, IPv4, IPv4's link-local or any other.
bool is_one_class(const Gid& least, const Gid& greatest) {
  const auto same = [&](std::size_t bytes) {
    return std::equal(least.bytes.begin(), least.bytes.begin() + bytes, greatest.bytes.begin());
  };
  if (!same(2)) return false;
  if (least.bytes[0] != 0 || least.bytes[1] != 0) return true;
  return same(13) && (least.bytes[12] != 169 || same(14));
}

}  // namespace

bool is_masked(std::string_view text) {
  return text.find_first_of(kMasks) != text.npos;
}

std::optional<ReadGid> read_gid(std::string_view text) {
  if (text.find(':') == text.npos) return std::nullopt;
  const bool masked = is_masked(text);
  const auto least = masked ? parse_gid(filled(text, true)) : parse_gid(text);
  if (!least) return std::nullopt;
  if (!masked) return ReadGid{*least, false};
  const auto greatest = parse_gid(filled(text, false));
  if (!greatest || !is_one_class(*least, *greatest)) return std::nullopt;
  return ReadGid{*least, true};
}

std::optional<int> read_number(std::string_view text, int most) {
  int value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<double> read_decimal(std::string_view text) {
  constexpr double kMost = 100000;
  double value = 0;
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || value > kMost) return std::nullopt;
  return value;
}

std::optional<int> read_port_number(std::string_view text) {
  const auto number = read_number(text, kMaxPortNumber);
  return number && *number > 0 ? number : std::nullopt;
}

bool is_plain_netdev_name(std::string_view text) {
  return is_netdev_name(text) && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

std::optional<PortState> read_state_name(std::string_view text) {
  const std::string name = lower_case(text);
  if (name == "active") return PortState::Active;
  if (name == "armed") return PortState::Armed;
  if (name == "init" || name == "initializing") return PortState::Init;
  if (name == "down") return PortState::Down;
  return std::nullopt;
}

int state_number(PortState state) {
  constexpr std::array kStates{PortState::Down, PortState::Init, PortState::Armed, PortState::Active};
  return static_cast<int>(std::find(kStates.begin(), kStates.end(), state) - kStates.begin()) + 1;
}

std::optional<LinkLayer> read_link_layer(std::string_view text) {
  if (text == "Ethernet") return LinkLayer::Ethernet;
  if (text == "InfiniBand" || text == "IB") return LinkLayer::InfiniBand;
  // sysfs writes "Unknown" where the verbs say unspecified (EFA).
  if (text == "Unspecified" || text == "Unknown") return LinkLayer::Unspecified;
  return std::nullopt;
}

std::optional<std::string> read_guid(std::string_view text) {
  std::string digits(text);
  if (text.starts_with("0x") && text.size() == 18) {
    digits.erase(0, 2);
    for (const std::size_t colon : {12U, 8U, 4U}) digits.insert(colon, ":");
  }
  const auto guid = parse_guid(digits);
  if (!guid) return std::nullopt;
  return guid->find_first_not_of("0:") == std::string::npos ? std::string() : *guid;
}

}  // namespace nccl_env::listing
