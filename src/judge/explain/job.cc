// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/job.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "explain/job_checks.h"
#include "explain/judgement.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/judge/explain/pod_print.h"

namespace nccl_env {
namespace {

// A sentence names so many; the table has them all.
constexpr std::size_t kNamedRanks = 3;
constexpr std::size_t kLongestValue = 60;

// Names the worst finding, and counts the others; of a healthy job what has to be known beside.
class Sentence {
 public:
  Sentence(std::string_view name, const job::View& view, const std::vector<Difference>& founds)
      : job_("job " + std::string(name)), view_(view), compared_(view.compared()) {
    for (const Difference& found : founds) {
      if (is_meant_choice(found.finding)) off_ = &found.finding;
      if (found.finding.severity == Severity::Info) continue;
      if (!worst_) worst_ = &found;
      ++findings_;
      odd_.insert(found.members.begin(), found.members.end());
    }
  }

  [[nodiscard]] std::string write() const {
    if (compared_.empty()) return "No pod of " + job_ + " was given anything by nccl-env: " + shared_reason();
    return worst_ ? of_worst() : healthy();
  }

  [[nodiscard]] std::string with_node(std::size_t rank) const {
    const std::string& node = view_.record(rank).node;
    return "rank " + view_.ranks[rank].name + (node.empty() ? "" : " on node " + node);
  }

 private:
  [[nodiscard]] std::string of_worst() const {
    const auto more = std::ranges::count_if(  // that have failed while others run
        odd_, [&](std::size_t rank) { return !view_.ranks[rank].compared; });
    const std::size_t all = compared_.size() + static_cast<std::size_t>(more);
    std::string text =
        std::to_string(odd_.size()) + " of " + count_of(all, "rank") + " of " + job_ +
        (odd_.size() == 1 ? " needs" : " need") + " attention: " +
        join_some(worst_->members, kNamedRanks, [&](std::size_t rank) { return with_node(rank); });
    const std::string& sentence = worst_->finding.sentence;
    const std::string_view first = std::string_view(sentence).substr(0, sentence.find(' '));
    const bool whole = !std::ranges::all_of(first, [](unsigned char c) { return std::islower(c) != 0; });
    text += (whole ? ": " : worst_->members.size() > 1 ? ": each " : " ") + sentence;
    if (text.ends_with('.')) text.pop_back();
    if (findings_ < 2 && text.ends_with('?')) return text;
    if (findings_ > 1) text += "; and " + count_of(findings_ - 1, "further finding");
    return text + ".";
  }

  // The sentence that all pods have, if it is one.
  [[nodiscard]] std::string shared_reason() const {
    const std::span<const AnsweredPod> all = view_.members;
    const auto is_shared = [&](const AnsweredPod& member) {
      return member.answer.sentence == all.front().answer.sentence;
    };
    if (all.empty() || !all.front().answer.reason || !std::ranges::all_of(all, is_shared))
      return "`nccl-env explain pod/NAME` says why.";
    return std::string(to_string(*all.front().answer.reason)) + ": " + all.front().answer.sentence;
  }

  // "rank worker-2 has no node yet: 0/4 nodes are available: 4 Insufficient rdma/hca."
  [[nodiscard]] std::string why_waiting(std::size_t rank) const {
    const PodRecord& record = view_.record(rank);
    std::string text = with_node(rank);
    if (record.ending) return text + " is being deleted.";
    if (!record.node.empty()) return text + " has not started yet (" + record.starting + ").";
    text += " has no node yet";
    if (!record.gates.empty())
      return text + ": its scheduling gate '" + record.gates.front() + "' is closed.";
    if (record.unscheduled.empty()) return text + ".";
    return text + ": " + record.unscheduled + (record.unscheduled.ends_with('.') ? "" : ".");
  }

  [[nodiscard]] std::string healthy() const {
    Members waiting;
    std::ranges::copy_if(compared_, std::back_inserter(waiting), [&](std::size_t rank) {
      const PodRecord& record = view_.record(rank);
      return record.node.empty() || !record.starting.empty() || record.ending;
    });
    const std::size_t started = compared_.size() - waiting.size();
    const std::string why = waiting.empty() ? "" : why_waiting(waiting.front());
    if (started == 0) return "No rank of " + job_ + " runs yet: " + why;
    // True also for a user's list, one in a file that is not written yet, and one whose value is not known.
    const auto has_list = [&](std::size_t rank) {
      const Value* list = view_.given(rank, variable::kIbHca);
      return list && list->state != State::LeftOut;
    };
    if (std::ranges::none_of(view_.admitted(), has_list)) {
      return "No rank of " + job_ +
             (off_ ? " uses RDMA: " + off_->sentence
                   : " has an HCA list: nccl-env gives them none, so NCCL takes its own.");
    }
    const std::string beside = off_ ? off_->sentence : caveat();
    const std::string but = beside.empty() ? "" : " But " + beside;
    if (!waiting.empty())
      return std::to_string(started) + " of " + count_of(compared_.size(), "rank") + " of " + job_ +
             (started == 1 ? " has its values; " : " have their values, and agree where they have to; ") +
             why + but;
    if (compared_.size() == 1) return "The one rank of " + job_ + " has its values." + but;
    return (compared_.size() == 2 ? "Both" : "All " + std::to_string(compared_.size())) + " ranks of " +
           job_ + " have their values, and agree where they have to." + but;
  }

  // A sentence that follows on that of a healthy job; "" if there is none.
  [[nodiscard]] std::string caveat() const {
    if (const std::string absent = rank_without_pod(); !absent.empty())
      return "there is no pod of rank " + absent + ".";
    for (const auto of :
         {&Sentence::of_old_tables, &Sentence::of_values_elsewhere, &Sentence::of_own_values}) {
      if (std::string text = (this->*of)(); !text.empty()) return text;
    }
    return {};
  }

  // "worker-2" where pods of worker-1 and worker-3 are there, and most numbers between the first and the
  // last;
  // "" if there is no gap.
  [[nodiscard]] std::string rank_without_pod() const {
    constexpr std::int64_t kMostRanks = 1'000'000;
    std::map<std::string, std::set<std::uint64_t>> numbers_of;
    for (const AnsweredPod& member : view_.members) {
      const std::string name = rank_name(member.record);
      const std::size_t end = name.find_last_not_of("0123456789") + 1;  // 0: digits alone
      const auto number = plain_decimal(std::string_view(name).substr(end));
      if (number && *number < kMostRanks && (end == 0 || name[end - 1] == '-'))
        numbers_of[name.substr(0, end)].insert(static_cast<std::uint64_t>(*number));
    }
    for (const auto& [prefix, numbers] : numbers_of) {
      const std::uint64_t absent = *numbers.rbegin() - *numbers.begin() + 1 - numbers.size();
      if (absent == 0 || absent > numbers.size()) continue;
      std::uint64_t next = *numbers.begin();
      while (numbers.contains(next)) ++next;
      return prefix + std::to_string(next);
    }
    return {};
  }

  [[nodiscard]] std::string of_old_tables() const {
    std::set<std::string> nodes;
    for (const std::size_t rank : compared_) {
      const AnsweredPod& member = view_.member(rank);
      if (member.answer.node_unseen && member.around.table) nodes.insert(member.record.node);
    }
    if (nodes.empty()) return {};
    if (nodes.size() == 1) return "the table of " + *nodes.begin() + " is too old to tell how it is now.";
    return "the tables of " + std::to_string(nodes.size()) + " nodes are too old to tell how they are now.";
  }

  // Names a value, or envFrom, that some ranks alone take from elsewhere.
  [[nodiscard]] std::string of_values_elsewhere() const {
    const Members ranks = view_.admitted();
    std::map<std::string, Members> unknown;
    for (const std::size_t rank : ranks) {
      const GivenContainer& container = view_.container(rank);
      if (container.env_from) unknown["envFrom"].push_back(rank);
      for (const Value* value : container.effective()) {
        if (value->state != State::Users || value->value) continue;
        const Variable* known = find_variable(value->name);
        if (known && known->ranks == Ranks::Equal) unknown[value->name].push_back(rank);
      }
    }
    for (const auto& [name, of] : unknown) {
      if (of.size() < ranks.size())
        return name + " of rank " + view_.ranks[of.front()].name +
               " is not in the pod's text, and was not compared.";
    }
    return {};
  }

  // Names the user's own value for RDMA that no table can check.
  [[nodiscard]] std::string of_own_values() const {
    for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex, variable::kSocketIfname}) {
      std::vector<const Value*> own;
      for (const std::size_t rank : compared_) {
        const auto& status = view_.record(rank).status;
        const bool own_rows = name == variable::kIbGidIndex && status && status->exposure &&
                              *status->exposure != Exposure::Host;  // which no table of a node has
        const Value* value = view_.given(rank, name);
        if ((view_.member(rank).answer.node_unseen || own_rows) && value && value->state == State::Users &&
            value->value)
          own.push_back(value);
      }
      if (!own.empty())
        return own.front()->name + "=" + cut(*own.front()->value, kLongestValue) + " is the user's own on " +
               count_of(own.size(), "rank") + ", and no table tells whether it is right.";
    }
    return {};
  }

  const std::string job_;
  const job::View& view_;
  const Members compared_;
  const Difference* worst_ = nullptr;
  const Finding* off_ = nullptr;  // what the user has turned off
  std::size_t findings_ = 0;
  std::set<std::size_t> odd_;
};

// Tells of pods that were given nothing, a launcher, too: "1 pod without values is in trouble: rank launcher
// on node n1, container c has failed (OOMKilled, exit code 137)."; "" if none.
std::string trouble_beside(const job::View& view, const Sentence& words) {
  const Members troubled = members_where(view.ranks.size(), [&](std::size_t rank) {
    return !view.record(rank).trouble.empty() && !view.ranks[rank].replaced &&
           !has_its_values(view.member(rank).answer.state);
  });
  if (troubled.empty()) return {};
  return count_of(troubled.size(), "pod") + " without values" +
         (troubled.size() == 1 ? " is in trouble: " : " are in trouble, first ") +
         words.with_node(troubled.front()) + ", " + view.record(troubled.front()).trouble + ".";
}

std::vector<std::string> notes_of(const job::View& view, const Sentence& words) {
  std::vector<std::string> notes;
  if (std::string trouble = trouble_beside(view, words); !trouble.empty())
    notes.push_back(std::move(trouble));
  const auto note = [&](const std::string& one, const std::string& many, const auto& is) {
    const auto pods = std::ranges::count_if(
        view.ranks, [&](const JobRank& rank) { return is(rank, view.members[rank.member]); });
    if (pods > 0) notes.push_back(pods == 1 ? "1 pod " + one : std::to_string(pods) + " pods " + many);
  };
  note("has no node yet.", "have no node yet.", [](const JobRank& rank, const AnsweredPod& member) {
    return rank.compared && member.record.node.empty();
  });
  note("has finished while others have not, and is not compared.",
       "have finished while others have not, and are not compared.",
       [](const JobRank& rank, const AnsweredPod& member) {
         return !rank.compared && member.record.is_finished();
       });
  note("was given nothing, and is not compared.", "were given nothing, and are not compared.",
       [](const JobRank& rank, const AnsweredPod& member) {
         return !rank.compared && !rank.without && !member.record.is_finished();
       });
  return notes;
}

// The names that the members' label has, with "" where one lacks it.
std::set<std::string> names_by(std::string_view label, std::span<const AnsweredPod> members) {
  std::set<std::string> names;
  for (const AnsweredPod& member : members) names.insert(find_text(member.record.labels, label));
  return names;
}

using OrderedJson = nlohmann::ordered_json;

// Widths of columns, of 80.
constexpr std::size_t kRankWidth = 20;
constexpr std::size_t kNodeWidth = 18;
constexpr std::size_t kHcasWidth = 18;

std::string state_of(const JobRank& rank, const AnsweredPod& member) {
  if (rank.replaced) return "failed, and replaced";
  return rank.missed ? std::string(to_string(PodState::MissedAtAdmission)) : verdict_words(member.answer);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string table(const JobAnswer& answer, std::span<const AnsweredPod> members) {
  TextColumns columns(0);
  columns.add({"  RANK", "NODE", "HCAS", "GID", "STATE"});
  std::vector<JobRank> ranks = answer.ranks;
  std::stable_partition(ranks.begin(), ranks.end(), [](const JobRank& rank) { return rank.odd; });
  for (const JobRank& rank : ranks) {
    const AnsweredPod& member = members[rank.member];
    columns.add({(rank.odd ? "! " : "  ") + cut(rank.name, kRankWidth),
                 cut(or_dash(member.record.node), kNodeWidth),
                 cut(or_dash(short_list(rank.hcas)), kHcasWidth), cut(or_dash(rank.gid_index), 3),
                 state_of(rank, member)});
  }
  return columns.render();
}

OrderedJson rank_json(const JobRank& rank, const AnsweredPod& member) {
  const PodRecord& record = member.record;
  return {{"rank", rank.name},
          {"pod", record.name},
          {"node", text_or_null(record.node)},
          {"phase", text_or_null(record.phase)},
          {"state", to_string(rank.missed ? PodState::MissedAtAdmission : member.answer.state)},
          {"reason", member.answer.reason ? OrderedJson(to_string(*member.answer.reason)) : OrderedJson()},
          {"compared", rank.compared},
          {"policy", record.status ? OrderedJson(record.status->policy) : OrderedJson()},
          {"generation", record.status ? OrderedJson(record.status->generation) : OrderedJson()},
          {"table", record.bound ? text_or_null(record.bound->table) : OrderedJson()},
          {"hcas", rank.hcas},
          {"gidIndex", text_or_null(rank.gid_index)}};
}

}  // namespace

std::vector<std::string> several_jobs(std::span<const AnsweredPod> members) {
  std::vector<std::string> several;
  for (const std::string_view label : kJobLabels) {
    const std::set<std::string> names = names_by(label, members);
    if (names.contains({})) continue;
    if (names.size() == 1) return {};
    if (several.empty() || names.size() < several.size()) several.assign(names.begin(), names.end());
  }
  return several;
}

std::string job_name(std::span<const AnsweredPod> members) {
  for (const std::span<const AnsweredPod> of : {members, members.first(1)}) {
    for (const std::string_view label : kJobLabels) {
      const std::set<std::string> names = names_by(label, of);
      if (names.size() == 1 && !names.contains({})) return *names.begin();
    }
  }
  const PodRecord& first = members.front().record;
  return first.owners.empty() ? first.name : first.owners.front().name;
}

std::string job_label(const std::function<std::string(std::string_view label)>& value_of) {
  for (auto label = kJobLabels.rbegin(); label != kJobLabels.rend(); ++label) {
    if (const std::string name = value_of(*label); !name.empty()) return std::string(*label) + "=" + name;
  }
  return {};
}

JobAnswer answer_job(std::string_view name, std::span<const AnsweredPod> members) {
  JobAnswer answer;
  answer.ranks = make_ranks(members);
  const job::View view{members, answer.ranks};
  std::vector<Difference> founds = job::check(view);
  std::ranges::stable_sort(founds, {}, [](const Difference& found) {
    return std::pair(found.finding.severity, found.finding.code);
  });
  const Sentence sentence(name, view, founds);
  answer.sentence = sentence.write();
  answer.notes = notes_of(view, sentence);
  const std::string name_space = members.empty() ? std::string() : members.front().record.name_space;
  const std::string argument = !is_dns_subdomain(name)
                                   ? std::string()
                                   : std::string(name) + (name_space.empty() ? "" : " -n " + name_space);
  for (Difference& found : founds) {
    Finding& finding = answer.findings.emplace_back(std::move(found.finding));
    finding.subject.kind = "Job";
    finding.subject.name_space = name_space;
    finding.subject.name = name;
    const PodRecord& first = view.record(found.members.front());
    if (finding.code == Code::PodFailed && first.has_log) {
      finding.remedy =
          "`nccl-env verify job/NAME` reads the logs of all ranks; `kubectl describe pod NAME` tells of one.";
    }
    finding.remedy = with_names(remedy_of(finding), first.argument(), argument);
    for (const std::size_t rank : found.members) {
      answer.ranks[rank].odd |= finding.severity != Severity::Info;
      finding.subject.parts.push_back(answer.ranks[rank].name);
    }
  }
  return answer;
}

std::string render_text(const JobAnswer& answer, std::span<const AnsweredPod> members,
                        const JobTitle& title) {
  std::string text =
      "job " + printable(object_name(title.name_space, title.name)) + "\n" + table(answer, members);
  text += render_sections(answer.findings);
  if (!answer.notes.empty() || !title.unread.empty()) {
    TextColumns columns(2);
    for (const std::string& note : answer.notes) columns.add({"note", note});
    for (const std::string& sentence : title.unread) columns.add({"note", sentence});
    text += "\n" + columns.render();
  }
  return paragraph(answer.sentence) + "\n" + text;
}

OrderedJson to_json(const JobAnswer& answer, std::span<const AnsweredPod> members, const JobTitle& title) {
  OrderedJson ranks =
      array_of(answer.ranks, [&](const JobRank& rank) { return rank_json(rank, members[rank.member]); });
  return {
      {"namespace", title.name_space}, {"job", title.name},         {"good", is_good(answer.findings)},
      {"sentence", answer.sentence},   {"ranks", std::move(ranks)}, {"findings", to_json(answer.findings)},
      {"notes", answer.notes},         {"leftOut", title.unread}};
}

}  // namespace nccl_env
