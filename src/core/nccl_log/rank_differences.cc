// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/rank_differences.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/join.h"
#include "nccl_log/log_facts.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostSharing = 4, kMostChanges = 8;
constexpr std::string_view kSockets = "Socket";

// "2.21.5": PyTorch tells it without the build, which NCCL's own line has.
std::string version_numbers(const NcclLog& log) {
  std::set<std::string_view> numbers;
  for (const auto& [version, fact] : log.versions) numbers.insert(version_number(version));
  return join(numbers, ",");
}

// The usual among what ranks have, and who has something else. Nothing if all have the same, or
// none is that frequent.
struct Odd {
  std::string usual;
  std::map<std::string, std::vector<std::size_t>> others;
  bool majority = false;
};
std::optional<Odd> odd_of(const std::vector<RankLog>& ranks, NcclLog::Facts NcclLog::*facts) {
  std::map<std::string, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!speaks(ranks[i]) || (ranks[i].log.*facts).empty()) continue;
    of[facts == &NcclLog::versions ? version_numbers(ranks[i].log) : listed(ranks[i].log.*facts)].push_back(
        i);
  }
  if (of.size() < 2) return std::nullopt;
  // Prefers, of equally frequent ones, a fabric, and the longest: a rank lacks rather than has too much.
  const auto most = std::ranges::max_element(of, [](const auto& left, const auto& right) {
    const auto rank = [](const auto& each) {
      return std::tuple(each.second.size(), each.first != kSockets && !is_inside_host(each.first),
                        each.first.size());
    };
    return rank(left) < rank(right);
  });
  Odd odd{most->first, of, 2 * most->second.size() > ranks.size()};
  odd.others.erase(odd.usual);
  return odd;
}

std::string in_brackets(const std::string& addresses) {
  return addresses.size() < 2 ? "" : " (" + addresses + ")";
}

// The part of an address that one network has: of 192.168.x.y mostly three numbers, else two.
std::string_view network_of(std::string_view address) {
  const char between = address.find(':') == address.npos ? '.' : ':';
  const int parts = between == ':' ? 4 : address.starts_with("192.168.") ? 3 : 2;
  std::size_t end = 0;
  for (int i = 0; i < parts && end != address.npos; ++i) end = address.find(between, end + 1);
  return address.substr(0, end);
}

std::size_t entries_in(const std::string& names) {
  return static_cast<std::size_t>(std::ranges::count(names, ',')) + 1;
}

std::set<std::string> split(const std::string& names) {
  std::set<std::string> parts;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    parts.insert(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "- mlx5_4:1, + mlx5_9:1".
std::string changes_text(const std::string& has, const std::string& usual) {
  const std::set<std::string> own = split(has), most = split(usual);
  std::vector<std::string> changes;
  for (const std::string& name : most) {
    if (!own.contains(name)) changes.push_back("- " + name);
  }
  for (const std::string& name : own) {
    if (!most.contains(name)) changes.push_back("+ " + name);
  }
  return join_some(changes, kMostChanges);
}

// " (line 5)".
std::string line_behind(const NcclLog::Facts& facts) {
  return " (line " + std::to_string(first_line(facts)) + ")";
}

class Comparison {
 public:
  explicit Comparison(const std::vector<RankLog>& ranks) : ranks_(ranks), met_(have_met(ranks)) {}

  std::vector<RankDifference> compare() && {
    compare_networks();
    compare_links();
    compare_devices();
    compare_facts(&NcclLog::versions, Code::NcclVersionsDiffer, Severity::Warning, "NCCL ");
    compare_facts(&NcclLog::gid_indexes, Code::RankIndexDiffers, Severity::Info, "GID index ");
    compare_values();
    compare_bootstraps();
    return std::move(into_);
  }

 private:
  void compare_networks() {
    const auto odd = odd_of(ranks_, &NcclLog::networks);
    if (!odd) return;
    for (const auto& [has, of] : odd->others) {
      const NcclLog& log = ranks_[of.front()].log;
      const std::string row = "network " + has + " instead of " + odd->usual;
      const std::string_view name = has == kSockets ? variable_of_sockets(log) : std::string_view();
      const std::string none = log.no_device.empty() ? "" : ": NET/IB found no device there";
      const std::string value =
          name.empty() ? "" : (none.empty() ? ": " : ", and reads ") + value_read(log, name);
      into_.push_back({Code::MixedNetworks, Severity::Error, of, row + none + value, row, {}});
    }
  }

  // Ranks that use one kind of link alone; one that uses both tells so itself. On one node nothing goes over
  // them.
  void compare_links() {
    const auto odd = odd_of(ranks_, &NcclLog::links);
    const bool one_node =
        std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.nodes == 1; });
    if (!odd || entries_in(odd->usual) > 1 || one_node) return;
    for (const auto& [has, of] : odd->others) {
      if (entries_in(has) > 1) continue;
      const std::string row = has + " instead of " + odd->usual;
      into_.push_back({Code::MixedLinks,
                       Severity::Error,
                       of,
                       "HCAs of " + row + line_behind(ranks_[of.front()].log.links),
                       row,
                       {}});
    }
  }

  void compare_devices() {
    const auto odd = odd_of(ranks_, &NcclLog::devices);
    if (!odd || std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.device_line_cut; }))
      return;
    for (const auto& [has, of] : odd->others) {
      // Where each rank has a device of its own, none is the odd one.
      if (!odd->majority && entries_in(has) >= entries_in(odd->usual)) continue;
      const std::string changes = changes_text(has, odd->usual);
      // As many, most of other names, may be another machine's.
      const std::set<std::string> own_names = split(has), usual_names = split(odd->usual);
      const auto shared = std::ranges::count_if(
          usual_names, [&](const std::string& name) { return own_names.contains(name); });
      const bool fewer = own_names.size() != usual_names.size();
      const bool hurts = fewer || 2 * shared > std::ssize(usual_names);
      into_.push_back({fewer ? Code::MissingRail : Code::OddNode,
                       hurts ? Severity::Warning : Severity::Info,
                       of,
                       "HCAs " + std::to_string(entries_in(has)) +
                           (odd->majority ? ", most ranks " : ", others ") +
                           std::to_string(entries_in(odd->usual)) + ": " + changes,
                       changes,
                       {},
                       hurts});
    }
  }

  // Versions, and GID indexes, which are only shown: each node has its own.
  void compare_facts(NcclLog::Facts NcclLog::*facts, Code code, Severity severity, const std::string& name) {
    const auto odd = odd_of(ranks_, facts);
    if (!odd) return;
    for (const auto& [has, of] : odd->others) {
      const std::string row = name + has + " instead of " + odd->usual;
      into_.push_back({code, severity, of, row, row, {}, severity != Severity::Info});
    }
  }

  // Variables that have to be equal on all ranks, or should be on one fabric, as NCCL read them. Where a log
  // does not tell one, its rank may have the default, or prints less.
  void compare_values() {
    std::map<std::string_view, std::map<std::string, std::vector<std::size_t>>> read;
    std::map<std::pair<std::string_view, std::string>, std::string>
        spellings;  // the first one of each meaning
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const auto& [name, values] : ranks_[rank].log.values) {
        const Variable* known = find_nccl_variable(name);
        if (known && (known->ranks == Ranks::Equal || known->ranks == Ranks::Fabric)) {
          const std::string value = listed(values);
          const auto known_as =
              spellings.try_emplace({known->name, nccl_meaning(*known, value)}, value).first;
          read[known->name][known_as->second].push_back(rank);
        }
      }
    }
    for (const auto& [name, of] : read) compare_value(*find_nccl_variable(name), of);
  }
  void compare_value(const Variable& variable, const std::map<std::string, std::vector<std::size_t>>& of) {
    const auto size = [](const auto& each) { return each.second.size(); };
    const auto usual = std::ranges::max_element(of, {}, size);
    const std::string is = std::string(variable.name) + "=";
    const bool equal = variable.ranks == Ranks::Equal;
    for (const auto& [value, ranks] : of) {
      if (value == usual->first) continue;
      const std::string row = is + value + " instead of " + usual->first;
      into_.push_back({Code::ValuesDiffer,
                       equal ? Severity::Error : Severity::Warning,
                       ranks,
                       row + ", which " + std::string(agreement_text(variable.ranks)),
                       row,
                       {}});
    }
  }

  // Interfaces of unlike names on unlike networks may not reach each other, nor one inside a host another
  // one. Pods' networks are unlike by node, and routed: their names are alike.
  void compare_bootstraps() {
    const auto odd = odd_of(ranks_, &NcclLog::bootstrap);
    if (!odd) return;
    std::set<std::string_view> usual;
    std::string address;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (listed(ranks_[rank].log.bootstrap) != odd->usual) continue;
      for (const auto& [own, fact] : ranks_[rank].log.addresses) {
        usual.insert(network_of(own));
        address = own;
      }
    }
    for (const auto& [name, of] : odd->others) {
      const bool inside = is_inside_host(name) && !is_inside_host(odd->usual);
      std::vector<std::size_t> apart;
      for (const std::size_t rank : of) {
        const NcclLog::Facts& own = ranks_[rank].log.addresses;
        const auto is_usual = [&](const auto& each) { return usual.contains(network_of(each.first)); };
        if (inside || (!own.empty() && !usual.empty() && std::ranges::none_of(own, is_usual)))
          apart.push_back(rank);
      }
      if (apart.empty()) continue;
      const std::string row = "bootstrap over " + name;
      into_.push_back({Code::UnreachableInterface, met_ ? Severity::Info : Severity::Warning, apart,
                       row + in_brackets(listed(ranks_[apart.front()].log.addresses)) + ", others over " +
                           odd->usual + in_brackets(address) +
                           (inside ? ": " + name + " is inside its host" : ", another network"),
                       row,
                       "If the two do not reach each other, name an interface of one network on all ranks: "
                       "NCCL_SOCKET_IFNAME, or spec.socketInterface of the policy.",
                       !met_});
    }
  }

  const std::vector<RankLog>& ranks_;
  const bool met_;
  std::vector<RankDifference> into_;
};

}  // namespace

bool speaks(const RankLog& rank) {
  return rank.problem.empty() && rank.log.speaks();
}

std::string listed(const NcclLog::Facts& facts) {
  return facts.empty() ? "-" : join(facts, ",", [](const auto& fact) { return fact.first; });
}

bool have_met(const std::vector<RankLog>& ranks) {
  return std::ranges::any_of(ranks, [](const RankLog& rank) { return rank.log.initialised > 0; });
}

std::vector<RankDifference> differences_of(const std::vector<RankLog>& ranks) {
  return Comparison(ranks).compare();
}

}  // namespace nccl_env
