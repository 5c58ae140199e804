// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: each attribute that ranks have to share has its check here.
#include "explain/job_checks.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "engines/nccl/interfaces.h"
#include "explain/judgement.h"
#include "explain/pod_changes.h"
#include "explain/value_print.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::job {
namespace {

// Returns the value that the rank's processes have, "" if it is not set; nothing if the pod does not tell.
std::optional<std::string> effective(const PodRecord& record, const std::string& variable) {
  const GivenContainer* container = record.main_container();
  const Value* given = container->find(variable);
  // The user's variable that decides is compared itself.
  const auto omitted = container->omitted.find(variable);
  if (!given && omitted != container->omitted.end() && omitted->second == to_string(Reason::DisabledByUser))
    return std::nullopt;
  if (!given && container->reads_file) {
    const GivenFile& file = *record.file;
    const bool written = file.state == GivenFile::State::Known || file.state == GivenFile::State::Failed;
    if (file.cut || (file.at_start && (!written || file.stuck))) return std::nullopt;
    if (file.state == GivenFile::State::Foreign || record.node.empty()) return std::nullopt;
  }
  if (!given) return container->env_from ? std::nullopt : std::optional(std::string());
  // A pod without a node has no value yet, which is not a difference.
  return given->state == State::LeftOut && !record.node.empty() ? std::string() : given->value;
}

// Bounds of the values that evidence quotes and counts: every rank may have another.
constexpr std::size_t kMaxValue = 60;
constexpr std::size_t kMaxValues = 3;

std::string value_words(const std::string& value) {
  if (value.empty()) return "not set";
  return value.find(' ') == value.npos ? cut(value, kMaxValue) : '"' + cut(value, kMaxValue) + '"';
}

using Names = std::vector<std::string>;
using Text = std::optional<std::string>;

// "8 on 3 ranks, 4 on 1 rank": the most frequent ones.
std::string distribution(const Shares<std::string>& shares, std::string_view noun) {
  std::vector<std::pair<std::size_t, std::string>> counts;
  for (const auto& [value, ranks] : shares.members_with) counts.emplace_back(ranks.size(), value);
  std::ranges::stable_sort(counts, std::greater(), [](const auto& count) { return count.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(counts.size(), kMaxValues); ++i)
    text += (i > 0 ? ", " : "") + value_words(counts[i].second) + " on " + count_of(counts[i].first, noun);
  if (counts.size() > kMaxValues)
    text += ", and " + std::to_string(counts.size() - kMaxValues) + " other values";
  return text;
}

std::string detail_in_brackets(const std::string& text) {
  return text.empty() ? "" : " (" + text + ")";
}

// True if nccl-env-resolve failed and the pod runs nevertheless, with an empty file.
bool failed_to_look(const PodRecord& record) {
  return record.file && record.file->state == GivenFile::State::Failed && !record.file->stuck;
}

// Adds the members to the difference that says the same, or makes one.
void add(Founds& into, Difference difference) {
  const Finding& finding = difference.finding;
  const auto [place, added] =
      into.places.try_emplace({finding.code, finding.subject.path, finding.sentence}, into.all.size());
  if (added) return into.all.push_back(std::move(difference));
  Members& of = into.all[place->second].members;
  of.insert(of.end(), difference.members.begin(), difference.members.end());
}

void add(Founds& into, Code code, Severity severity, const Members& ranks, std::string sentence,
         std::string_view variable = {}, std::string remedy = {}, const Others& others = {}) {
  add(into, {{code, severity, {.path = std::string(variable)}, std::move(sentence), std::move(remedy)},
             ranks,
             others});
}

// True if any are odd.
template <class T>
bool compare(const Members& ranks, const Agreement<T>& row, Founds& into) {
  std::vector<Difference> found = differences(ranks, row);
  for (Difference& difference : found) add(into, std::move(difference));
  return !found.empty();
}

// Adds what the pod's own rules find, but what the checks of the job tell with their own words.
void add_own(std::size_t rank, const Finding& finding, Founds& into) {
  constexpr std::array kOfJob{Code::MissedAtAdmission, Code::MissedAtBinding,  Code::Foreign,
                              Code::HeldBack,          Code::LookFailed,       Code::NoList,
                              Code::MissingRail,       Code::ChangedSinceBound};
  if (std::ranges::find(kOfJob, finding.code) != kOfJob.end()) return;
  add(into, finding.code, finding.severity, {rank}, finding.sentence, finding.subject.path, finding.remedy);
}

}  // namespace

Members View::compared() const {
  Members all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].compared) all.push_back(rank);
  }
  return all;
}

Members View::admitted() const {
  Members all = compared();
  std::erase_if(all, [&](std::size_t rank) { return ranks[rank].missed; });
  return all;
}

void check_pods(const View& view, Founds& into) {
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodAnswer& answer = view.member(rank).answer;
    const PodRecord& record = view.record(rank);
    const PodState state = answer.state;
    const bool compared = view.ranks[rank].compared;
    const auto error = [&](Code code, std::string evidence) {
      add(into, code, Severity::Error, {rank}, std::move(evidence));
    };
    if (view.ranks[rank].missed) {
      error(Code::MissedAtAdmission, "was created without nccl-env's variables: the webhook was not asked");
    } else if (state == PodState::MissedAtBinding && compared) {
      error(Code::MissedAtBinding,
            "was bound without its node's values: " +
                (answer.reason ? std::string(to_string(*answer.reason)) : "the webhook was not asked"));
    } else if (state == PodState::Foreign) {
      error(Code::Foreign, "has values that are not its own: " + record.foreign);
    } else if (state == PodState::WaitingForNode && !answer.findings.empty()) {
      error(Code::HeldBack, "waits: " + answer.sentence);
    } else if (state == PodState::NotStarted && !answer.findings.empty()) {
      error(Code::HeldBack, "does not start: its init container nccl-env-resolve does not get through" +
                                detail_in_brackets(record.file->detail));
    } else if (compared && failed_to_look(record)) {
      add(into, Code::LookFailed, Severity::Warning, {rank},
          "found none of its values itself: nccl-env-resolve failed" +
              detail_in_brackets(record.file->detail));
    }
    const bool judged = compared && state != PodState::MissedAtBinding && state != PodState::Foreign;
    const bool failed = !compared && !view.ranks[rank].replaced;  // while others run
    for (const Finding& finding : answer.findings) {
      if (judged || (failed && finding.code == Code::PodFailed)) add_own(rank, finding, into);
    }
    if (!judged) continue;
    const bool moved =
        std::ranges::find(answer.findings, Code::GidIndexMoved, &Finding::code) != answer.findings.end();
    for (const Change& change : answer.changes) {
      if (moved && change.now.name == variable::kIbGidIndex) continue;
      add(into, Code::ChangedSinceBound, is_constant(change.now.name) ? Severity::Info : Severity::Warning,
          {rank}, "changed since it was bound: " + change_text(change), change.now.name,
          remedy_of_changes({change}));
    }
  }
}

void check_demands(const View& view, Founds& into) {
  const Members given = view.compared();
  const Others others{given.size(), given.empty() ? 0 : given.front()};

  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    if (!view.ranks[rank].without) continue;
    const PodAnswer& answer = view.member(rank).answer;
    const Names& lacks = view.ranks[rank].lacks;
    const bool own = lacks.empty() && !answer.remedy.empty();
    add(into, Code::OddNode, Severity::Warning, {rank},
        std::string(view.manifest.empty() ? "got" : "gets") + " nothing from nccl-env" +
            (answer.reason ? " (" + std::string(to_string(*answer.reason)) + ")" : "") +
            ", which gave others of the job their values" +
            (lacks.empty() ? "" : ": it does not ask for " + join_some(lacks, kMaxValues) + ", as they do"),
        {}, own ? answer.remedy : "Let all ranks ask for the same devices, and none opt out.", others);
  }
}

void check_policy(const View& view, Founds& into) {
  const auto policy_of = [&](std::size_t rank) -> Text {
    const auto& status = view.record(rank).status;
    if (!status) return {};
    return status->policy + ", generation " + std::to_string(status->generation);
  };
  const auto words = [](const Odd<std::string>& odd) {
    return "follows policy " + odd.value + (odd.usual ? "; most follow " + *odd.usual : "; others another");
  };
  compare<std::string>(view.compared(), {Code::PolicyDiffers, Severity::Warning, "", policy_of, words}, into);
}

bool check_networks(const View& view, Founds& into) {
  const auto is_on_nodes = [&](std::size_t rank) -> std::optional<bool> {
    const PodRecord& record = view.record(rank);
    if (record.host_network) return true;
    const Value* index = view.given(rank, variable::kIbGidIndex);
    const bool infiniband = index && record.reason_missing(*index) == to_string(Reason::InfiniBand);
    const bool lacks = !(index && index->value) || record.starts_itself();
    return !infiniband && lacks ? std::optional(false) : std::nullopt;  // it has the index that these have
  };
  const auto words = [](const Odd<bool>& odd) {
    return odd.value ? "is on its node's network (hostNetwork), where most are not"
                     : "is not on its node's network (hostNetwork), as others are";
  };
  const char* const remedy = "Say the same hostNetwork for all ranks.";
  return compare<bool>(view.admitted(),
                       {Code::OddNode, Severity::Warning, "", is_on_nodes, words, remedy, most_of<bool>},
                       into);
}

namespace {

// True if the rank has a value of the user's own.
bool is_users(const View& view, std::size_t rank, std::string_view variable) {
  const Value* value = view.given(rank, variable);
  return value && value->state == State::Users;
}

// True if the webhook gave no list, as the pod's networks may not bring all rails: its form differs with
// that.
bool lacks_rails(const PodRecord& record) {
  const GivenContainer* container = record.main_container();
  if (!container) return false;
  const auto omitted = container->omitted.find(variable::kIbHca);
  return omitted != container->omitted.end() && omitted->second == to_string(Reason::PodRailsUnknown);
}

}  // namespace

// Ranks that lack a secondary network of the kind that they have, where most of their role have more of it.
// Names may differ by node, and roles may be meant to have other rails.
void check_secondary_networks(const View& view, Founds& into) {
  const auto role_of = [&](std::size_t rank) -> Text {
    const PodRecord& record = view.record(rank);
    if (record.host_network || lacks_rails(record)) return {};
    return view.ranks[rank].role;
  };
  for (const auto& [role, of_role] : shares_of(view.compared(), role_of).members_with) {
    const auto counts = shares_of(
        of_role, [&](std::size_t rank) { return std::optional(view.record(rank).networks.size()); });
    const std::string where = counts.majority() ? " where most ask for " : " where others ask for ";
    for (const Odd<std::size_t>& odd : odd_ones(counts, counts.most())) {
      const Names& all = view.record(odd.others.first).networks;
      for (const std::size_t rank : odd.members) {
        const Names& names = view.record(rank).networks;
        if (!lacks_kin(names, all)) continue;
        // Templates may be meant to have fewer rails.
        add(into, Code::OddNode, view.manifest == "template" ? Severity::Info : Severity::Warning, {rank},
            "asks for " + count_of(odd.value, "secondary network") + where + std::to_string(*odd.usual) +
                ": " + list_difference(all, names),
            {}, "Ask for the same networks in all ranks.", odd.others);
      }
    }
  }
}

void check_form(const View& view, Founds& into) {
  const auto form_of = [&](std::size_t rank) -> Text {
    const PodRecord& record = view.record(rank);
    if (!record.status || record.status->form.empty() || lacks_rails(record)) return {};
    return record.status->form;
  };
  const auto words = [](const Odd<std::string>& odd) {
    return "gets its values by form " + cut(odd.value, kMaxValue) +
           (odd.usual ? ", most by " + cut(*odd.usual, kMaxValue) : ", others by another") +
           ": policy or webhook were changed between the pods";
  };
  compare<std::string>(view.compared(), {Code::FormDiffers, Severity::Warning, "", form_of, words}, into);
}

namespace {

// NCCL takes ranks with one ID for ranks of one host.
void check_host_id(const View& view, Founds& into) {
  const auto id_of = [&](std::size_t rank) -> Text {
    const Value* id = view.given(rank, "NCCL_HOSTID");
    return view.record(rank).node.empty() || !id || !id->value || id->value->empty() ? Text() : id->value;
  };
  for (const auto& [id, ranks] : shares_of(view.admitted(), id_of).members_with) {
    const auto node_of = [&](std::size_t rank) { return Text(view.record(rank).node); };
    if (shares_of(ranks, node_of).members_with.size() < 2) continue;
    add(into, Code::ValueMisread, Severity::Error, ranks,
        "has NCCL_HOSTID=" + cut(id, kMaxValue) +
            ", as ranks of other nodes have: NCCL takes them for one host",
        "NCCL_HOSTID", "Remove NCCL_HOSTID, or give it another value on each node.");
  }
}

// Tells of a rank's own interface, where another rank of its node has one of ours, or its node has that of
// most ranks, too.
void check_own_interface(const View& view, Founds& into) {
  const auto name_of = [&](std::size_t rank) {
    const Value* name = view.given(rank, variable::kSocketIfname);
    return name ? name->value : Text();
  };
  const auto is_own = [&](std::size_t rank) { return is_users(view, rank, variable::kSocketIfname); };
  const Members ranks = view.admitted();
  const auto usual = shares_of(ranks, name_of).majority();
  // A pod's own network has other interfaces than its node.
  const auto network_of = [&](std::size_t rank) -> Text {
    const PodRecord& record = view.record(rank);
    return record.node.empty() ? Text() : record.node + (record.host_network ? "" : " pod");
  };
  for (const auto& [network, of_node] : shares_of(ranks, network_of).members_with) {
    const auto ours =
        shares_of(of_node, [&](std::size_t rank) { return is_own(rank) ? Text() : name_of(rank); });
    const auto beside = ours.most();
    const std::string other = beside.value_or(usual.value_or(""));
    const std::string plain = other.substr(other.starts_with('=') ? 1 : 0);
    for (const std::size_t rank : of_node) {
      const Text own = name_of(rank);
      const NodeFabric* table = view.member(rank).around.table.get();
      const bool there = beside || (table && table->interfaces &&
                                    std::ranges::find(*table->interfaces, plain, &Interface::name) !=
                                        table->interfaces->end());
      if (!own || own->size() < 2 || !is_own(rank) || !there) continue;
      if (parse_nccl_name_list(*own, kNewestNccl, kNcclMaxInterfaces).selects(plain, -1)) continue;
      add(into, Code::OddNode, Severity::Warning, {rank},
          "has NCCL_SOCKET_IFNAME=" + cut(*own, kMaxValue) + " of its own, " +
              (beside ? "others of its node have " + cut(other, kMaxValue)
                      : "most have " + cut(other, kMaxValue) + ", which its node has, too"),
          variable::kSocketIfname, "Remove NCCL_SOCKET_IFNAME from the rank, or set it alike on all.",
          beside ? Others{ours.members_with.at(other).size(), ours.members_with.at(other).front()}
                 : Others());
    }
  }
}

// The names of all values that ranks have.
std::set<std::string> names_of(const View& view) {
  std::set<std::string> names;
  for (const std::size_t rank : view.compared()) {
    for (const Value* given : view.record(rank).main_container()->effective()) names.insert(given->name);
  }
  return names;
}

}  // namespace

void check_values(const View& view, Founds& into) {
  check_own_interface(view, into);
  check_host_id(view, into);
  for (const std::string& name : names_of(view)) {
    const Variable* known = find_variable(name);
    if (!known || (known->ranks != Ranks::Equal && known->ranks != Ranks::Fabric)) continue;
    std::map<std::string, std::string> spellings;  // the first one of each meaning
    const auto value_of = [&](std::size_t rank) {
      Text value = effective(view.record(rank), name);
      if (value) value = spellings.emplace(nccl_meaning(*known, *value), *value).first->second;
      return value;
    };
    const Members ranks = view.admitted();
    const auto any_own = [&](const Members& of) {
      return std::ranges::any_of(of, [&](std::size_t rank) { return is_users(view, rank, name); });
    };
    const bool own = any_own(ranks);
    const std::string spread =
        distribution(shares_of(ranks, value_of), view.manifest.empty() ? "rank" : view.manifest);
    const auto words = [&](const Odd<std::string>& odd) {
      // Tells, of equally many, those that set it; of these, those whose users do.
      if (!odd.usual && (odd.value.empty() || (own && !any_own(odd.members)))) return std::string();
      return "has " + name + " " + value_words(odd.value) + ", which " +
             std::string(agreement_text(known->ranks)) + ": " + spread;
    };
    const Severity severity = known->ranks == Ranks::Equal ? Severity::Error : Severity::Warning;
    compare<std::string>(ranks, {Code::ValuesDiffer, severity, name, value_of, words}, into);
  }
}

namespace {

Names sorted(Names names) {
  std::ranges::sort(names, hca_name_less);
  return names;
}

std::set<std::string> families(const Names& names) {
  std::set<std::string> found;
  for (const std::string& name : names) found.insert(hca_family(name));
  return found;
}

// "NCCL_IB_HCA=mlx5_1 of its own, and so " where the user set the list.
std::string own_list_text(const View& view, std::size_t rank) {
  if (!is_users(view, rank, variable::kIbHca)) return {};
  const Value* list = view.given(rank, variable::kIbHca);
  return list->value ? "NCCL_IB_HCA=" + cut(*list->value, kMaxValue) + " of its own, and so " : "";
}

// The HCAs that NCCL takes by a list of the user's own; none if there is no such list, or it is not known.
Names of_own_list(const View& view, std::size_t rank) {
  const std::optional<NcclSelection>& chosen = view.member(rank).answer.nccl_with_us;
  Names names;
  if (!is_users(view, rank, variable::kIbHca) || !chosen) return names;
  for (const NcclSelection::ChosenPort& port : chosen->ports) {
    if (std::ranges::find(names, port.hca) == names.end()) names.push_back(port.hca);
  }
  return names;
}

// The list of the highest number of HCAs.
const Names& longest(const Shares<Names>& shares) {
  return std::ranges::max_element(shares.members_with, {},
                                  [](const auto& share) { return share.first.size(); })
      ->first;
}

bool holds(const Names& list, const Names& other) {
  return std::ranges::all_of(
      other, [&](const std::string& name) { return std::ranges::find(list, name) != list.end(); });
}

// True if the longest list is a node's, has all HCAs of the usual one, and ranks with that one are known to
// lack a port of their node's fabric, or their nodes are not seen.
bool is_short(const View& view, const Shares<Names>& shares, const Names& usual) {
  const Names& whole = longest(shares);
  const bool ours = std::ranges::any_of(shares.members_with.at(whole), [&](std::size_t rank) {
    return !view.ranks[rank].hcas.empty() && !is_users(view, rank, variable::kIbHca);
  });
  if (!ours || !holds(whole, usual) || usual.size() == whole.size()) return false;
  return std::ranges::any_of(shares.members_with.at(usual), [&](std::size_t rank) {
    const PodAnswer& answer = view.member(rank).answer;
    return answer.node_unseen || is_users(view, rank, variable::kIbHca) ||
           std::ranges::find(answer.findings, Code::RailDown, &Finding::code) != answer.findings.end();
  });
}

// The list that most ranks have, else the longest, if it holds all others. None of devices of the pods' own,
// which have their own names: only their number can be compared.
std::optional<Names> usual_list(const View& view, const Shares<Names>& shares) {
  if (std::ranges::any_of(view.compared(), [&](std::size_t rank) {
        const auto& status = view.record(rank).status;
        return status && status->exposure == Exposure::PodOwned;
      }))
    return std::nullopt;
  const Names& whole = longest(shares);
  const auto most = shares.majority();
  if (most) return is_short(view, shares, *most) ? whole : *most;
  // Lists that nodes give, beside which those of the ranks' users are odd.
  Shares<Names> ours;
  for (const auto& [names, ranks] : shares.members_with) {
    for (const std::size_t rank : ranks) {
      if (!is_users(view, rank, variable::kIbHca)) ours.add(rank, names);
    }
  }
  const bool all =
      std::ranges::all_of(shares.members_with, [&](const auto& share) { return holds(whole, share.first); });
  if (all && (ours.known == 0 || ours.members_with.contains(whole))) return whole;
  // Of a manifest nothing else tells of unlike nodes.
  const auto of_nodes = ours.majority();
  return of_nodes || ours.known == 0 || view.manifest.empty() ? of_nodes : longest(ours);
}

void compare_lists(const View& view, const Shares<Names>& shares, Founds& into) {
  Shares<std::size_t> counts;
  for (const auto& [names, ranks] : shares.members_with) {
    for (const std::size_t rank : ranks) counts.add(rank, names.size());
  }
  const auto usual = usual_list(view, shares);
  std::size_t count = counts.majority().value_or(longest(shares).size());
  if (usual) count = std::max(count, usual->size());
  for (const Odd<Names>& odd : odd_ones(shares, usual)) {
    const Names& names = odd.value;
    const std::string change = usual ? list_difference(*usual, names) : "";
    if (names.size() < count) {
      add(into, Code::MissingRail, Severity::Error, odd.members,
          "has " + own_list_text(view, odd.members.front()) + count_of(names.size(), "HCA") +
              " where others have " + std::to_string(count) + (usual ? ": " + change : ""),
          variable::kIbHca, "", odd.others);
    } else if (usual) {
      const bool kin = families(names) == families(*usual);
      add(into, Code::OddNode, Severity::Warning, odd.members,
          std::string(kin ? "has other HCAs than " : "has HCAs of another kind than ") +
              (shares.majority() ? "most: " : "others: ") + change,
          variable::kIbHca, "", odd.others);
    }
  }
}

}  // namespace

void check_rails(const View& view, Founds& into) {
  const auto list_of = [&](std::size_t rank) {
    const std::vector<std::string>& given = view.ranks[rank].hcas;
    const Names names = given.empty() ? of_own_list(view, rank) : given;
    return names.empty() ? std::nullopt : std::optional(sorted(names));
  };
  const Shares<Names> shares = shares_of(view.compared(), list_of);
  if (shares.known == 0) return;
  compare_lists(view, shares, into);
  for (const std::size_t rank : view.admitted()) {
    if (list_of(rank) || own_list_text(view, rank).empty()) continue;
    add(into, Code::OddNode, Severity::Warning, {rank},
        "has NCCL_IB_HCA=" + cut(*view.given(rank, variable::kIbHca)->value, kMaxValue) +
            " of its own, where others have their node's list",
        variable::kIbHca, "Remove NCCL_IB_HCA from the rank, or set it alike on all.");
  }
}

// A node with InfiniBand needs no GID index; one with RoCE has one.
void check_links(const View& view, Founds& into) {
  const auto link_of = [&](std::size_t rank) -> Text {
    const Value* index = view.given(rank, variable::kIbGidIndex);
    if (index && index->state == State::Users)  // what its node gives stands in the file
      index = find_named(view.record(rank).main_container()->file, variable::kIbGidIndex);
    if (!index || index->source == Source::Policy || view.record(rank).node.empty()) return {};
    if (index->value) return "RoCE";
    return view.record(rank).reason_missing(*index) == to_string(Reason::InfiniBand) ? Text("InfiniBand")
                                                                                     : Text();
  };
  const auto words = [](const Odd<std::string>& odd) {
    return "has " + odd.value + ", where others have " + *odd.usual + ": the two do not connect";
  };
  const Agreement<std::string> row{Code::MixedLinks,
                                   Severity::Error,
                                   variable::kIbHca,
                                   link_of,
                                   words,
                                   "Run all ranks on nodes of one kind.",
                                   most_of<std::string>};
  compare(view.compared(), row, into);
}

namespace {

// Reports values that a node could not give although others did; for the HCA list, also if none did.
void check_reasons_of(const View& view, std::string_view name, Founds& into) {
  std::size_t given = 0;
  const auto why_without = [&](std::size_t rank) -> Text {
    const PodRecord& record = view.record(rank);
    if (record.node.empty()) return {};
    const Value* value = view.given(rank, name);
    if (!value && name == variable::kIbHca && lacks_rails(record))
      return "its networks may not bring all rails (PodRailsUnknown)";
    if (!value || value->state == State::Users || value->source == Source::Policy) return {};
    if (value->value) ++given;
    const std::string reason = value->value ? "" : record.reason_missing(*value);
    if (reason.empty() || (name == variable::kIbGidIndex && reason == to_string(Reason::InfiniBand)))
      return {};
    return (value->source == Source::Pod ? "the pod found none (" : "its node could not give it (") + reason +
           ")";
  };
  const auto without = shares_of(view.compared(), why_without);
  if (given == 0 && name != variable::kIbHca) return;
  for (const auto& [why, ranks] : without.members_with) {
    const PodAnswer& first = view.member(ranks.front()).answer;
    const auto detail = ranks.size() == 1 ? first.details.find(name) : first.details.end();
    add(into, given == 0 ? Code::NoList : Code::OddNode, Severity::Warning, ranks,
        "got no " + std::string(name) + (given == 0 ? ", like all other ranks: " : ", which others have: ") +
            why + (detail == first.details.end() ? "" : ": " + detail->second),
        name);
  }
}

// Compares the node's values alone: a variable of the user's own is not among them.
void check_shared_nodes(const View& view, Founds& into) {
  const auto node_of = [&](std::size_t rank) -> Text {
    const PodRecord& record = view.record(rank);
    const bool foreign = view.member(rank).answer.state == PodState::Foreign;
    return record.node.empty() || !record.bound || record.starts_itself() || foreign ? Text() : record.node;
  };
  const auto words = [](const auto&) {
    return "shares its node with ranks that have other values: the table or the policy changed between their "
           "Bindings";
  };
  const auto is_of_node = [](const Value& value) {
    return value.is_from(Source::Node) || value.is_from(Source::File);
  };
  for (const std::string& name : names_of(view)) {
    const auto value_of = [&](std::size_t rank) -> Text {
      const Value* value = view.given(rank, name);
      if (!value || !is_of_node(*value)) return {};
      const Names& hcas = view.ranks[rank].hcas;  // in order, however they are spelt
      return name == variable::kIbHca && !hcas.empty() ? join(sorted(hcas)) : value->value.value_or("");
    };
    const Agreement<std::string> row{Code::NodeValuesDiffer,
                                     Severity::Warning,
                                     "",
                                     value_of,
                                     words,
                                     "",
                                     majority_of<std::string>,
                                     node_of};
    compare(view.compared(), row, into);
  }
}

}  // namespace

void check_reasons(const View& view, Founds& into) {
  for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kSocketIfname})
    check_reasons_of(view, name, into);
}

void check_nodes(const View& view, Founds& into) {
  check_shared_nodes(view, into);
  const auto index_of = [&](std::size_t rank) {
    const PodRecord& record = view.record(rank);
    const std::string& index = view.ranks[rank].gid_index;
    const bool known = !record.node.empty() && (record.bound || record.starts_itself()) && !index.empty();
    return known ? Text(index) : Text();
  };
  const auto indexes = shares_of(view.compared(), index_of);
  for (const Odd<std::string>& odd : odd_ones(indexes, indexes.majority())) {
    for (const std::size_t rank : odd.usual ? odd.members : Members()) {
      const bool own = is_users(view, rank, variable::kIbGidIndex);
      add(into, Code::RankIndexDiffers, own ? Severity::Warning : Severity::Info, {rank},
          own ? "has NCCL_IB_GID_INDEX=" + cut(odd.value, kMaxValue) +
                    " of its own, most have their node's " + *odd.usual
              : "has GID index " + odd.value + ", most have " + *odd.usual +
                    ": right where each has its own node's",
          variable::kIbGidIndex,
          own ? "Remove NCCL_IB_GID_INDEX from the rank, or set it alike on all." : "");
    }
  }
}

}  // namespace nccl_env::job
