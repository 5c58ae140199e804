// SPDX-License-Identifier: Apache-2.0
// The collector's log: a line of JSON for each thing that happens, as soon as it is known.
//
//   {"test":{"expected":16,"rounds":4}}                                    first
//   {"member":{"place":3,"node":"gpu-3","rails":[{"hca":"mlx5_0",…}]}}     when it came
//   {"pair":{"from":0,"to":3,"by":"network","links":[{"from":0,"to":0}]}}  when it was tried
//   {"round":1}   {"left":3}   {"end":{}}                                  a round is over, a member went,
//   all is over
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/proof/proof.h"
#include "nccl_env/result.h"

namespace nccl_env {

// Lines without their end.
std::string test_line(int expected, int rounds);
std::string member_line(const ProofMember& member);
std::string pair_line(const ProofPair& pair);
std::string round_line(int round);  // from 1
std::string left_line(int place);
std::string end_line();

// Adds what a line says. An error: it is not a line of the journal, or contradicts earlier ones (a member
// that is there already, a pair of members that never came); then `into` is unchanged. Lines of later
// releases, whose key is not known, say nothing.
Status read_journal_line(std::string_view line, Proof& into);

}  // namespace nccl_env
