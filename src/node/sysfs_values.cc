// SPDX-License-Identifier: Apache-2.0
#include "sysfs_values.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::node {

std::optional<int> parse_number(std::string_view text, int max) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > max) return std::nullopt;
  return value;
}

std::optional<int> leading_number(std::string_view text, int max) {
  const auto colon = text.find(':');
  return colon == text.npos ? std::nullopt : parse_number(text.substr(0, colon), max);
}

std::optional<PortState> parse_state(int number) {
  constexpr std::array kStates{PortState::Down, PortState::Init, PortState::Armed, PortState::Active};
  if (number < 1 || number > 4) return std::nullopt;  // 0 no change, 5 deferred: no port stays in these
  return kStates[static_cast<std::size_t>(number - 1)];
}

std::optional<LinkLayer> parse_link_layer(std::string_view text) {
  if (text == "InfiniBand") return LinkLayer::InfiniBand;
  if (text == "Ethernet") return LinkLayer::Ethernet;
  // link_layer_show of Linux's sysfs.c prints this for IB_LINK_LAYER_UNSPECIFIED (EFA).
  if (text == "Unknown" || text == "Unspecified") return LinkLayer::Unspecified;
  return std::nullopt;
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == text.npos || !text.substr(blank).starts_with(" Gb/sec (")) return std::nullopt;
  std::string_view number = text.substr(0, blank);
  const bool half = number.ends_with(".5");
  if (half) number.remove_suffix(2);
  const auto whole = parse_number(number, 100'000);
  if (!whole || text.back() != ')') return std::nullopt;
  std::string_view lanes = text.substr(blank + 9);
  lanes.remove_suffix(1);  // "4X HDR"
  const auto word = lanes.find(' ');
  if (word == lanes.npos ? !lanes.ends_with('X') : !lanes.substr(0, word).ends_with('X')) return std::nullopt;
  const std::string_view speed = word == lanes.npos ? "" : lanes.substr(word + 1);
  const Rate rate{*whole + (half ? 0.5 : 0), speed.empty() || speed == "SDR"};
  return rate.gbps > 0 ? std::optional(rate) : std::nullopt;
}

std::optional<int> parse_traffic_class(std::string_view text) {
  constexpr std::string_view kOfAll = "Global tclass=";
  if (text.empty()) return -1;
  if (!text.starts_with(kOfAll)) return std::nullopt;
  return parse_number(text.substr(kOfAll.size(), text.find('\n') - kOfAll.size()), 255);
}

std::optional<GidType> parse_gid_type(std::string_view text, std::optional<GidType> v1) {
  if (text == "RoCE v2") return GidType::RoCEv2;
  if (text == "IB/RoCE v1") return v1;
  return std::nullopt;
}

std::optional<std::string> pci_address_of(std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.rfind('/');
    const std::string_view last = slash == path.npos ? path : path.substr(slash + 1);
    if (auto address = parse_pci_address(last)) return *std::move(address);
    path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  }
  return std::nullopt;
}

std::optional<std::string> parse_label(std::string_view text) {
  constexpr std::size_t kMax = 128;
  if (text.empty() || text.size() > kMax || !is_printable_ascii(text)) return std::nullopt;
  return std::string(text);
}

}  // namespace nccl_env::node
