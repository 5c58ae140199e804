// SPDX-License-Identifier: Apache-2.0
// Plans a test: pairs of members in rounds, and pairs of their rails.
#pragma once

#include <utility>
#include <vector>

#include "nccl_env/core/proof/proof.h"

namespace nccl_env {

using ProofRound = std::vector<std::pair<int, int>>;  // pairs of places, the lower one first

// Rounds of n members: in round k each i with i + 2^k, so that each is tried with 2 log2 n others, near and
// far; with `all` each with each, in rounds in which every member has one peer.
std::vector<ProofRound> proof_rounds(int members, bool all);

// Puts rails of two members together: by networks, where each rail has one of its own and the peer has the
// same ones; else by names, where all are the same; else by places. With `cross` each with each, at most
// kMaxProofLinks. Rails of unlike link layers, and those that failed by themselves, are not tried.
ProofPair pair_up(const ProofMember& from, const ProofMember& to, bool cross);

}  // namespace nccl_env
