// SPDX-License-Identifier: Apache-2.0
// Text from outside as it may stand in a message: in quotes, control characters escaped, at most 64
// bytes of it (a message goes to logs and terminals).
//
//   text of others --> [ strict ]: is it a name, a number?  --> a typed value
//                  --> [ glob ], [ spelling ]: which known name is meant?
//                  --> [ json_document ] --> a tree --> [ json_member ]: lenient look-ups
//                  --> [ quote ] --> a message
//   typed values   --> [ columns ], [ join ], [ timestamp ] --> text for people
//
// Functions alone: nothing here has a state, and each result owns its text.
#pragma once

#include <string>
#include <string_view>

namespace nccl_env {

std::string in_quotes(std::string_view text);

}  // namespace nccl_env
