// SPDX-License-Identifier: Apache-2.0
#include "explain/job_checks.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "explain/judgement.h"
#include "explain/pod_changes.h"
#include "explain/value_print.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
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
using RanksOf = std::map<std::string, RankIndexes>;

// "8 on 3 ranks, 4 on 1 rank": the most frequent ones.
std::string distribution(const RanksOf& ranks_of) {
  std::vector<std::pair<std::size_t, std::string>> counts;
  for (const auto& [value, ranks] : ranks_of) counts.emplace_back(ranks.size(), value);
  std::ranges::stable_sort(counts, std::greater(), [](const auto& count) { return count.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(counts.size(), kMaxValues); ++i)
    text += (i > 0 ? ", " : "") + value_words(counts[i].second) + " on " + count_of(counts[i].first, "rank");
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

std::string policy_of(const PodRecord& record) {
  return record.status->policy + ", generation " + std::to_string(record.status->generation);
}

}  // namespace

void add(Founds& into, Code code, Severity severity, const RankIndexes& ranks, std::string sentence,
         std::string_view variable, std::string remedy) {
  const auto [place, added] =
      into.places.try_emplace({code, std::string(variable), sentence}, into.all.size());
  if (added)
    into.all.push_back(
        {{code, severity, {.path = std::string(variable)}, std::move(sentence), std::move(remedy)}, {}});
  RankIndexes& of = into.all[place->second].ranks;
  of.insert(of.end(), ranks.begin(), ranks.end());
}

namespace {

// Adds a pod's finding on its values, and on what NCCL makes of them. The others are the job's own checks.
void add_own(std::size_t rank, const Finding& finding, Founds& into) {
  constexpr std::array kOwn{Code::RailDown,        Code::NoSuchDevice,    Code::ListNotExact,
                            Code::LoopbackFirst,   Code::UnknownVariable, Code::ValueMisread,
                            Code::FellBack,        Code::EmptyGid,        Code::LinkLocalGid,
                            Code::RoceV1Gid,       Code::NoInterface,     Code::MixedLinks,
                            Code::GidIndexMoved,   Code::MemoryLock,      Code::SharedMemory,
                            Code::UserListShort,   Code::DeviceNotOpened, Code::DeviceNotAvailable,
                            Code::ValueOverridden, Code::StaleTable,      Code::PodFailed,
                            Code::NoRail};
  if (std::ranges::find(kOwn, finding.code) == kOwn.end()) return;
  add(into, finding.code, finding.severity, {rank}, finding.sentence, finding.subject.path, finding.remedy);
}

}  // namespace

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
    } else if (view.ranks[rank].without) {
      const Names& lacks = view.ranks[rank].lacks;
      const std::string reason =
          answer.reason ? " (" + std::string(to_string(*answer.reason)) + ")" : std::string();
      add(into, Code::OddNode, Severity::Warning, {rank},
          "got nothing from nccl-env" + reason + ", which gave others of the job their values" +
              (lacks.empty() ? "" : ": it does not ask for " + join_some(lacks, kMaxValues) + ", as they do"),
          {},
          "Let all ranks ask for the same devices, and none opt out: `nccl-env explain pod/NAME` says why it "
          "did.");
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
    if (!compared && !view.ranks[rank].replaced) {  // it has failed while others run
      for (const Finding& finding : answer.findings) {
        if (finding.code == Code::PodFailed) add_own(rank, finding, into);
      }
    }
    if (!compared || state == PodState::MissedAtBinding || state == PodState::Foreign) continue;
    for (const Finding& finding : answer.findings) add_own(rank, finding, into);
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

void check_policy(const View& view, Founds& into) {
  RanksOf ranks_of;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    if (view.ranks[rank].compared && view.record(rank).status)
      ranks_of[policy_of(view.record(rank))].push_back(rank);
  }
  const auto usual = most(ranks_of);
  for (const auto& [policy, ranks] : ranks_of) {
    if (policy == usual) continue;
    add(into, Code::PolicyDiffers, Severity::Warning, ranks,
        "follows policy " + policy + (usual ? "; most follow " + *usual : "; others another"));
  }
}

namespace {

// Ranks that are not on their node's network, where others are, and that lack the index that these have.
bool check_networks(const View& view, Founds& into) {
  RankIndexes without, on_network;
  std::size_t all = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (!view.ranks[rank].compared || view.ranks[rank].missed) continue;
    ++all;
    if (record.host_network) on_network.push_back(rank);
    const Value* index = record.main_container()->find(variable::kIbGidIndex);
    const bool infiniband = index && record.reason_missing(*index) == to_string(Reason::InfiniBand);
    const bool lacks = !(index && index->value) || record.starts_itself();
    if (!record.host_network && !infiniband && lacks) without.push_back(rank);
  }
  if (on_network.empty() || without.empty()) return false;
  const bool few = on_network.size() * 2 < all;
  add(into, Code::OddNode, Severity::Warning, few ? on_network : without,
      few ? "is on its node's network (hostNetwork), where most are not"
          : "is not on its node's network (hostNetwork), as others are",
      {}, "Say the same hostNetwork for all ranks.");
  return true;
}

}  // namespace

namespace {

// True if the webhook gave no list, as the pod's networks may not bring all rails: its form differs with
// that.
bool lacks_rails(const PodRecord& record) {
  const GivenContainer* container = record.main_container();
  if (!container) return false;
  const auto omitted = container->omitted.find(variable::kIbHca);
  return omitted != container->omitted.end() && omitted->second == to_string(Reason::PodRailsUnknown);
}

// Ranks that lack a secondary network of the kind that they have, where most of their role have more of it.
// Names may differ by node, and roles may be meant to have other rails.
void check_secondary_networks(const View& view, Founds& into) {
  std::map<std::string, std::map<std::size_t, RankIndexes>> roles;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (!view.ranks[rank].compared || record.host_network || lacks_rails(record)) continue;
    roles[hca_family(view.ranks[rank].name)][record.networks.size()].push_back(rank);
  }
  for (const auto& [role, ranks_of] : roles) {
    const auto usual = most(ranks_of);
    if (!usual) continue;
    const Names& all = view.record(ranks_of.at(*usual).front()).networks;
    for (const auto& [count, ranks] : ranks_of) {
      for (const std::size_t rank : ranks) {
        const Names& names = view.record(rank).networks;
        if (!lacks_kin(names, all)) continue;
        add(into, Code::OddNode, Severity::Warning, {rank},
            "asks for " + count_of(count, "secondary network") + " where most ask for " +
                std::to_string(*usual) + ": " + list_difference(all, names),
            {}, "Ask for the same networks in all ranks.");
      }
    }
  }
}

}  // namespace

void check_form(const View& view, Founds& into) {
  if (check_networks(view, into)) return;  // their form differs with it
  check_secondary_networks(view, into);
  RanksOf ranks_of;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (view.ranks[rank].compared && record.status && !record.status->form.empty() && !lacks_rails(record))
      ranks_of[record.status->form].push_back(rank);
  }
  const auto usual = most(ranks_of);
  for (const auto& [form, ranks] : ranks_of) {
    if (form == usual) continue;
    add(into, Code::FormDiffers, Severity::Warning, ranks,
        "gets its values by form " + cut(form, kMaxValue) +
            (usual ? ", most by " + cut(*usual, kMaxValue) : ", others by another") +
            ": policy or webhook were changed between the pods");
  }
}

namespace {

// NCCL takes ranks with one ID for ranks of one host.
void check_host_id(const View& view, Founds& into) {
  std::map<std::string, std::set<std::string>> nodes_of;
  RanksOf ranks_of;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (!view.ranks[rank].compared || view.ranks[rank].missed || record.node.empty()) continue;
    const Value* id = record.main_container()->find("NCCL_HOSTID");
    if (!id || !id->value || id->value->empty()) continue;
    nodes_of[*id->value].insert(record.node);
    ranks_of[*id->value].push_back(rank);
  }
  for (const auto& [id, nodes] : nodes_of) {
    if (nodes.size() < 2) continue;
    add(into, Code::ValueMisread, Severity::Error, ranks_of[id],
        "has NCCL_HOSTID=" + cut(id, kMaxValue) +
            ", as ranks of other nodes have: NCCL takes them for one host",
        "NCCL_HOSTID", "Remove NCCL_HOSTID, or give it another value on each node.");
  }
}

// Tells of a rank's own interface, where its node has that of most ranks, too.
void check_own_interface(const View& view, Founds& into) {
  RanksOf ranks_of;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    if (!view.ranks[rank].compared || view.ranks[rank].missed) continue;
    const Value* name = view.record(rank).main_container()->find(variable::kSocketIfname);
    if (name && name->value) ranks_of[*name->value].push_back(rank);
  }
  const auto usual = most(ranks_of);
  for (const auto& [value, ranks] : ranks_of) {
    if (!usual || value == *usual) continue;
    for (const std::size_t rank : ranks) {
      const AnsweredPod& member = view.member(rank);
      const Value* name = member.record.main_container()->find(variable::kSocketIfname);
      const NodeFabric* table = member.around.table.get();
      if (name->state != State::Users || !table || !table->interfaces) continue;
      const auto without_sign = [](const std::string& text) {
        return text.substr(text.starts_with('=') ? 1 : 0);
      };
      const std::string plain = without_sign(*usual);
      if (without_sign(value) == plain) continue;
      if (std::ranges::find(*table->interfaces, plain, &Interface::name) == table->interfaces->end())
        continue;
      add(into, Code::OddNode, Severity::Warning, {rank},
          "has NCCL_SOCKET_IFNAME=" + cut(value, kMaxValue) + " of its own, most have " +
              cut(*usual, kMaxValue) + ", which its node has, too",
          variable::kSocketIfname, "Remove NCCL_SOCKET_IFNAME from the rank, or set it alike on all.");
    }
  }
}

}  // namespace

void check_values(const View& view, Founds& into) {
  check_own_interface(view, into);
  std::set<std::string> names;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    if (!view.ranks[rank].compared) continue;
    for (const Value* given : view.record(rank).main_container()->effective()) names.insert(given->name);
  }
  for (const std::string& name : names) {
    if (name == "NCCL_HOSTID") check_host_id(view, into);
    const Variable* known = find_variable(name);
    if (!known || (known->ranks != Ranks::Equal && known->ranks != Ranks::Fabric)) continue;
    RanksOf ranks_of;
    std::map<std::string, std::string> spellings;  // the first one of each meaning
    for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
      // A missed pod is reported once, by its own finding.
      if (!view.ranks[rank].compared || view.ranks[rank].missed) continue;
      if (const auto value = effective(view.record(rank), name))
        ranks_of[spellings.emplace(nccl_meaning(*known, *value), *value).first->second].push_back(rank);
    }
    const Severity severity = known->ranks == Ranks::Equal ? Severity::Error : Severity::Warning;
    const auto usual = most(ranks_of);
    for (const auto& [value, ranks] : ranks_of) {
      if (value == usual || (!usual && value.empty())) continue;  // of equally many, those that set it
      add(into, Code::ValuesDiffer, severity, ranks,
          "has " + name + " " + value_words(value) + ", which " + std::string(agreement_text(known->ranks)) +
              ": " + distribution(ranks_of),
          name);
    }
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

// Returns how many HCAs most ranks have; if no number is that frequent, the largest one.
std::size_t usual_count(const std::map<Names, RankIndexes>& ranks_of) {
  std::map<std::size_t, RankIndexes> by_count;
  for (const auto& [names, ranks] : ranks_of) {
    auto& same = by_count[names.size()];
    same.insert(same.end(), ranks.begin(), ranks.end());
  }
  return most(by_count).value_or(by_count.rbegin()->first);
}

// `own`: "NCCL_IB_HCA=mlx5_1 of its own, and so " where the user set the list.
void check_list(const Names& names, const RankIndexes& ranks, const std::optional<Names>& usual,
                std::size_t count, const std::string& own, Founds& into) {
  if (names.size() < count) {
    add(into, Code::MissingRail, Severity::Error, ranks,
        "has " + own + count_of(names.size(), "HCA") + " where others have " + std::to_string(count) +
            (usual ? ": " + list_difference(*usual, names) : ""),
        variable::kIbHca);
  } else if (usual && names != *usual) {
    const bool kin = families(names) == families(*usual);
    add(into, Code::OddNode, Severity::Warning, ranks,
        (kin ? "has other HCAs than most: " : "has HCAs of another kind than most: ") +
            list_difference(*usual, names),
        variable::kIbHca);
  }
}

// A node with InfiniBand needs no GID index; one with RoCE has one.
void add_mixed(const RankIndexes& roce, const RankIndexes& infiniband, Founds& into) {
  if (roce.empty() || infiniband.empty()) return;
  const bool few = infiniband.size() <= roce.size();
  add(into, Code::MixedLinks, Severity::Error, few ? infiniband : roce,
      few ? "has InfiniBand, where others have RoCE: the two do not connect"
          : "has RoCE, where others have InfiniBand: the two do not connect",
      variable::kIbHca, "Run all ranks on nodes of one kind.");
}

// Reports values that a node could not give although others did; for the HCA list, also if none did.
void check_reasons(const View& view, std::string_view name, Founds& into) {
  std::size_t given = 0;
  std::map<std::string, RankIndexes> without;
  RankIndexes roce, infiniband;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (!view.ranks[rank].compared || record.node.empty()) continue;
    const Value* value = record.main_container()->find(name);
    if (!value && name == variable::kIbHca && lacks_rails(record))
      without["its networks may not bring all rails (PodRailsUnknown)"].push_back(rank);
    if (!value || value->state == State::Users || value->source == Source::Policy) continue;
    if (value->value) {
      ++given;
      roce.push_back(rank);
    } else if (const std::string reason = record.reason_missing(*value); !reason.empty()) {
      if (name == variable::kIbGidIndex && reason == to_string(Reason::InfiniBand)) {
        infiniband.push_back(rank);
        continue;
      }
      const bool itself = value->source == Source::Pod;
      without[(itself ? "the pod found none (" : "its node could not give it (") + reason + ")"].push_back(
          rank);
    }
  }
  if (name == variable::kIbGidIndex) add_mixed(roce, infiniband, into);
  if (given == 0 && name != variable::kIbHca) return;
  for (const auto& [why, ranks] : without) {
    const PodAnswer& first = view.member(ranks.front()).answer;
    const auto detail = ranks.size() == 1 ? first.details.find(name) : first.details.end();
    add(into, given == 0 ? Code::NoList : Code::OddNode, Severity::Warning, ranks,
        "got no " + std::string(name) + (given == 0 ? ", like all other ranks: " : ", which others have: ") +
            why + (detail == first.details.end() ? "" : ": " + detail->second),
        name);
  }
}

bool is_users_list(const PodRecord& record) {
  const GivenContainer* container = record.main_container();
  const Value* list = container ? container->find(variable::kIbHca) : nullptr;
  return list && list->state == State::Users;
}

std::string own_list_text(const PodRecord& record) {
  if (!is_users_list(record)) return {};
  const Value* list = record.main_container()->find(variable::kIbHca);
  return list->value ? "NCCL_IB_HCA=" + cut(*list->value, kMaxValue) + " of its own, and so " : "";
}

// The HCAs that NCCL takes by a list of the user's own; none if there is no such list, or it is not known.
Names of_own_list(const View& view, std::size_t rank) {
  const std::optional<NcclSelection>& chosen = view.member(rank).answer.nccl_with_us;
  Names names;
  if (!is_users_list(view.record(rank)) || !chosen) return names;
  for (const NcclSelection::ChosenPort& port : chosen->ports) {
    if (std::ranges::find(names, port.hca) == names.end()) names.push_back(port.hca);
  }
  return names;
}

// The longest list, if it has all HCAs of the usual one, and ranks with that one are known to lack a port of
// their node's fabric, or their nodes are not seen.
std::optional<Names> whole_list(const View& view, const std::map<Names, RankIndexes>& ranks_of,
                                const Names& usual) {
  const auto longer =
      std::ranges::max_element(ranks_of, {}, [](const auto& one) { return one.first.size(); });
  const Names& names = longer->first;
  const bool ours = std::ranges::any_of(longer->second, [&](std::size_t rank) {
    return !view.ranks[rank].hcas.empty() && !is_users_list(view.record(rank));
  });
  const bool all = std::ranges::all_of(
      usual, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
  if (!ours || !all || names.size() == usual.size()) return std::nullopt;
  const bool lacking = std::ranges::any_of(ranks_of.at(usual), [&](std::size_t rank) {
    const PodAnswer& answer = view.member(rank).answer;
    return answer.node_unseen || is_users_list(view.record(rank)) ||
           std::ranges::find(answer.findings, Code::RailDown, &Finding::code) != answer.findings.end();
  });
  return lacking ? std::optional(names) : std::nullopt;
}

// The longest list, if it holds every other one.
std::optional<Names> longest_of_all(const std::map<Names, RankIndexes>& ranks_of) {
  const auto longest =
      std::ranges::max_element(ranks_of, {}, [](const auto& one) { return one.first.size(); });
  const std::set<std::string> all(longest->first.begin(), longest->first.end());
  for (const auto& [names, ranks] : ranks_of) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return !all.contains(name); })) return {};
  }
  return longest->first;
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

void check_rails(const View& view, Founds& into) {
  std::map<Names, RankIndexes> ranks_of;
  RankIndexes unlike;  // of lists whose devices are not known
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const JobRank& here = view.ranks[rank];
    if (!here.compared) continue;
    const Names names = here.hcas.empty() ? of_own_list(view, rank) : here.hcas;
    if (!names.empty()) ranks_of[sorted(names)].push_back(rank);
    if (names.empty() && !here.missed && !own_list_text(view.record(rank)).empty()) unlike.push_back(rank);
  }
  if (ranks_of.size() > 1) {
    // A pod's own devices have their own names: only the number of devices can be compared.
    auto usual = has_own_devices(view) ? std::nullopt : most(ranks_of);
    std::size_t count = usual_count(ranks_of);
    if (!usual && !has_own_devices(view)) usual = longest_of_all(ranks_of);
    if (const auto whole = usual ? whole_list(view, ranks_of, *usual) : std::nullopt) {
      usual = whole;
      count = whole->size();
    }
    for (const auto& [names, ranks] : ranks_of)
      check_list(names, ranks, usual, count, own_list_text(view.record(ranks.front())), into);
  }
  for (const std::size_t rank : ranks_of.empty() ? RankIndexes() : unlike) {
    const Value* list = view.record(rank).main_container()->find(variable::kIbHca);
    add(into, Code::OddNode, Severity::Warning, {rank},
        "has NCCL_IB_HCA=" + cut(*list->value, kMaxValue) +
            " of its own, where others have their node's list",
        variable::kIbHca, "Remove NCCL_IB_HCA from the rank, or set it alike on all.");
  }
  check_reasons(view, variable::kIbHca, into);
  check_reasons(view, variable::kIbGidIndex, into);
  check_reasons(view, variable::kSocketIfname, into);
}

namespace {

// The value as it is compared: HCAs in order, however they are spelt.
std::string compared_value(const JobRank& rank, const Value& given) {
  const bool named = given.name == variable::kIbHca && !rank.hcas.empty();
  return named ? join(sorted(rank.hcas)) : given.value.value_or("");
}

// Compares the node's values alone: a variable of the user's own is not among them.
void check_shared_nodes(const View& view, Founds& into) {
  using OfVariables = std::map<std::string, RanksOf>;
  std::map<std::string, OfVariables> on_node;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    const bool given = view.ranks[rank].compared && !record.node.empty() && record.bound;
    if (!given || record.starts_itself() || view.member(rank).answer.state == PodState::Foreign) continue;
    for (const Value* value : record.main_container()->effective()) {
      if (value->is_from(Source::Node) || value->is_from(Source::File))
        on_node[record.node][value->name][compared_value(view.ranks[rank], *value)].push_back(rank);
    }
  }
  for (const auto& [node, variables] : on_node) {
    std::set<std::size_t> odd;
    for (const auto& [name, ranks_of] : variables) {
      const auto usual = ranks_of.size() > 1 ? most(ranks_of) : std::optional<std::string>();
      for (const auto& [value, ranks] : ranks_of) {
        if (ranks_of.size() > 1 && value != usual) odd.insert(ranks.begin(), ranks.end());
      }
    }
    if (odd.empty()) continue;
    into.all.push_back({{Code::NodeValuesDiffer,
                         Severity::Warning,
                         {},
                         "shares its node with ranks that have other values: the table or the policy changed "
                         "between their Bindings"},
                        RankIndexes(odd.begin(), odd.end())});
  }
}

}  // namespace

void check_nodes(const View& view, Founds& into) {
  check_shared_nodes(view, into);
  RanksOf indexes;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const JobRank& here = view.ranks[rank];
    const PodRecord& record = view.record(rank);
    if (!here.compared || record.node.empty() || (!record.bound && !record.starts_itself())) continue;
    if (!here.gid_index.empty()) indexes[here.gid_index].push_back(rank);
  }
  const auto usual = most(indexes);
  for (const auto& [index, ranks] : indexes) {
    if (!usual || index == *usual) continue;
    RankIndexes own;
    for (const std::size_t rank : ranks) {
      const Value* value = view.record(rank).main_container()->find(variable::kIbGidIndex);
      if (value && value->state == State::Users) own.push_back(rank);
    }
    if (!own.empty()) {
      add(into, Code::RankIndexDiffers, Severity::Warning, own,
          "has NCCL_IB_GID_INDEX=" + cut(index, kMaxValue) + " of its own, most have their node's " + *usual,
          variable::kIbGidIndex, "Remove NCCL_IB_GID_INDEX from the rank, or set it alike on all.");
      if (own.size() == ranks.size()) continue;
    }
    add(into, Code::RankIndexDiffers, Severity::Info, ranks,
        "has GID index " + index + ", most have " + *usual + ": right where each has its own node's",
        variable::kIbGidIndex);
  }
}

}  // namespace nccl_env::job
