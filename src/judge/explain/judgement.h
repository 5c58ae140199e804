// SPDX-License-Identifier: Apache-2.0
// Judges the values that a container has: by what NCCL makes of them on the node, and by themselves. And the
// words of findings that pods, jobs and templates share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/judge/cohort/cohort.h"

namespace nccl_env {

// More names would hide the sentence.
inline constexpr std::size_t kMostNames = 4;

// Takes the findings on one object.
struct FindingSink {
  Subject of;
  std::vector<Finding>& into;

  // `variable`: that it is about, or ""; `remedy`: "" for that of the code.
  void add(Code code, Severity severity, std::string_view variable, std::string sentence,
           std::string_view remedy = {}) const;
};

// Adds a finding for each fault of NCCL's choice with the container's variables, `env`.
void judge_selection(const NcclSelection& with_us, const NcclEnv& env, const FindingSink& told);
// True if a fault of the choice is this variable's.
bool is_about(const NcclSelection& selection, std::string_view variable);

// The row of a port that NCCL uses, and the networks of the port's other usable ones.
struct UsedRow {
  int index = 0;
  std::optional<Cidr> network = {};  // of a usable row
  std::set<Cidr> beside = {};
};
std::map<std::string, UsedRow> used_rows(const NodeFabric& table, const NcclSelection& chosen);  // by HCA

inline constexpr std::string_view kTakesAll = " So NCCL takes all HCAs that it finds";
// Adds NoList for a container that gets no NCCL_IB_HCA, for this reason; `then`: what NCCL takes.
void add_no_list(std::string_view reason, std::string_view detail, std::string_view remedy,
                 std::string_view then, const FindingSink& told);

// Adds UserListShort where a container's own variable turns off the network whose devices the pod has.
void add_users_off(const NcclEnv& own, const FindingSink& told);

// Adds findings for lists, but NCCL_IB_HCA, that name what the node does not have.
void judge_lists(const NodeFabric& seen, const NcclEnv& own, const FindingSink& told);

// For findings on a value that the policy sets for all pods: names the policy's field.
std::string policys_remedy(std::string_view variable);

// Adds what is wrong with a variable, if that is certain without its node: with one of the container's own,
// or with a constant of the policy's.
void judge_setting(std::string_view name, std::string_view value, bool policys, const FindingSink& told);

// The names of a list in NCCL's grammar, and the HCAs of each port that NCCL takes.
std::vector<std::string> names_of_list(std::string_view list);
std::vector<std::string> hcas_of(const NcclSelection& selection);

// The others, each once.
std::vector<std::string> hcas_beyond(const std::vector<std::string>& names, const NcclSelection& selection);

inline constexpr std::string_view kOwnListRemedy =
    "Remove the variable from the container to have the node's list, or name the fabric's HCAs alone.";
// Adds UserListShort if a reader takes fewer devices than the node's list offers, by a list of the user's own
// (`whose`: "NCCL_IB_HCA is the user's own and"); of NCCL also if it takes more.
void add_short(std::string_view variable, const std::string& whose, const std::vector<std::string>& offered,
               const std::vector<std::string>& taken, const FindingSink& told);

// A user's own choice for NCCL that may be meant: a network that is off, a shorter list. It stands in the
// first line, although nothing may be wrong.
bool is_meant_choice(const Finding& finding);
// Finds the first of them; null if there is none.
const Finding* meant_choice(const std::vector<Finding>& findings);

// The worst first; what two containers share stands once.
void sort_findings(std::vector<Finding>& findings);
// Adds rows for the findings other than that of the answer's sentence, each with its remedy; an info, on
// which nothing has to be done, is one row that names its code.
void add_further(const std::vector<Finding>& findings, std::string_view answer, TextColumns& columns);

// The remedy with the pod's name, and the job's if it has one, in place of NAME in its commands.
std::string with_names(std::string_view remedy, std::string_view pod, std::string_view job = {});

// " (NoTable)"; "" for none.
std::string in_brackets(const std::optional<Reason>& reason);

// True if `fewer` has not as many names as `more`, and lacks one of a kind that it has: rail-1 beside rail-0.
bool lacks_kin(const std::vector<std::string>& fewer, const std::vector<std::string>& more);

// The sentence as it follows on "but": "The pod …" -> "the pod …".
std::string continued(std::string sentence);

}  // namespace nccl_env
