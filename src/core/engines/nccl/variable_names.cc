// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/variable_names.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

constexpr std::string_view kNccl = "NCCL_";

// "NCCL_IB_HCA" of "nccl_ib_hca" and "NCLL_IB_HCA": the beginning is misspelt, and the rest names a variable;
// "" of other names.
std::string_view with_prefix(std::string_view name) {
  if (name.find_first_of("-.") != name.npos) {  // NCCL-IB-HCA, of a file that allows it
    std::string joined(name);
    std::replace_if(
        joined.begin(), joined.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    const Variable* found = find_nccl_variable(joined);
    return found ? found->name : std::string_view();
  }
  constexpr std::array<std::string_view, 1> kWord{"NCCL"};
  const std::string_view head = name.substr(0, std::min(name.find('_'), name.size()));
  if (head.size() == name.size()) return {};
  const bool swapped = head.size() == 4 && std::is_permutation(head.begin(), head.end(), kWord[0].begin());
  if (!swapped && nearest(head, kWord, 1).empty()) return {};
  const std::string_view rest = name.substr(head.size() + 1);
  for (const Variable& row : nccl_variables()) {
    if (row.name != name && equal_ignoring_case(row.name.substr(kNccl.size()), rest)) return row.name;
  }
  return {};
}

// "NCCL_IB_GID_INDEX" of "NCCL_GID_INDEX" and "NCCL_IB_GID": the words IB or the last ones are left out; ""
// where several variables begin so.
std::string_view with_more_words(std::string_view name) {
  constexpr std::string_view kVerbs = "IB_";
  const std::string_view rest = name.substr(kNccl.size());
  const Variable* longer = nullptr;
  for (const Variable& row : nccl_variables()) {
    const std::string_view words = row.name.substr(kNccl.size());
    if (words.starts_with(kVerbs) && words.substr(kVerbs.size()) == rest) return row.name;
    if (rest.size() <= kVerbs.size() || !words.starts_with(rest)) continue;
    if (longer) return {};
    longer = &row;
  }
  return longer ? longer->name : std::string_view();
}

// "NCCL_IB_DISABLE" of "NCCL_DISABLE_IB": the same words in another order; "" of other names.
std::string_view in_other_order(std::string_view name) {
  const auto words_of = [](std::string_view text) {
    std::vector<std::string_view> words;
    for (bool more = true; more;) words.push_back(cut_entry(text, '_', more));
    std::sort(words.begin(), words.end());
    return words;
  };
  const std::vector<std::string_view> words = words_of(name);
  for (const Variable& row : nccl_variables()) {
    if (row.name.size() == name.size() && words_of(row.name) == words) return row.name;
  }
  return {};
}

// "NCCL_IB_TC" of "NCCL_IB_TRAFFIC_CLASS": names that say in words what NCCL says in letters, and those of
// the interface or the HCA by another word; "" of other names.
std::string_view of_other_words(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kWords{{
      {"NCCL_IB_TRAFFIC_CLASS", "NCCL_IB_TC"},
      {"NCCL_IB_SERVICE_LEVEL", "NCCL_IB_SL"},
      {"NCCL_IB_QPS", "NCCL_IB_QPS_PER_CONNECTION"},
      {"NCCL_IB_QP", "NCCL_IB_QPS_PER_CONNECTION"},
      {"NCCL_IB_DEVICE", "NCCL_IB_HCA"},
      {"NCCL_IB_DEVICES", "NCCL_IB_HCA"},
      {"NCCL_IB_DEV", "NCCL_IB_HCA"},
      {"NCCL_IB_NIC", "NCCL_IB_HCA"},
      {"NCCL_NET_DEVICES", "NCCL_IB_HCA"},
      {"NCCL_ROCE_HCA", "NCCL_IB_HCA"},
      {"NCCL_SOCKET_INTERFACE", "NCCL_SOCKET_IFNAME"},
      {"NCCL_SOCKET_IFACE", "NCCL_SOCKET_IFNAME"},
      {"NCCL_NET_IFNAME", "NCCL_SOCKET_IFNAME"},
      {"NCCL_IFNAME", "NCCL_SOCKET_IFNAME"},
  }};
  for (const auto& [other, meant] : kWords) {
    if (name == other) return meant;
  }
  return {};
}

}  // namespace

std::optional<std::string> name_problem(std::string_view name) {
  // Parameters that NCCL reads and the catalogue does not hold, near to some that it holds.
  constexpr std::array<std::string_view, 4> kOthers{"NCCL_GIN_ENABLE", "NCCL_NVTX_DISABLE", "NCCL_PAT_ENABLE",
                                                    "NCCL_P2P_NVL_CHUNKSIZE"};
  // Nearly every variable of a container.
  if (name.empty() || lower(name.front()) != 'n' || find_nccl_variable(name)) return std::nullopt;
  std::string_view meant = with_prefix(name);
  if (meant.empty() && !name.starts_with(kNccl)) return std::nullopt;
  if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) return std::nullopt;
  if (name == "NCCL_TIMEOUT")  // its values are seconds, so NCCL_IB_TIMEOUT is not meant
    return "is not a variable of NCCL's: PyTorch takes its time-out as init_process_group(timeout)";
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const Variable& row : nccl_variables()) names.push_back(row.name);
    return names;
  }();
  if (meant.empty()) meant = of_other_words(name);
  if (meant.empty()) meant = in_other_order(name);
  if (meant.empty()) meant = nearest(name, kNames);
  if (meant.empty()) meant = with_more_words(name);
  if (meant.empty()) return std::nullopt;
  return "is not a variable of NCCL's: do you mean " + std::string(meant) + "?";
}

}  // namespace nccl_env
