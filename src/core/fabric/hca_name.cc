// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/fabric/hca_name.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

// "roce" or another prefix of rdma-core's persistent names, followed by P, p, o, s or x.
bool is_path_name(std::string_view lower_name, std::size_t* after_kind) {
  constexpr std::array<std::string_view, 6> kKinds{"roce", "ib", "iw", "opa", "usnic", "rdma"};
  for (const std::string_view kind : kKinds) {
    if (!lower_name.starts_with(kind) || lower_name.size() < kind.size() + 2) continue;
    const char scheme = lower_name[kind.size()];
    if (scheme != 'p' && scheme != 'o' && scheme != 's' && scheme != 'x') continue;
    *after_kind = kind.size();
    return is_digit(lower_name[kind.size() + 1]) || scheme == 'x';
  }
  return false;
}

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(at, end - at);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

}  // namespace

std::string hca_family(std::string_view hca) {
  std::string name(hca);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  std::size_t kind = 0;
  if (is_path_name(name, &kind)) {
    if (name[kind] == 'x') return name.substr(0, kind + 1);
    return name.substr(0, name.find_first_of("0123456789"));
  }
  std::string family(hca);
  std::erase_if(family, is_digit);
  return family;
}

bool is_soft_device(std::string_view hca, std::string_view driver) {
  if (!driver.empty()) return driver == "rdma_rxe" || driver == "rxe" || driver == "siw";
  return hca.starts_with("rxe") || hca.starts_with("siw");
}

bool hca_name_less(std::string_view left, std::string_view right) {
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() && r < right.size()) {
    if (is_digit(left[l]) && is_digit(right[r])) {
      const std::string_view a = digits_at(left, l);
      const std::string_view b = digits_at(right, r);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
      l = skip_digits(left, l);
      r = skip_digits(right, r);
      continue;
    }
    if (lower(left[l]) != lower(right[r])) return lower(left[l]) < lower(right[r]);
    ++l;
    ++r;
  }
  if (left.size() - l != right.size() - r) return left.size() - l < right.size() - r;
  return left < right;
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
    text += text.empty() ? "" : " ";
    if (end - i == 1) {
      text += names[i];
    } else {
      text.append(stem)
          .append(open)
          .append(first)
          .append("-")
          .append(names[end - 1].substr(digits))
          .append(close);
    }
    i = end;
  }
  return text;
}

}  // namespace nccl_env
