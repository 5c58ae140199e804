// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: one class compares the ranks of a job, and all of its checks share what is read of them.
#include "explain/job_checks.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "explain/judgement.h"
#include "explain/pod_changes.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/interfaces.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::job {
namespace {

// Bounds of the values that evidence quotes and counts: every rank may have another.
constexpr std::size_t kMaxValue = 60;
constexpr std::size_t kMaxValues = 3;

using Names = std::vector<std::string>;
using Text = std::optional<std::string>;

std::string value_words(const std::string& value) {
  if (value.empty()) return "not set";
  return value.find(' ') == value.npos ? cut(value, kMaxValue) : '"' + cut(value, kMaxValue) + '"';
}

// "8 on 3 ranks, 4 on 1 rank": the most frequent ones.
std::string distribution(const Shares<std::string>& shares, std::string_view noun) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const auto& [value, ranks] : shares.members_with) counts.emplace_back(value, ranks.size());
  std::ranges::stable_sort(counts, std::greater(), &std::pair<std::string, std::size_t>::second);
  const std::size_t more = counts.size() - std::min(counts.size(), kMaxValues);
  counts.resize(counts.size() - more);
  const std::string text = join(counts, ", ", [&](const auto& count) {
    return value_words(count.first) + " on " + count_of(count.second, noun);
  });
  return more > 0 ? text + ", and " + std::to_string(more) + " other values" : text;
}

// The list of the highest number of HCAs.
const Names& longest(const Shares<Names>& shares) {
  return std::ranges::max_element(shares.members_with, {},
                                  [](const auto& share) { return share.first.size(); })
      ->first;
}

std::set<std::string> families(const Names& names) {
  std::set<std::string> found;
  for (const std::string& name : names) found.insert(hca_family(name));
  return found;
}

class RankChecks {
 public:
  explicit RankChecks(const View& view)
      : view_(view), compared_(view.compared()), admitted_(view.admitted()) {
    for (const std::size_t rank : compared_) {
      for (const Value* given : view_.container(rank).effective()) names_.insert(given->name);
    }
  }

  std::vector<Difference> run() {
    const bool of_job = view_.manifest.empty();
    for (std::size_t rank = 0; of_job && rank < view_.ranks.size(); ++rank) check_pod(rank);
    for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) check_demand(rank);
    if (of_job) compare_policies();
    if (!compare_networks() || !of_job) compare_secondary_networks();
    check_own_interfaces();
    check_host_ids();
    for (const std::string& name : names_) compare_values(name);
    compare_lists();
    compare_links();
    if (!of_job) return std::move(found_);
    for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kSocketIfname})
      check_reasons(name);
    for (const std::string& name : names_) compare_on_node(name);
    compare_rows();
    return std::move(found_);
  }

 private:
  // Adds the members to the difference that says the same, or makes one.
  void add(Difference difference) {
    const Finding& finding = difference.finding;
    const auto [place, added] =
        places_.try_emplace({finding.code, finding.subject.path, finding.sentence}, found_.size());
    if (added) return found_.push_back(std::move(difference));
    Members both;
    std::ranges::set_union(found_[place->second].members, difference.members, std::back_inserter(both));
    found_[place->second].members = std::move(both);
  }
  void add(Code code, Severity severity, const Members& ranks, std::string sentence,
           std::string_view variable = {}, std::string_view remedy = {}, const Others& others = {}) {
    add({{code, severity, {.path = std::string(variable)}, std::move(sentence), std::string(remedy)},
         ranks,
         others});
  }

  // True if any are odd.
  template <class T = std::string>
  bool compare(const Members& ranks, const Agreement<T>& row) {
    std::vector<Difference> odd = differences(ranks, row);
    for (Difference& difference : odd) add(std::move(difference));
    return !odd.empty();
  }

  // The text of a rank's value; nothing where it has none, or its text is not known.
  [[nodiscard]] Text text_of(std::size_t rank, std::string_view variable) const {
    const Value* value = view_.given(rank, variable);
    return value ? value->value : Text();
  }
  // True if the rank has a value of the user's own.
  [[nodiscard]] bool is_users(std::size_t rank, std::string_view variable) const {
    const Value* value = view_.given(rank, variable);
    return value && value->state == State::Users;
  }

  // "NCCL_IB_HCA=mlx5_1 of its own" where the user set a value whose text is known; "" elsewhere.
  [[nodiscard]] std::string own_text(std::size_t rank, std::string_view variable) const {
    const Text text = is_users(rank, variable) ? text_of(rank, variable) : Text();
    return text ? std::string(variable) + "=" + cut(*text, kMaxValue) + " of its own" : "";
  }
  void tell_own(std::size_t rank, std::string_view variable, Code code, const std::string& beside,
                const Others& others = {}) {
    add(code, Severity::Warning, {rank}, "has " + own_text(rank, variable) + ", " + beside, variable,
        "Remove " + std::string(variable) + " from the rank, or set it alike on all.", others);
  }

  void check_pod(std::size_t rank) {
    const PodAnswer& answer = view_.member(rank).answer;
    const PodRecord& record = view_.record(rank);
    const PodState state = answer.state;
    const bool compared = view_.ranks[rank].compared;
    const auto tell = [&](Code code, std::string sentence, Severity severity = Severity::Error) {
      add(code, severity, {rank}, std::move(sentence));
    };
    const auto look_failed = [&](const std::string& words) {
      return words + (record.file->detail.empty() ? "" : " (" + record.file->detail + ")");
    };
    if (view_.ranks[rank].missed) {
      tell(Code::MissedAtAdmission, "was created without nccl-env's variables: the webhook was not asked");
    } else if (state == PodState::MissedAtBinding && compared) {
      tell(Code::MissedAtBinding,
           "was bound without its node's values: " +
               (answer.reason ? std::string(to_string(*answer.reason)) : "the webhook was not asked"));
    } else if (state == PodState::Foreign) {
      tell(Code::Foreign, "has values that are not its own: " + record.foreign);
    } else if (state == PodState::WaitingForNode && !answer.findings.empty()) {
      tell(Code::HeldBack, "waits: " + answer.sentence);
    } else if (state == PodState::NotStarted && !answer.findings.empty()) {
      tell(Code::HeldBack,
           look_failed("does not start: its init container nccl-env-resolve does not get through"));
    } else if (compared && record.file && record.file->state == GivenFile::State::Failed &&
               !record.file->stuck) {  // the pod runs nevertheless, with an empty file
      tell(Code::LookFailed, look_failed("found none of its values itself: nccl-env-resolve failed"),
           Severity::Warning);
    }
    if (compared && state != PodState::MissedAtBinding && state != PodState::Foreign) {
      for (const Finding& finding : answer.findings) add_own(rank, finding);
      for (const Change& change : answer.changes) add_change(rank, change);
    } else if (!compared && !view_.ranks[rank].replaced) {
      for (const Finding& finding : answer.findings) {
        if (finding.code == Code::PodFailed) add_own(rank, finding);  // while others run
      }
    }
  }

  // Adds what the pod's own rules find, but what the checks of the job tell with their own words.
  void add_own(std::size_t rank, const Finding& finding) {
    constexpr std::array kOfJob{Code::MissedAtAdmission, Code::MissedAtBinding,  Code::Foreign,
                                Code::HeldBack,          Code::LookFailed,       Code::NoList,
                                Code::MissingRail,       Code::ChangedSinceBound};
    if (std::ranges::find(kOfJob, finding.code) != kOfJob.end()) return;
    if (finding.code == Code::RankRowDiffers && finding.severity == Severity::Info) return;  // may be meant
    add(finding.code, finding.severity, {rank}, finding.sentence, finding.subject.path, finding.remedy);
  }

  void add_change(std::size_t rank, const Change& change) {
    if (change.now.name == variable::kIbGidIndex && view_.member(rank).answer.has(Code::GidIndexMoved))
      return;
    const auto reason = reason_of_changes({change});
    add(Code::ChangedSinceBound, is_constant(change.now.name) ? Severity::Info : Severity::Warning, {rank},
        "changed since it was bound: " + change_text(change), change.now.name, reason ? remedy(*reason) : "");
  }

  // A rank that was given nothing, and asks for devices as others do.
  void check_demand(std::size_t rank) {
    if (!view_.ranks[rank].without) return;
    const PodAnswer& answer = view_.member(rank).answer;
    const Names& lacks = view_.ranks[rank].lacks;
    const bool own = lacks.empty() && !answer.remedy.empty();
    add(Code::OddNode, Severity::Warning, {rank},
        std::string(view_.manifest.empty() ? "got" : "gets") + " nothing from nccl-env" +
            in_brackets(answer.reason) + ", which gave others of the job their values" +
            (lacks.empty() ? "" : ": it does not ask for " + join_some(lacks, kMaxValues) + ", as they do"),
        {}, own ? answer.remedy : "Let all ranks ask for the same devices, and none opt out.",
        {compared_.size(), compared_.empty() ? 0 : compared_.front()});
  }

  void compare_policies() {
    const auto policy_of = [&](std::size_t rank) -> Text {
      const auto& status = view_.record(rank).status;
      if (!status) return {};
      return status->policy + ", generation " + std::to_string(status->generation);
    };
    const auto words = [](const Odd<std::string>& odd) {
      return "follows policy " + odd.value + (odd.usual ? "; most follow " + *odd.usual : "; others another");
    };
    compare(compared_, {Code::PolicyDiffers, Severity::Warning, "", policy_of, words});
  }

  // True if some are on their node's network, and others are not.
  bool compare_networks() {
    const auto is_on_nodes = [&](std::size_t rank) -> std::optional<bool> {
      const PodRecord& record = view_.record(rank);
      if (record.host_network) return true;
      const Value* index = view_.given(rank, variable::kIbGidIndex);
      const bool infiniband = index && record.reason_missing(*index) == to_string(Reason::InfiniBand);
      const bool lacks = !(index && index->value) || record.starts_itself();
      return !infiniband && lacks ? std::optional(false) : std::nullopt;  // it has the index that these have
    };
    const auto words = [](const Odd<bool>& odd) {
      return odd.value ? "is on its node's network (hostNetwork), where most are not"
                       : "is not on its node's network (hostNetwork), as others are";
    };
    return compare<bool>(admitted_, {Code::OddNode, Severity::Warning, "", is_on_nodes, words,
                                     "Say the same hostNetwork for all ranks.", most_of<bool>});
  }

  // True if the webhook gave no list, as the pod's networks may not bring all rails.
  [[nodiscard]] bool lacks_rails(std::size_t rank) const {
    return find_text(view_.container(rank).omitted, variable::kIbHca) == to_string(Reason::PodRailsUnknown);
  }

  // Ranks that lack a secondary network of the kind that they have, where most of their role have more of it.
  // Names may differ by node, and roles may be meant to have other rails.
  void compare_secondary_networks() {
    const auto role_of = [&](std::size_t rank) {
      const bool compared = !view_.record(rank).host_network && !lacks_rails(rank);
      return compared ? Text(view_.ranks[rank].role) : Text();
    };
    const auto count = [&](std::size_t rank) { return std::optional(view_.record(rank).networks.size()); };
    for (const auto& [role, of_role] : shares_of(compared_, role_of).members_with) {
      const auto counts = shares_of(of_role, count);
      const std::string where = counts.majority() ? " where most ask for " : " where others ask for ";
      for (const Odd<std::size_t>& odd : odd_ones(counts, counts.most())) {
        const Names& all = view_.record(odd.others.first).networks;
        for (const std::size_t rank : odd.members) {
          const Names& names = view_.record(rank).networks;
          if (!lacks_kin(names, all)) continue;
          // Templates may be meant to have fewer rails.
          add(Code::OddNode, view_.manifest == "template" ? Severity::Info : Severity::Warning, {rank},
              "asks for " + count_of(odd.value, "secondary network") + where + std::to_string(*odd.usual) +
                  ": " + list_difference(all, names),
              {}, "Ask for the same networks in all ranks.", odd.others);
        }
      }
    }
  }

  // NCCL takes ranks with one ID for ranks of one host.
  void check_host_ids() {
    const auto node_of = [&](std::size_t rank) { return Text(view_.record(rank).node); };
    const auto id_of = [&](std::size_t rank) {
      const Text id = text_of(rank, "NCCL_HOSTID");
      return node_of(rank)->empty() || id == "" ? Text() : id;
    };
    for (const auto& [id, ranks] : shares_of(admitted_, id_of).members_with) {
      if (shares_of(ranks, node_of).members_with.size() < 2) continue;
      add(Code::ValueMisread, Severity::Error, ranks,
          "has NCCL_HOSTID=" + cut(id, kMaxValue) +
              ", as ranks of other nodes have: NCCL takes them for one host",
          "NCCL_HOSTID", "Remove NCCL_HOSTID, or give it another value on each node.");
    }
  }

  // Tells of a rank's own interface, where another rank of its node has one of ours, or its node has that of
  // most ranks, too.
  void check_own_interfaces() {
    const auto name_of = [&](std::size_t rank) { return text_of(rank, variable::kSocketIfname); };
    const auto is_own = [&](std::size_t rank) { return is_users(rank, variable::kSocketIfname); };
    const auto usual = shares_of(admitted_, name_of).majority();
    // A pod's own network has other interfaces than its node.
    const auto network_of = [&](std::size_t rank) {
      const PodRecord& record = view_.record(rank);
      return record.node.empty() ? Text() : record.node + (record.host_network ? "" : " pod");
    };
    for (const auto& [network, of_node] : shares_of(admitted_, network_of).members_with) {
      const auto ours =
          shares_of(of_node, [&](std::size_t rank) { return is_own(rank) ? Text() : name_of(rank); });
      const auto beside = ours.most();
      const std::string other = beside.value_or(usual.value_or(""));
      const std::string plain = other.substr(other.starts_with('=') ? 1 : 0);
      const Members* theirs = beside ? &ours.members_with.at(other) : nullptr;
      for (const std::size_t rank : of_node) {
        const Text own = name_of(rank);
        const NodeFabric* table = view_.member(rank).around.table.get();
        const bool there = theirs || (table && table->interfaces &&
                                      std::ranges::find(*table->interfaces, plain, &Interface::name) !=
                                          table->interfaces->end());
        if (!own || own->size() < 2 || !is_own(rank) || !there) continue;
        if (parse_nccl_name_list(*own, kNewestNccl, kNcclMaxInterfaces).selects(plain, -1)) continue;
        tell_own(rank, variable::kSocketIfname, Code::OddNode,
                 theirs ? "others of its node have " + cut(other, kMaxValue)
                        : "most have " + cut(other, kMaxValue) + ", which its node has, too",
                 theirs ? Others{theirs->size(), theirs->front()} : Others());
      }
    }
  }

  // Returns the value that the rank's processes have, "" if it is not set; nothing if the pod does not tell.
  [[nodiscard]] Text effective(std::size_t rank, const std::string& variable) const {
    const PodRecord& record = view_.record(rank);
    const GivenContainer& container = view_.container(rank);
    // A pod without a node has no value yet, which is not a difference.
    if (const Value* given = container.find(variable))
      return given->state == State::LeftOut && !record.node.empty() ? "" : given->value;
    // The user's variable that decides is compared itself.
    if (container.env_from || find_text(container.omitted, variable) == to_string(Reason::DisabledByUser))
      return {};
    // A template's file has no lines but those that its plan promises.
    if (!container.reads_file || !view_.manifest.empty()) return "";
    const GivenFile& file = *record.file;
    return file.is_known() && !file.cut && !record.node.empty() ? Text("") : Text();
  }

  void compare_values(const std::string& name) {
    const Variable* known = find_variable(name);
    if (!known || (known->ranks != Ranks::Equal && known->ranks != Ranks::Fabric)) return;
    std::map<std::string, std::string> spellings;  // the first one of each meaning
    const auto value_of = [&](std::size_t rank) {
      Text value = effective(rank, name);
      if (value) value = spellings.emplace(nccl_meaning(*known, *value), *value).first->second;
      return value;
    };
    const auto any_own = [&](const Members& of) {
      return std::ranges::any_of(of, [&](std::size_t rank) { return is_users(rank, name); });
    };
    const bool own = any_own(admitted_);
    const std::string spread =
        distribution(shares_of(admitted_, value_of), view_.manifest.empty() ? "rank" : view_.manifest);
    const auto words = [&](const Odd<std::string>& odd) {
      // Tells, of equally many, those that set it; of these, those whose users do.
      if (!odd.usual && (odd.value.empty() || (own && !any_own(odd.members)))) return std::string();
      return "has " + name + " " + value_words(odd.value) + ", which " +
             std::string(agreement_text(known->ranks)) + ": " + spread;
    };
    const Severity severity = known->ranks == Ranks::Equal ? Severity::Error : Severity::Warning;
    compare(admitted_, {Code::ValuesDiffer, severity, name, value_of, words});
  }

  // The HCAs of the rank's exact list, else those that NCCL takes by a list of the user's own, each once;
  // nothing if neither is known.
  [[nodiscard]] std::optional<Names> list_of(std::size_t rank) const {
    Names names = view_.ranks[rank].hcas;
    const std::optional<NcclSelection>& chosen = view_.member(rank).answer.nccl_with_us;
    if (names.empty() && chosen && is_users(rank, variable::kIbHca)) names = hcas_of(*chosen);
    std::ranges::sort(names, hca_name_less);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names.empty() ? std::nullopt : std::optional(names);
  }

  // The list that most ranks have, else the longest, if it holds all others. None of devices of the pods'
  // own, which have their own names: only their number can be compared.
  [[nodiscard]] std::optional<Names> usual_list(const Shares<Names>& shares) const {
    const auto owns_devices = [&](std::size_t rank) {
      const auto& status = view_.record(rank).status;
      return status && status->exposure == Exposure::PodOwned;
    };
    if (std::ranges::any_of(compared_, owns_devices)) return std::nullopt;
    // Lists that nodes give, beside which those of the ranks' users are odd.
    const Shares<Names> ours = shares_of(compared_, [&](std::size_t rank) {
      return is_users(rank, variable::kIbHca) ? std::nullopt : list_of(rank);
    });
    const Names& whole = longest(shares);
    const bool of_node = ours.members_with.contains(whole);
    const auto is_held = [&](const Names& list) { return std::ranges::includes(whole, list, hca_name_less); };
    if (const auto most = shares.majority()) {
      // Ranks that have it are known to lack a port of their node's fabric, or their nodes are not seen.
      const auto lacks_port = [&](std::size_t rank) {
        const PodAnswer& answer = view_.member(rank).answer;
        return answer.node_unseen || is_users(rank, variable::kIbHca) || answer.has(Code::RailDown);
      };
      const bool is_short = of_node && is_held(*most) && most->size() < whole.size() &&
                            std::ranges::any_of(shares.members_with.at(*most), lacks_port);
      return is_short ? whole : *most;
    }
    const bool all =
        std::ranges::all_of(shares.members_with, is_held, &std::pair<const Names, Members>::first);
    if (all && (ours.known == 0 || of_node)) return whole;
    // Tells of unlike nodes, which nothing else does for a manifest.
    const auto of_nodes = ours.majority();
    return of_nodes || ours.known == 0 || view_.manifest.empty() ? of_nodes : longest(ours);
  }

  void compare_lists() {
    const auto list = [&](std::size_t rank) { return list_of(rank); };
    const Shares<Names> shares = shares_of(compared_, list);
    if (shares.known == 0) return;
    const auto usual = usual_list(shares);
    const auto length_of = [&](std::size_t rank) {
      const auto names = list_of(rank);
      return names ? std::optional(names->size()) : std::nullopt;
    };
    std::size_t count = shares_of(compared_, length_of).majority().value_or(longest(shares).size());
    if (usual) count = std::max(count, usual->size());
    for (const Odd<Names>& odd : odd_ones(shares, usual)) {
      const Names& names = odd.value;
      const std::string change = usual ? list_difference(*usual, names) : "";
      if (names.size() < count) {
        const std::string own = own_text(odd.members.front(), variable::kIbHca);
        add(Code::MissingRail, Severity::Error, odd.members,
            "has " + (own.empty() ? own : own + ", and so ") + count_of(names.size(), "HCA") +
                " where others have " + std::to_string(count) + (usual ? ": " + change : ""),
            variable::kIbHca, "", odd.others);
      } else if (usual) {
        const bool kin = families(names) == families(*usual);
        add(Code::OddNode, Severity::Warning, odd.members,
            std::string(kin ? "has other HCAs than " : "has HCAs of another kind than ") +
                (shares.majority() ? "most: " : "others: ") + change,
            variable::kIbHca, "", odd.others);
      }
    }
    for (const std::size_t rank : admitted_) {
      if (!list_of(rank) && !own_text(rank, variable::kIbHca).empty())
        tell_own(rank, variable::kIbHca, Code::OddNode, "where others have their node's list");
    }
  }

  // A node with InfiniBand needs no GID index; one with RoCE has one, or a reason of its own.
  void compare_links() {
    const auto link_of = [&](std::size_t rank) -> Text {
      const Value* index = view_.given(rank, variable::kIbGidIndex);
      if (index && index->state == State::Users)  // what its node gives stands in the file
        index = find_named(view_.container(rank).file, variable::kIbGidIndex);
      if (!index || index->source == Source::Policy || view_.record(rank).node.empty()) return {};
      if (index->value) return "RoCE";
      const std::string reason = view_.record(rank).reason_missing(*index);
      if (reason == to_string(Reason::InfiniBand)) return "InfiniBand";
      constexpr Reason kOfRoce[] = {Reason::OmittedByPolicy, Reason::GidNotUniform, Reason::GidUnstable,
                                    Reason::AmbiguousAddress};
      const bool roce = std::ranges::any_of(kOfRoce, [&](Reason each) { return reason == to_string(each); });
      return roce ? Text("RoCE") : Text();
    };
    const auto words = [](const Odd<std::string>& odd) {
      return "has " + odd.value + ", where others have " + *odd.usual + ": the two do not connect";
    };
    compare(compared_, {Code::MixedLinks, Severity::Error, variable::kIbHca, link_of, words,
                        "Run all ranks on nodes of one kind.", most_of<std::string>});
  }

  // Reports values that a node could not give although others did; for the HCA list, also if none did.
  void check_reasons(std::string_view name) {
    bool given = false;
    const auto why_without = [&](std::size_t rank) -> Text {
      const PodRecord& record = view_.record(rank);
      if (record.node.empty()) return {};
      const Value* value = view_.given(rank, name);
      if (!value && name == variable::kIbHca && lacks_rails(rank))
        return "its networks may not bring all rails (PodRailsUnknown)";
      if (!value || value->state == State::Users || value->source == Source::Policy) return {};
      given = given || value->value;
      const std::string reason = value->value ? "" : record.reason_missing(*value);
      // InfiniBand needs no index, nor does a node where NCCL's own search finds the row.
      const bool needless =
          reason == to_string(Reason::InfiniBand) || reason == to_string(Reason::OmittedByPolicy);
      if (reason.empty() || (name == variable::kIbGidIndex && needless)) return {};
      return (value->source == Source::Pod ? "the pod found none (" : "its node could not give it (") +
             reason + ")";
    };
    const auto without = shares_of(compared_, why_without);
    if (!given && name != variable::kIbHca) return;
    for (const auto& [why, ranks] : without.members_with) {
      const std::string detail = find_text(view_.member(ranks.front()).answer.details, name);
      add(given ? Code::OddNode : Code::NoList, Severity::Warning, ranks,
          "got no " + std::string(name) + (given ? ", which others have: " : ", like all other ranks: ") +
              why + (detail.empty() || ranks.size() > 1 ? "" : ": " + detail),
          name);
    }
  }

  // Compares ranks of one node. The node's values alone: a variable of the user's own is not among them.
  void compare_on_node(const std::string& name) {
    const auto node_of = [&](std::size_t rank) {
      const PodRecord& record = view_.record(rank);
      const bool known = record.bound && !record.starts_itself() && !record.node.empty();
      return known && view_.member(rank).answer.state != PodState::Foreign ? Text(record.node) : Text();
    };
    const auto value_of = [&](std::size_t rank) -> Text {
      const Value* value = view_.given(rank, name);
      if (!value || !(value->is_from(Source::Node) || value->is_from(Source::File))) return {};
      if (name == variable::kIbHca && !view_.ranks[rank].hcas.empty())
        return join(*list_of(rank));  // in order, however they are spelt
      return value->value.value_or("");
    };
    const auto words = [](const auto&) {
      return "shares its node with ranks that have other values: the table or the policy changed between "
             "their Bindings";
    };
    compare(compared_, {Code::NodeValuesDiffer, Severity::Warning, "", value_of, words, "",
                        majority_of<std::string>, node_of});
  }

  [[nodiscard]] std::map<std::string, UsedRow> rows_of(std::size_t rank) const {
    const NodeFabric* table = view_.member(rank).around.table.get();
    const std::optional<NcclSelection>& chosen = view_.member(rank).answer.nccl_with_us;
    return table && chosen ? used_rows(*table, *chosen) : std::map<std::string, UsedRow>();
  }

  // Compares the networks of the rows that ranks use, rail by rail: an unlike index is right where it names
  // the same network. Networks that no port has beside each other may be meant, as the subnets of two racks.
  // The first rail of a rank tells it.
  void compare_rows() {
    std::map<std::string, std::map<std::size_t, UsedRow>> rails;
    for (const std::size_t rank : compared_) {
      for (auto& [hca, row] : rows_of(rank)) rails[hca].emplace(rank, std::move(row));
    }
    std::set<std::size_t> told;
    for (auto& rail : rails) {
      auto& used = rail.second;
      const auto network_of = [&](std::size_t rank) { return used[rank].network; };
      const auto words = [&](const Odd<Cidr>& odd) -> std::string {
        const std::size_t first = odd.members.front();
        const auto is_usual = [&](const Cidr& network) {
          return static_cast<std::size_t>(std::ranges::count_if(used, [&](const auto& each) {
                   return each.second.network == network;
                 })) >= odd.members.size();
        };
        const auto beside = std::ranges::find_if(used[first].beside, is_usual);
        const bool own = beside != used[first].beside.end();
        if ((!own && !used[odd.others.first].beside.contains(odd.value)) || !told.insert(first).second)
          return {};
        return "uses row " + std::to_string(used[first].index) + " of " + rail.first + " in " +
               format_cidr(odd.value) + ", where others use one in " +
               format_cidr(own ? *beside : *odd.usual);
      };
      compare<Cidr>(compared_, {Code::RankRowDiffers, Severity::Warning, variable::kIbGidIndex, network_of,
                                words, "", most_of<Cidr>});
    }
  }

  const View& view_;
  const Members compared_, admitted_;
  std::set<std::string> names_;  // of all values that ranks have
  std::vector<Difference> found_;
  std::map<std::tuple<Code, std::string, std::string>, std::size_t> places_;  // by code, variable, sentence
};

}  // namespace

Members View::compared() const {
  return members_where(ranks.size(), [&](std::size_t rank) { return ranks[rank].compared; });
}

Members View::admitted() const {
  return members_where(ranks.size(),
                       [&](std::size_t rank) { return ranks[rank].compared && !ranks[rank].missed; });
}

std::vector<Difference> check(const View& view) {
  return RankChecks(view).run();
}

}  // namespace nccl_env::job
