// SPDX-License-Identifier: Apache-2.0
// Lines of JSON: what members and their collector say to each other, over one TCP connection a member, and
// the collector's log, as soon as a thing is known.
//
//   member     --> hello: the token of the run, a space, and the member     once; else nothing is read
//   collector  --> LinkWord with `end`, to both ends of a link              prepare it
//   member     --> LinkWord, when it has prepared, connected, written, compared
//   collector  --> the peer's word, once both are there                     do what comes next; not at last
//   collector  --> LinkWord without a link                                  all is over
//
// A word with a step ends the link. The journal, each line with what is new:
//
//   {"expected":16,"rounds":4}                                              first
//   {"members":[{"place":3,"node":"gpu-3","rails":[{"hca":"mlx5_0",…}]}]}   when it came
//   {"pairs":[{"from":0,"to":3,"by":"network","links":[{"from":0,"to":0}]}]}   when it was tried
//   {"roundsDone":1}   {"left":3}   {"ended":true}
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/core/proof/proof.h"
#include "nccl_env/result.h"

namespace nccl_env {

// Writes a LinkWord, a JournalLine or a ProofMember, without the line's end.
template <class Message>
std::string to_line(const Message& message);
// An error names the field.
template <class Message>
Result<Message> read_line(std::string_view line);

// Compares the token in constant time, and reads nothing of a line that has another one.
Result<ProofMember> read_hello(std::string_view line, std::string_view token);

// Adds what a line says. An error: it is not a line of the journal, or contradicts earlier ones (a member
// that is there already, a pair of members that never came); then `into` is unchanged. Lines of later
// releases, whose key is not known, say nothing.
Status read_journal_line(std::string_view line, Proof& into);

}  // namespace nccl_env
