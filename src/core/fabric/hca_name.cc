// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/hca_name.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// Returns the length of "roce" or another prefix of rdma-core's persistent names, followed by P, p, o, s or
// x.
std::optional<std::size_t> kind_of_path_name(std::string_view lower_name) {
  constexpr std::array<std::string_view, 6> kKinds{"roce", "ib", "iw", "opa", "usnic", "rdma"};
  for (const std::string_view kind : kKinds) {
    if (!lower_name.starts_with(kind) || lower_name.size() < kind.size() + 2) continue;
    const char scheme = lower_name[kind.size()];
    if (scheme == 'x') return kind.size();
    if (scheme == 'p' || scheme == 'o' || scheme == 's')
      return is_digit(lower_name[kind.size() + 1]) ? std::optional(kind.size()) : std::nullopt;
  }
  return std::nullopt;
}

// Takes the number at the beginning of `text`, without leading zeros.
std::string_view take_digits(std::string_view& text) {
  std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

std::string hca_family(std::string_view hca) {
  std::string name(hca);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  if (const auto kind = kind_of_path_name(name))
    return name.substr(0, name[*kind] == 'x' ? *kind + 1 : name.find_first_of("0123456789"));
  std::string family(hca);
  std::erase_if(family, is_digit);
  return family;
}

bool is_soft_device(std::string_view hca, std::string_view driver) {
  if (!driver.empty()) return driver == "rdma_rxe" || driver == "rxe" || driver == "siw";
  return hca.starts_with("rxe") || hca.starts_with("siw");
}

bool hca_name_less(std::string_view left, std::string_view right) {
  std::string_view l = left, r = right;
  while (!l.empty() && !r.empty()) {
    if (is_digit(l[0]) && is_digit(r[0])) {
      const std::string_view a = take_digits(l), b = take_digits(r);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      continue;
    }
    if (lower(l[0]) != lower(r[0])) return lower(l[0]) < lower(r[0]);
    l.remove_prefix(1);
    r.remove_prefix(1);
  }
  return l.size() != r.size() ? l.size() < r.size() : left < right;
}

std::string short_list(const std::vector<std::string>& names, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    const std::size_t digits = names[i].find_last_not_of("0123456789") + 1;
    const std::string stem = names[i].substr(0, digits), first = names[i].substr(digits);
    const auto name = [&](std::size_t at) {
      const std::string number = std::to_string(std::stoul("0" + first) + at - i);
      const bool padded = first.front() == '0' && number.size() < first.size();
      return stem + (padded ? std::string(first.size() - number.size(), '0') : "") + number;
    };
    std::size_t end = i + 1;
    // A number of nine digits or more is not a position, and might not fit an unsigned long.
    if (!first.empty() && first.size() < 9)
      while (end < names.size() && names[end] == name(end)) ++end;
    text.append(text.empty() ? "" : " ").append(stem).append(end - i == 1 ? "" : open).append(first);
    if (end - i > 1) text.append("-").append(names[end - 1].substr(digits)).append(close);
    i = end;
  }
  return text;
}

}  // namespace nccl_env
