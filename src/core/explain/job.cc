// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/job.h"

#include <algorithm>
#include <array>

#include "explain/job_checks.h"
#include "explain/job_ranks.h"

namespace nccl_env {
namespace {

constexpr std::array<std::string_view, 11> kNames{
    "MissedAtAdmission", "MissedAtBinding",   "HeldBack",      "ValuesDiffer", "MissingRail",    "OddNode",
    "NodeValuesDiffer",  "ChangedSinceBound", "PolicyDiffers", "FormDiffers",  "GidIndexDiffers"};
static_assert(kNames.size() == static_cast<std::size_t>(JobCheck::GidIndexDiffers) + 1);

// What a sentence names; the table has them all.
constexpr std::size_t kNamedRanks = 3;

std::string with_node(const JobRank& rank, const PodRecord& record) {
  return "rank " + rank.name + (record.node.empty() ? "" : " on node " + record.node);
}

class Sentence {
 public:
  Sentence(std::string_view name, const job::View& view, const std::vector<JobFinding>& findings)
      : name_(name), view_(view), clauses_(view.ranks.size()) {
    for (const JobFinding& finding : findings) {
      if (finding.severity == Severity::Info) continue;
      for (const std::size_t rank : finding.ranks) add_clause(finding.evidence, clauses_[rank]);
    }
  }

  [[nodiscard]] std::string write() const {
    std::size_t compared = 0;
    for (const JobRank& rank : view_.ranks) compared += rank.compared ? 1 : 0;
    if (compared == 0) {
      return "No pod of job " + name_ +
             " was given anything by nccl-env: `nccl-env explain pod/NAME` says why.";
    }
    std::vector<std::size_t> odd;
    for (std::size_t rank = 0; rank < view_.ranks.size(); ++rank) {
      if (!clauses_[rank].empty()) odd.push_back(rank);
    }
    if (odd.empty()) return healthy(compared);
    std::string text = count(odd.size()) + " of " + count(compared) + (compared == 1 ? " rank" : " ranks") +
                       " of job " + name_ + (odd.size() == 1 ? " needs" : " need") + " attention: ";
    for (std::size_t i = 0; i < std::min(odd.size(), kNamedRanks); ++i) {
      text +=
          (i > 0 ? "; " : "") + with_node(view_.ranks[odd[i]], view_.record(odd[i])) + " " + clauses_[odd[i]];
    }
    if (odd.size() > kNamedRanks) text += "; and " + count(odd.size() - kNamedRanks) + " more";
    return text + ".";
  }

 private:
  static std::string count(std::size_t number) { return std::to_string(number); }

  [[nodiscard]] std::string healthy(std::size_t compared) const {
    if (compared == 1) return "The one rank of job " + name_ + " has its values.";
    return "All " + count(compared) + " ranks of job " + name_ +
           " have their values, and agree where they have to.";
  }

  // "has 7 HCAs …, and was …"
  static void add_clause(std::string clause, std::string& into) {
    if (clause.ends_with('.')) clause.pop_back();
    into += (into.empty() ? "" : ", and ") + clause;
  }

  const std::string name_;
  const job::View& view_;
  std::vector<std::string> clauses_;  // by rank
};

void add_notes(const job::View& view, JobAnswer& into) {
  std::size_t waiting = 0, finished = 0, outside = 0;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const PodRecord& record = view.record(rank);
    const bool ended = record.phase == "Succeeded" || record.phase == "Failed";
    if (view.ranks[rank].compared) {
      waiting += record.node.empty() ? 1 : 0;
    } else {
      finished += ended ? 1 : 0;
      outside += ended ? 0 : 1;
    }
  }
  const auto note = [&](std::size_t pods, const std::string& one, const std::string& many) {
    if (pods > 0) into.notes.push_back(pods == 1 ? "1 pod " + one : std::to_string(pods) + " pods " + many);
  };
  note(waiting, "has no node yet.", "have no node yet.");
  note(finished, "has finished while others have not, and is not compared.",
       "have finished while others have not, and are not compared.");
  note(outside, "was given nothing, and is not compared.", "were given nothing, and are not compared.");
}

}  // namespace

std::string_view to_string(JobCheck check) {
  return kNames[static_cast<std::size_t>(check)];
}

JobAnswer answer_job(std::string_view name, std::span<const JobMember> members) {
  JobAnswer answer;
  answer.ranks = make_ranks(members);
  const job::View view{members, answer.ranks};
  job::check_pods(view, answer.findings);
  job::check_policy(view, answer.findings);
  job::check_form(view, answer.findings);
  job::check_values(view, answer.findings);
  job::check_rails(view, answer.findings);
  job::check_nodes(view, answer.findings);
  std::stable_sort(
      answer.findings.begin(), answer.findings.end(),
      [](const JobFinding& left, const JobFinding& right) { return left.severity < right.severity; });
  for (JobFinding& finding : answer.findings) std::sort(finding.ranks.begin(), finding.ranks.end());
  add_notes(view, answer);
  answer.sentence = Sentence(name, view, answer.findings).write();
  return answer;
}

bool is_good(const JobAnswer& answer) {
  return std::all_of(answer.findings.begin(), answer.findings.end(),
                     [](const JobFinding& finding) { return finding.severity == Severity::Info; });
}

}  // namespace nccl_env
