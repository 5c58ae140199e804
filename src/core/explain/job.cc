// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engines/nccl/ports.h"
#include "explain/job_checks.h"
#include "explain/judgement.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
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

std::string noted(const PodRecord& record, std::string_view key) {
  if (const auto label = record.labels.find(key); label != record.labels.end()) return label->second;
  const auto annotation = record.annotations.find(key);
  return annotation == record.annotations.end() ? std::string() : annotation->second;
}

// Labels whose values, joined, name a rank; the last one has to be there. Sources: the constants of
// kubeflow/training-operator and mpi-operator, sigs.k8s.io/jobset and lws, volcano-sh, kubernetes/kubernetes.
constexpr std::array<std::array<std::string_view, 3>, 8> kRankLabels{{
    {"training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"},
    {"training.kubeflow.org/job-role", "training.kubeflow.org/replica-index"},
    {"jobset.sigs.k8s.io/replicatedjob-name", "jobset.sigs.k8s.io/job-index",
     "batch.kubernetes.io/job-completion-index"},
    {"leaderworkerset.sigs.k8s.io/group-index", "leaderworkerset.sigs.k8s.io/worker-index"},
    {"volcano.sh/task-spec", "volcano.sh/task-index"},
    {"training.kubeflow.org/job-role"},
    {"batch.kubernetes.io/job-completion-index"},
    {"apps.kubernetes.io/pod-index"},
}};

// The names of an exact list, and of one of ours, which is exact on its node. Another list names devices only
// together with a table.
std::vector<std::string> exact_names(const GivenContainer& container) {
  const Value* given = container.find(variable::kIbHca);
  if (!given || !given->value) return {};
  const NcclNameList list = parse_nccl_name_list(*given->value, kNewestNccl, nccl_max_hcas(kNewestNccl));
  const bool exact = list.exact || given->is_from(Source::Node);
  return exact && !list.exclude ? list.names() : std::vector<std::string>();
}

// Returns what every injected pod's main container requests; nothing if none is injected.
std::set<std::string> common_resources(std::span<const AnsweredPod> members) {
  std::optional<std::set<std::string>> common;
  for (const AnsweredPod& member : members) {
    const GivenContainer* container = member.record.main_container();
    if (!container || !container->in_status) continue;
    const std::set<std::string> here(container->resources.begin(), container->resources.end());
    if (!common) {
      common = here;
    } else {
      std::erase_if(*common, [&](const std::string& resource) { return !here.contains(resource); });
    }
  }
  return common.value_or(std::set<std::string>());
}

// True if nothing was injected, nothing says why, and the pod asks for what the injected ones ask for.
bool was_missed(const AnsweredPod& member, const std::set<std::string>& resources) {
  const GivenContainer* container = member.record.main_container();
  if (!container) return false;
  if (member.answer.state == PodState::MissedAtAdmission) return true;
  if (member.answer.state != PodState::Unknown || resources.empty()) return false;
  return std::ranges::all_of(resources, [&](const std::string& resource) {
    return std::ranges::find(container->resources, resource) != container->resources.end();
  });
}

// "worker-3" of Kubeflow, "workers-0-2" of a JobSet, "0-3" of a LeaderWorkerSet, "worker-1" of Volcano, "5"
// of a Job or StatefulSet; the pod's name where its labels do not tell.
std::string rank_name(const PodRecord& record) {
  for (const auto& labels : kRankLabels) {
    std::string name;
    bool all = true;
    for (const std::string_view label : labels) {
      if (label.empty()) continue;
      const std::string part = noted(record, label);
      all = all && !part.empty();
      name += (name.empty() ? "" : "-") + part;
    }
    if (all) return name;
  }
  return record.name;
}

// The part of a rank's labels that other pods of its kind share: "worker"; "" where labels do not tell.
std::string role_of(const PodRecord& record) {
  for (const std::string_view label :
       {"training.kubeflow.org/replica-type", "training.kubeflow.org/job-role",
        "jobset.sigs.k8s.io/replicatedjob-name", "volcano.sh/task-spec", "ray.io/node-type"}) {
    const std::string role = noted(record, label);
    if (!role.empty())
      return role == "master" || role == "Master" ? "worker" : role;  // rank 0 of a PyTorchJob
  }
  return {};
}

// The kinds of pods of which one at least was injected.
std::set<std::string> injected_roles(std::span<const AnsweredPod> members) {
  std::set<std::string> roles;
  for (const AnsweredPod& member : members) {
    const GivenContainer* container = member.record.main_container();
    if (container && container->in_status) roles.insert(role_of(member.record));
  }
  return roles;
}

// True if the pod is of the ranks' kind, asks for devices as they do, and was given nothing.
bool is_without(const AnsweredPod& member, const std::set<std::string>& resources,
                const std::set<std::string>& roles) {
  const GivenContainer* container = member.record.main_container();
  const PodState state = member.answer.state;
  if (!container || (state != PodState::NotInjected && state != PodState::Unknown)) return false;
  if (!roles.contains(role_of(member.record))) return false;
  return std::ranges::any_of(container->resources,
                             [&](const std::string& resource) { return resources.contains(resource); });
}

JobRank make_rank(const AnsweredPod& member, const std::set<std::string>& resources,
                  const std::set<std::string>& roles) {
  JobRank rank;
  rank.name = rank_name(member.record);
  rank.missed = was_missed(member, resources);
  rank.without = !rank.missed && is_without(member, resources, roles);
  const GivenContainer* container = member.record.main_container();
  rank.compared = rank.missed || (container && container->in_status);
  if (!container) return rank;
  for (const std::string& resource : rank.without ? resources : std::set<std::string>()) {
    if (std::ranges::find(container->resources, resource) == container->resources.end())
      rank.lacks.push_back(resource);
  }
  rank.hcas = exact_names(*container);
  const Value* index = container->find(variable::kIbGidIndex);
  if (index && index->value) rank.gid_index = *index->value;
  return rank;
}

bool has_failed(const PodRecord& record) {
  return record.is_finished() && !record.trouble.empty();
}

// All members, in natural order of their names; pods that have finished are compared only if all have.
std::vector<JobRank> make_ranks(std::span<const AnsweredPod> members) {
  const std::set<std::string> resources = common_resources(members), roles = injected_roles(members);
  const bool all_finished = std::ranges::all_of(members, &PodRecord::is_finished, &AnsweredPod::record);
  std::vector<JobRank> ranks;
  struct Attempts {
    int all = 0, failed = 0;
  };
  std::map<std::string, Attempts> attempts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    JobRank rank = make_rank(members[i], resources, roles);
    rank.member = i;
    if (!all_finished && members[i].record.is_finished()) rank.compared = rank.without = false;
    ++attempts[rank.name].all;
    attempts[rank.name].failed += has_failed(members[i].record) ? 1 : 0;
    ranks.push_back(std::move(rank));
  }
  // A rank that was tried again has several pods.
  for (JobRank& rank : ranks) {
    const Attempts& of_rank = attempts[rank.name];
    if (of_rank.all == 1) continue;
    rank.replaced = of_rank.failed < of_rank.all && has_failed(members[rank.member].record);
    rank.name = members[rank.member].record.name;
  }
  std::ranges::sort(ranks, hca_name_less, &JobRank::name);
  return ranks;
}

constexpr std::int64_t kMostRanks = 1'000'000;

// "worker-2" where pods of worker-1 and worker-3 are there, and most numbers between the first and the last;
// "" if there is no gap.
std::string rank_without_pod(std::span<const AnsweredPod> members) {
  std::map<std::string, std::set<std::uint64_t>> numbers_of;
  for (const AnsweredPod& member : members) {
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

// A sentence names so many; the table has them all.
constexpr std::size_t kNamedRanks = 3;
constexpr std::size_t kLongestValue = 60;

std::string with_node(const JobRank& rank, const PodRecord& record) {
  return "rank " + rank.name + (record.node.empty() ? "" : " on node " + record.node);
}

// Names the worst finding, and counts the others.
class Sentence {
 public:
  Sentence(std::string_view name, const job::View& view, const job::Founds& founds)
      : name_(name), view_(view) {
    for (const job::Found& found : founds.all) {
      if (is_meant_choice(found.finding)) off_ = &found.finding;
      if (found.finding.severity == Severity::Info) continue;
      if (!worst_) worst_ = &found;
      ++findings_;
      odd_.insert(found.ranks.begin(), found.ranks.end());
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
    std::string text = count(odd_.size()) + " of " + count_of(all, "rank") + " of job " + name_ +
                       (odd_.size() == 1 ? " needs" : " need") +
                       " attention: " + join_some(worst_->ranks, kNamedRanks, [&](std::size_t rank) {
                         return with_node(view_.ranks[rank], view_.record(rank));
                       });
    const std::string& sentence = worst_->finding.sentence;
    const std::string_view first = std::string_view(sentence).substr(0, sentence.find(' '));
    const bool whole = !std::ranges::all_of(first, [](unsigned char c) { return std::islower(c) != 0; });
    text += (whole ? ": " : worst_->ranks.size() > 1 ? ": each " : " ") + sentence;
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

  static std::string count(std::size_t number) { return std::to_string(number); }

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
    job::RankIndexes waiting;
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
      return count(started) + " of " + count_of(compared, "rank") + " of job " + name_ +
             (started == 1 ? " has its values; " : " have their values, and agree where they have to; ") +
             why + but();
    if (compared == 1) return "The one rank of job " + name_ + " has its values." + but();
    return "All " + count(compared) + " ranks of job " + name_ +
           " have their values, and agree where they have to." + but();
  }

  // Follows a healthy sentence: a choice that may be meant, a rank that is not there, values that no table
  // can check.
  [[nodiscard]] std::string but() const {
    if (off_) return " But " + off_->sentence;
    if (const std::string absent = rank_without_pod(view_.members); !absent.empty())
      return " But there is no pod of rank " + absent + ".";
    if (std::string old = with_old_tables(); !old.empty()) return old;
    if (std::string elsewhere = from_elsewhere(); !elsewhere.empty()) return elsewhere;
    for (const std::string_view name : {variable::kIbHca, variable::kIbGidIndex}) {
      std::size_t own = 0;
      const Value* first = nullptr;
      for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) {
        if (!view_.ranks[rank].compared || !view_.member(rank).answer.node_unseen) continue;
        const Value* value = view_.record(rank).main_container()->find(name);
        if (!value || value->state != State::Users || !value->value) continue;
        if (++own == 1) first = value;
      }
      if (first)
        return " But " + first->name + "=" + cut(*first->value, kLongestValue) + " is the user's own on " +
               count_of(own, "rank") + ", and was not compared with the node's table.";
    }
    return {};
  }

  [[nodiscard]] std::string with_old_tables() const {
    std::set<std::string> nodes;
    for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) {
      const AnsweredPod& member = view_.member(rank);
      if (view_.ranks[rank].compared && member.answer.node_unseen && member.around.table)
        nodes.insert(member.record.node);
    }
    if (nodes.empty()) return {};
    return nodes.size() == 1
               ? " But the table of " + *nodes.begin() + " is too old to tell how it is now."
               : " But the tables of " + count(nodes.size()) + " nodes are too old to tell how they are now.";
  }

  // " But NCCL_ALGO of rank worker-2 is not in its pod, and was not compared." of a value that some ranks
  // alone take from elsewhere; then of envFrom.
  [[nodiscard]] std::string from_elsewhere() const {
    std::map<std::string, job::RankIndexes> unknown;
    job::RankIndexes from_source;
    std::size_t compared = 0;
    for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) {
      if (!view_.ranks[rank].compared || view_.ranks[rank].missed) continue;
      ++compared;
      const GivenContainer& container = *view_.record(rank).main_container();
      if (container.env_from) from_source.push_back(rank);
      for (const Value* value : container.effective()) {
        const Variable* known =
            value->state == State::Users && !value->value ? find_variable(value->name) : nullptr;
        if (known && known->ranks == Ranks::Equal) unknown[value->name].push_back(rank);
      }
    }
    if (!from_source.empty()) unknown["envFrom"] = from_source;
    for (const auto& [name, ranks] : unknown) {
      if (ranks.size() < compared)
        return " But " + name + " of rank " + view_.ranks[ranks.front()].name +
               " is not in the pod's text, and was not compared.";
    }
    return {};
  }

  const std::string name_;
  const job::View& view_;
  const job::Found* worst_ = nullptr;
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

std::vector<std::string> several_jobs(std::span<const AnsweredPod> members) {
  std::vector<std::string> several;
  for (const std::string_view label : kJobLabels) {
    std::set<std::string> names;
    for (const AnsweredPod& member : members) {
      const auto name = member.record.labels.find(label);
      names.insert(name == member.record.labels.end() ? std::string() : name->second);
    }
    if (names.contains({})) continue;
    if (names.size() == 1) return {};
    if (several.empty() || names.size() < several.size()) several.assign(names.begin(), names.end());
  }
  return several;
}

JobAnswer answer_job(std::string_view name, std::span<const AnsweredPod> members) {
  JobAnswer answer;
  answer.ranks = make_ranks(members);
  const job::View view{members, answer.ranks};
  job::Founds founds;
  job::check_pods(view, founds);
  job::check_policy(view, founds);
  job::check_form(view, founds);
  job::check_values(view, founds);
  job::check_rails(view, founds);
  job::check_nodes(view, founds);
  std::ranges::stable_sort(founds.all, {}, [](const job::Found& found) {
    return std::pair(found.finding.severity, found.finding.code);
  });
  for (job::Found& found : founds.all) std::ranges::sort(found.ranks);
  add_notes(view, answer);
  answer.sentence = Sentence(name, view, founds).write();
  for (job::Found& found : founds.all) {
    Subject& subject = found.finding.subject;
    subject.kind = "Job";
    subject.name_space = members.front().record.name_space;
    subject.name = name;
    if (found.finding.code == Code::PodFailed) {
      found.finding.remedy = "`nccl-env verify job/" + std::string(name) +
                             "` reads the logs of all ranks; `kubectl describe pod NAME` tells of one.";
    }
    for (const std::size_t rank : found.ranks) {
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
