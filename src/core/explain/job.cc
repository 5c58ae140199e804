// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "explain/job_caveat.h"
#include "explain/job_checks.h"
#include "explain/judgement.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/explain/meant_choice.h"
#include "nccl_env/core/explain/pod_print.h"
#include "nccl_env/core/fabric/hca_name.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {

namespace {

// A sentence names so many; the table has them all.
constexpr std::size_t kNamedRanks = 3;

std::string with_node(const JobRank& rank, const PodRecord& record) {
  return "rank " + rank.name + (record.node.empty() ? "" : " on node " + record.node);
}

// Names the worst finding, and counts the others.
class Sentence {
 public:
  Sentence(std::string_view name, const job::View& view, const std::vector<Difference>& founds)
      : name_(name), view_(view) {
    for (const Difference& found : founds) {
      if (is_meant_choice(found.finding)) off_ = &found.finding;
      if (found.finding.severity == Severity::Info) continue;
      if (!worst_) worst_ = &found;
      ++findings_;
      odd_.insert(found.members.begin(), found.members.end());
    }
  }

  [[nodiscard]] std::string write() const {
    std::size_t compared = 0;
    for (const JobRank& rank : view_.ranks) compared += rank.compared ? 1 : 0;
    if (compared == 0) {
      return "No pod of job " + name_ + " was given anything by nccl-env: " + shared_reason();
    }
    if (!worst_) return healthy(compared);
    const auto more = std::ranges::count_if(  // that have failed while others run
        odd_, [&](std::size_t rank) { return !view_.ranks[rank].compared; });
    const std::size_t all = compared + static_cast<std::size_t>(more);
    std::string text = std::to_string(odd_.size()) + " of " + count_of(all, "rank") + " of job " + name_ +
                       (odd_.size() == 1 ? " needs" : " need") +
                       " attention: " + join_some(worst_->members, kNamedRanks, [&](std::size_t rank) {
                         return with_node(view_.ranks[rank], view_.record(rank));
                       });
    const std::string& sentence = worst_->finding.sentence;
    const std::string_view first = std::string_view(sentence).substr(0, sentence.find(' '));
    const bool whole = !std::ranges::all_of(first, [](unsigned char c) { return std::islower(c) != 0; });
    text += (whole ? ": " : worst_->members.size() > 1 ? ": each " : " ") + sentence;
    if (text.ends_with('.')) text.pop_back();
    if (findings_ < 2 && text.ends_with('?')) return text;
    if (findings_ > 1) text += "; and " + count_of(findings_ - 1, "further finding");
    return text + ".";
  }

 private:
  // The sentence that all pods have, if it is one.
  [[nodiscard]] std::string shared_reason() const {
    static const PodAnswer kNone;
    const PodAnswer& first = view_.members.empty() ? kNone : view_.members.front().answer;
    const bool shared = first.reason && std::ranges::all_of(view_.members, [&](const AnsweredPod& member) {
                          return member.answer.sentence == first.sentence;
                        });
    return shared ? std::string(to_string(*first.reason)) + ": " + first.sentence
                  : "`nccl-env explain pod/NAME` says why.";
  }

  // True also for a user's list, one in a file that is not written yet, and one whose value is not known.
  [[nodiscard]] bool has_list(const JobRank& rank, std::size_t place) const {
    if (!rank.compared || rank.missed) return false;
    const Value* list = view_.record(place).main_container()->find(variable::kIbHca);
    return list && list->state != State::LeftOut;
  }

  // "rank worker-2 has no node yet: 0/4 nodes are available: 4 Insufficient rdma/hca."
  [[nodiscard]] std::string why_waiting(std::size_t rank) const {
    const PodRecord& record = view_.record(rank);
    std::string text = with_node(view_.ranks[rank], record);
    if (record.ending) return text + " is being deleted.";
    if (!record.node.empty()) return text + " has not started yet (" + record.starting + ").";
    text += " has no node yet";
    if (!record.gates.empty())
      return text + ": its scheduling gate '" + record.gates.front() + "' is closed.";
    if (record.unscheduled.empty()) return text + ".";
    return text + ": " + record.unscheduled + (record.unscheduled.ends_with('.') ? "" : ".");
  }

  [[nodiscard]] std::string healthy(std::size_t compared) const {
    std::size_t lists = 0, started = 0;
    Members waiting;
    for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) {
      lists += has_list(view_.ranks[rank], rank) ? 1 : 0;
      if (!view_.ranks[rank].compared) continue;
      const PodRecord& record = view_.record(rank);
      const bool waits = record.node.empty() || !record.starting.empty() || record.ending;
      waits ? waiting.push_back(rank) : void(++started);
    }
    const std::string why = waiting.empty() ? "" : why_waiting(waiting.front());
    if (started == 0 && !waiting.empty()) return "No rank of job " + name_ + " runs yet: " + why;
    if (lists == 0 && off_) return "No rank of job " + name_ + " uses RDMA: " + off_->sentence;
    if (lists == 0)
      return "No rank of job " + name_ + " has an HCA list: nccl-env gives them none, so NCCL takes its own.";
    if (!waiting.empty())
      return std::to_string(started) + " of " + count_of(compared, "rank") + " of job " + name_ +
             (started == 1 ? " has its values; " : " have their values, and agree where they have to; ") +
             why + but();
    if (compared == 1) return "The one rank of job " + name_ + " has its values." + but();
    return "All " + std::to_string(compared) + " ranks of job " + name_ +
           " have their values, and agree where they have to." + but();
  }

  [[nodiscard]] std::string but() const {
    const std::string caveat = off_ ? off_->sentence : job::caveat(view_);
    return caveat.empty() ? "" : " But " + caveat;
  }

  const std::string name_;
  const job::View& view_;
  const Difference* worst_ = nullptr;
  const Finding* off_ = nullptr;  // what the user has turned off
  std::size_t findings_ = 0;
  std::set<std::size_t> odd_;
};

// Tells of pods that were given nothing, a launcher, too: "1 pod without values is in trouble: rank launcher
// on node n1, container c has failed (OOMKilled, exit code 137)."; "" if none.
std::string trouble_beside(const job::View& view) {
  std::size_t troubled = 0;
  std::string first;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    if (record.trouble.empty() || view.ranks[rank].replaced ||
        view.member(rank).answer.state == PodState::Given)
      continue;
    if (++troubled == 1) first = with_node(view.ranks[rank], record) + ", " + record.trouble + ".";
  }
  if (troubled == 0) return {};
  return count_of(troubled, "pod") + " without values" +
         (troubled == 1 ? " is in trouble: " : " are in trouble, first ") + first;
}

void add_notes(const job::View& view, JobAnswer& into) {
  if (std::string trouble = trouble_beside(view); !trouble.empty()) into.notes.push_back(std::move(trouble));
  std::size_t waiting = 0, finished = 0, outside = 0, stale = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    const bool ended = record.is_finished();
    stale += view.member(rank).answer.node_unseen && view.member(rank).around.table ? 1 : 0;
    if (view.ranks[rank].compared) {
      waiting += record.node.empty() ? 1 : 0;
    } else {
      finished += ended ? 1 : 0;
      outside += ended || view.ranks[rank].without ? 0 : 1;
    }
  }
  const auto note = [&](std::size_t pods, const std::string& one, const std::string& many) {
    if (pods > 0) into.notes.push_back(pods == 1 ? "1 pod " + one : std::to_string(pods) + " pods " + many);
  };
  note(waiting, "has no node yet.", "have no node yet.");
  note(stale, "is on a node whose table is too old: `nccl-env doctor` names it.",
       "are on nodes whose tables are too old: `nccl-env doctor` names them.");
  note(finished, "has finished while others have not, and is not compared.",
       "have finished while others have not, and are not compared.");
  note(outside, "was given nothing, and is not compared.", "were given nothing, and are not compared.");
}

}  // namespace

namespace {

// The names that the members' label has, with "" where one lacks it.
std::set<std::string> names_by(std::string_view label, std::span<const AnsweredPod> members) {
  std::set<std::string> names;
  for (const AnsweredPod& member : members) {
    const auto name = member.record.labels.find(label);
    names.insert(name == member.record.labels.end() ? std::string() : name->second);
  }
  return names;
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
  for (Difference& found : founds) {
    std::ranges::sort(found.members);
    found.members.erase(std::unique(found.members.begin(), found.members.end()), found.members.end());
  }
  add_notes(view, answer);
  answer.sentence = Sentence(name, view, founds).write();
  const std::string name_space = members.empty() ? std::string() : members.front().record.name_space;
  const std::string argument = !is_dns_subdomain(name)
                                   ? std::string()
                                   : std::string(name) + (name_space.empty() ? "" : " -n " + name_space);
  for (Difference& found : founds) {
    Subject& subject = found.finding.subject;
    subject.kind = "Job";
    subject.name_space = name_space;
    subject.name = name;
    const PodRecord& first =
        found.members.empty() ? members.front().record : view.record(found.members.front());
    if (found.finding.code == Code::PodFailed && first.has_log) {
      found.finding.remedy =
          "`nccl-env verify job/NAME` reads the logs of all ranks; `kubectl describe pod NAME` tells of one.";
    }
    found.finding.remedy = with_names(remedy_of(found.finding), first.argument(), argument);
    for (const std::size_t rank : found.members) {
      answer.ranks[rank].odd |= found.finding.severity != Severity::Info;
      subject.parts.push_back(answer.ranks[rank].name);
    }
    answer.findings.push_back(std::move(found.finding));
  }
  return answer;
}

namespace {

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
  OrderedJson json = OrderedJson::object();
  json["rank"] = rank.name;
  json["pod"] = record.name;
  json["node"] = text_or_null(record.node);
  json["phase"] = text_or_null(record.phase);
  json["state"] = rank.missed ? to_string(PodState::MissedAtAdmission) : to_string(member.answer.state);
  json["reason"] = member.answer.reason ? OrderedJson(to_string(*member.answer.reason)) : OrderedJson();
  json["compared"] = rank.compared;
  json["policy"] = record.status ? OrderedJson(record.status->policy) : OrderedJson();
  json["generation"] = record.status ? OrderedJson(record.status->generation) : OrderedJson();
  json["table"] = record.bound ? text_or_null(record.bound->table) : OrderedJson();
  json["hcas"] = rank.hcas;
  json["gidIndex"] = text_or_null(rank.gid_index);
  return json;
}

}  // namespace

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
  OrderedJson json = OrderedJson::object();
  json["namespace"] = title.name_space;
  json["job"] = title.name;
  json["good"] = is_good(answer.findings);
  json["sentence"] = answer.sentence;
  json["ranks"] = OrderedJson::array();
  for (const JobRank& rank : answer.ranks) json["ranks"].push_back(rank_json(rank, members[rank.member]));
  json["findings"] = to_json(answer.findings);
  json["notes"] = answer.notes;
  json["leftOut"] = title.unread;
  return json;
}

}  // namespace nccl_env
