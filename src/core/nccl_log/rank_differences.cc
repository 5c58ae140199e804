// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/rank_differences.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/nccl_log/failure_context.h"
#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/join.h"
#include "nccl_log/log_facts.h"

namespace nccl_env {
namespace {

constexpr std::size_t kMostChanges = 8;
constexpr std::string_view kSockets = "Socket";

// "2.21.5": PyTorch tells it without the build, which NCCL's own line has.
std::string version_numbers(const NcclLog& log) {
  std::set<std::string_view> numbers;
  for (const std::string& version : std::views::keys(log.versions)) numbers.insert(version_number(version));
  return join(numbers, ",");
}

using Text = std::optional<std::string>;
using Names = std::set<std::string>;

// The most frequent; of equally frequent ones a fabric, and the longest: a rank lacks rather than has too
// much.
Text usual_of(const Shares<std::string>& shares) {
  return shares.most([](const std::string& value) {
    return std::pair(value != kSockets && !is_inside_host(value), value.size());
  });
}

std::string instead(const Odd<std::string>& odd) {
  return odd.value + " instead of " + *odd.usual;
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

// "- mlx5_4:1, + mlx5_9:1".
std::string changes_text(const Names& own, const Names& most) {
  std::vector<std::string> changes;
  for (const std::string& name : most) {
    if (!own.contains(name)) changes.push_back("- " + name);
  }
  for (const std::string& name : own) {
    if (!most.contains(name)) changes.push_back("+ " + name);
  }
  return join_some(changes, kMostChanges);
}

class Comparison {
  [[nodiscard]] const NcclLog& log(std::size_t rank) const { return ranks_[rank].log; }
  [[nodiscard]] auto facts(NcclLog::Facts NcclLog::*of) const {
    return [this, of](std::size_t rank) { return (log(rank).*of).empty() ? Text() : listed(log(rank).*of); };
  }

 public:
  explicit Comparison(const std::vector<RankLog>& ranks) : ranks_(ranks), met_(have_met(ranks)) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].speaks()) speaking_.push_back(rank);
    }
  }

  std::vector<Difference> compare() && {
    compare(Code::MixedNetworks, Severity::Error, facts(&NcclLog::networks),
            [this](const auto& odd) { return "network " + instead(odd) + why_sockets(odd); });
    // Ranks that use one kind of link alone; one that uses both tells so itself. On one node nothing goes
    // over them.
    const bool one_node =
        std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.nodes == 1; });
    const auto link_of = [&](std::size_t rank) {
      return one_node || log(rank).links.size() != 1 ? Text() : listed(log(rank).links);
    };
    compare(Code::MixedLinks, Severity::Error, link_of, [this](const auto& odd) {
      const std::size_t line = first_line(log(odd.members.front()).links);
      return "HCAs of " + instead(odd) +
             (odd.members.size() > 1 ? "" : " (line " + std::to_string(line) + ")");
    });
    compare_devices();
    const auto version_of = [this](std::size_t rank) {
      return log(rank).versions.empty() ? Text() : version_numbers(log(rank));
    };
    compare(Code::NcclVersionsDiffer, Severity::Warning, version_of,
            [](const auto& odd) { return "NCCL " + instead(odd); });
    // Only shown: each node has its own.
    compare(Code::RankIndexDiffers, Severity::Info, facts(&NcclLog::gid_indexes),
            [](const auto& odd) { return "GID index " + instead(odd); });
    compare_values();
    compare_bootstraps();
    return std::move(into_);
  }

 private:
  template <class Of, class Words>
  void compare(Code code, Severity severity, const Of& of, const Words& words) {
    std::ranges::move(differences<std::string>(speaking_, {code, severity, "", of, words, "", usual_of}),
                      std::back_inserter(into_));
  }

  // ": NET/IB found no device there, and reads NCCL_IB_HCA="mlx5_9" (line 4)"; of several ranks what all
  // have.
  [[nodiscard]] std::string why_sockets(const Odd<std::string>& odd) const {
    const NcclLog& of = log(odd.members.front());
    const bool one = odd.members.size() == 1;
    const std::string_view name = one && odd.value == kSockets ? variable_of_sockets(of) : std::string_view();
    const bool found =
        std::ranges::any_of(odd.members, [this](std::size_t rank) { return log(rank).no_device.empty(); });
    const std::string none = found ? "" : ": NET/IB found no device there";
    return none + (name.empty() ? "" : (none.empty() ? ": " : ", and reads ") + value_read(of, name));
  }

  void compare_devices() {
    if (std::ranges::any_of(ranks_, [](const RankLog& rank) { return rank.log.device_line_cut; })) return;
    const auto devices_of = [this](std::size_t rank) {
      const auto names = std::views::keys(log(rank).devices);
      return names.empty() ? std::nullopt : std::optional(Names(names.begin(), names.end()));
    };
    const Shares<Names> shares = shares_of(speaking_, devices_of);
    for (Odd<Names>& odd : odd_ones(shares, shares.most(&Names::size))) {
      const std::size_t usual = odd.usual->size(), own = odd.value.size();
      // Where each rank has a device of its own, none is the odd one.
      const bool majority = odd.others.count * 2 > ranks_.size();
      if (!majority && own >= usual) continue;
      // As many, most of other names, may be another machine's.
      const auto shared = std::ranges::count_if(
          *odd.usual, [&](const std::string& name) { return odd.value.contains(name); });
      const bool hurts = own != usual || 2 * static_cast<std::size_t>(shared) > usual;
      into_.push_back({{own != usual ? Code::MissingRail : Code::OddNode,
                        hurts ? Severity::Warning : Severity::Info,
                        {},
                        "HCAs " + std::to_string(own) + (majority ? ", most ranks " : ", others ") +
                            std::to_string(usual) + ": " + changes_text(odd.value, *odd.usual)},
                       std::move(odd.members),
                       odd.others});
    }
  }

  // Variables that have to be equal on all ranks, or should be on one fabric, as NCCL read them. Where a log
  // does not tell one, its rank may have the default, or prints less.
  void compare_values() {
    std::set<std::string_view> names;
    for (const RankLog& rank : ranks_) {
      for (const auto& [name, values] : rank.log.values) names.insert(name);
    }
    for (const std::string_view name : names) {
      const Variable* known = find_nccl_variable(name);
      if (!known || (known->ranks != Ranks::Equal && known->ranks != Ranks::Fabric)) continue;
      std::map<std::string, std::string> spellings;  // the first one of each meaning
      const auto value_of = [&](std::size_t rank) {
        const NcclLog::Facts& read = log(rank).read(name);
        if (read.empty()) return Text();
        const std::string value = listed(read);
        return Text(spellings.emplace(nccl_meaning(*known, value), value).first->second);
      };
      compare(Code::ValuesDiffer, known->ranks == Ranks::Equal ? Severity::Error : Severity::Warning,
              value_of, [&](const auto& odd) {
                return std::string(name) + "=" + instead(odd) + ", which " +
                       std::string(agreement_text(known->ranks));
              });
    }
  }

  // Interfaces of unlike names on unlike networks may not reach each other, nor one inside a host another
  // one. Pods' networks are unlike by node, and routed: their names are alike.
  void compare_bootstraps() {
    const auto shares = shares_of(speaking_, facts(&NcclLog::bootstrap));
    for (const Odd<std::string>& odd : odd_ones(shares, usual_of(shares))) {
      std::set<std::string_view> usual;
      std::string address;
      for (const std::size_t rank : shares.members_with.at(*odd.usual)) {
        for (const auto& [own, fact] : log(rank).addresses) {
          usual.insert(network_of(own));
          address = own;
        }
      }
      const bool inside = is_inside_host(odd.value) && !is_inside_host(*odd.usual);
      Members apart = odd.members;
      std::erase_if(apart, [&](std::size_t rank) {
        const NcclLog::Facts& own = log(rank).addresses;
        const auto is_usual = [&](const auto& each) { return usual.contains(network_of(each.first)); };
        return !inside && (own.empty() || usual.empty() || std::ranges::any_of(own, is_usual));
      });
      if (apart.empty()) continue;
      std::string words = "bootstrap over " + odd.value +
                          in_brackets(apart.size() > 1 ? "" : listed(log(apart.front()).addresses)) +
                          ", others over " + *odd.usual + in_brackets(address) +
                          (inside ? ": " + odd.value + " is inside its host" : ", another network");
      into_.push_back({{Code::UnreachableInterface,
                        met_ ? Severity::Info : Severity::Warning,
                        {},
                        std::move(words),
                        "If the two do not reach each other, name an interface of one network on all ranks: "
                        "NCCL_SOCKET_IFNAME, or spec.socketInterface of the policy."},
                       apart,
                       odd.others});
    }
  }

  const std::vector<RankLog>& ranks_;
  const bool met_;
  Members speaking_;
  std::vector<Difference> into_;
};

}  // namespace

std::string listed(const NcclLog::Facts& facts) {
  return facts.empty() ? "-" : names_in(facts, ",");
}

bool have_met(const std::vector<RankLog>& ranks) {
  return std::ranges::any_of(ranks, [](const RankLog& rank) { return rank.log.initialised > 0; });
}

std::vector<Difference> differences_of(const std::vector<RankLog>& ranks) {
  return Comparison(ranks).compare();
}

}  // namespace nccl_env
