// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/short_text.h"

namespace nccl_env {

std::string short_hca_list(const std::vector<std::string>& hcas) {
  std::string text;
  for (std::size_t i = 0; i < hcas.size();) {
    const std::size_t digits = hcas[i].find_last_not_of("0123456789") + 1;
    const std::string stem = hcas[i].substr(0, digits);
    const auto number = [&](std::size_t at) {
      return stem + std::to_string(std::stoul("0" + hcas[i].substr(digits)) + at - i);
    };
    std::size_t end = i + 1;
    // Nine digits are no count, and longer ones no unsigned long.
    if (digits < hcas[i].size() && hcas[i].size() - digits < 9)
      while (end < hcas.size() && hcas[end] == number(end)) ++end;
    text += (text.empty() ? "" : " ") + hcas[i];
    if (end - i > 1) text += "-" + hcas[end - 1].substr(digits);
    i = end;
  }
  return text;
}

std::string object_name(const std::string& name_space, const std::string& name) {
  return name_space.empty() ? name : name_space + "/" + name;
}

std::string cut(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width < 2 ? 0 : width - 2)) + "..";
}

}  // namespace nccl_env
