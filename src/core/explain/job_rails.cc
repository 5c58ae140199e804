// SPDX-License-Identifier: Apache-2.0
// What the ranks' nodes have, as far as their pods tell.
#include <algorithm>

#include "explain/job_checks.h"
#include "fabric/hca_name.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env::job {
namespace {

using Names = std::vector<std::string>;

std::string join(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Names sorted(Names names) {
  std::sort(names.begin(), names.end(), hca_name_less);
  return names;
}

Names missing(const Names& all, const Names& here) {
  Names names;
  for (const std::string& name : all) {
    if (std::find(here.begin(), here.end(), name) == here.end()) names.push_back(name);
  }
  return names;
}

std::string hca_words(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " HCA" : " HCAs");
}

std::set<std::string> families(const Names& names) {
  std::set<std::string> found;
  for (const std::string& name : names) found.insert(hca_family(name));
  return found;
}

// How many HCAs most ranks have; without a most, the largest number.
std::size_t usual_count(const std::map<Names, std::vector<std::size_t>>& ranks_of) {
  std::map<std::size_t, std::vector<std::size_t>> by_count;
  for (const auto& [names, ranks] : ranks_of) {
    auto& same = by_count[names.size()];
    same.insert(same.end(), ranks.begin(), ranks.end());
  }
  return most(by_count).value_or(by_count.rbegin()->first);
}

void check_list(const Names& names, const std::vector<std::size_t>& ranks, const std::optional<Names>& usual,
                std::size_t count, Findings& into) {
  if (names.size() < count) {
    const Names lost = usual ? missing(*usual, names) : Names();
    into.push_back(
        {JobCheck::MissingRail, Severity::Warning, ranks, std::string(variable::kIbHca),
         "has " + hca_words(names.size()) + " where others have " + std::to_string(count) +
             (lost.empty() ? "" : ": " + join(lost) + (lost.size() == 1 ? " is" : " are") + " missing")});
  } else if (usual && names != *usual) {
    const bool kin = families(names) == families(*usual);
    into.push_back({JobCheck::OddNode, Severity::Warning, ranks, std::string(variable::kIbHca),
                    (kin ? "has other HCAs than most: " : "has HCAs of another kind than most: ") +
                        join(names) + " instead of " + join(*usual)});
  }
}

// A value that the node could not give, though other nodes did.
void check_reasons(const View& view, std::string_view name, Findings& into) {
  std::size_t given = 0;
  std::map<std::string, std::vector<std::size_t>> without;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (!view.ranks[rank].compared || record.node.empty()) continue;
    const GivenValue* value = record.main_container()->find(name);
    if (!value || value->from == GivenValue::From::User || value->from == GivenValue::From::Policy) continue;
    if (value->state == GivenValue::State::Known) {
      ++given;
    } else if (const std::string reason = record.reason_missing(*value); !reason.empty()) {
      const bool itself = value->from == GivenValue::From::Pod;
      without[(itself ? "the pod found none (" : "its node could not give it (") + reason + ")"].push_back(
          rank);
    }
  }
  if (given == 0) return;
  for (const auto& [why, ranks] : without) {
    into.push_back({JobCheck::OddNode, Severity::Warning, ranks, std::string(name),
                    "got no " + std::string(name) + ", which others have: " + why});
  }
}

bool has_own_devices(const View& view) {
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (view.ranks[rank].compared && record.status && record.status->exposure == Exposure::PodOwned)
      return true;
  }
  return false;
}

}  // namespace

void check_rails(const View& view, Findings& into) {
  std::map<Names, std::vector<std::size_t>> ranks_of;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const JobRank& here = view.ranks[rank];
    if (here.compared && !here.hcas.empty()) ranks_of[sorted(here.hcas)].push_back(rank);
  }
  if (ranks_of.size() > 1) {
    // Devices of a pod's own have names of their own: only their number tells.
    const auto usual = has_own_devices(view) ? std::nullopt : most(ranks_of);
    const std::size_t count = usual_count(ranks_of);
    for (const auto& [names, ranks] : ranks_of) check_list(names, ranks, usual, count, into);
  }
  check_reasons(view, variable::kIbHca, into);
  check_reasons(view, variable::kIbGidIndex, into);
  check_reasons(view, variable::kSocketIfname, into);
}

void check_nodes(const View& view, Findings& into) {
  std::map<std::string, std::map<Names, std::vector<std::size_t>>> on_node;
  std::map<std::string, std::vector<std::size_t>> indexes;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const JobRank& here = view.ranks[rank];
    const PodRecord& record = view.record(rank);
    if (!here.compared || record.node.empty() || (!record.bound && !record.starts_itself())) continue;
    if (!here.gid_index.empty()) indexes[here.gid_index].push_back(rank);
    if (record.starts_itself()) continue;
    Names values;
    for (const GivenValue* given : record.main_container()->effective()) {
      if (given->from == GivenValue::From::Node || given->from == GivenValue::From::File)
        values.push_back(given->name + " " + given->value);
    }
    on_node[record.node][values].push_back(rank);
  }
  for (const auto& [node, ranks_of] : on_node) {
    if (ranks_of.size() < 2) continue;
    std::vector<std::size_t> ranks;
    for (const auto& [values, some] : ranks_of) ranks.insert(ranks.end(), some.begin(), some.end());
    into.push_back({JobCheck::NodeValuesDiffer,
                    Severity::Warning,
                    ranks,
                    {},
                    "shares its node with ranks that have other values: the table or the policy changed "
                    "between their Bindings"});
  }
  const auto usual = indexes.size() > 1 ? most(indexes) : std::nullopt;
  for (const auto& [index, ranks] : indexes) {
    if (!usual || index == *usual) continue;
    into.push_back(
        {JobCheck::GidIndexDiffers, Severity::Info, ranks, std::string(variable::kIbGidIndex),
         "has GID index " + index + ", most have " + *usual + ": right where each has its own node's"});
  }
}

}  // namespace nccl_env::job
