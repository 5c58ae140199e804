// SPDX-License-Identifier: Apache-2.0
// The lines of `nccl-env check`, as text for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace nccl_env::cli {

// NotSeen: it could not be read, so it is neither good nor bad.
enum class CheckState { Good, Note, Warning, Failed, NotSeen };

struct CheckLine {
  std::string_view check;  // a literal, such as "Certificate"
  CheckState state = CheckState::Good;
  std::string evidence;
  std::string remedy{};     // "": nothing to do
  bool is_command = false;  // the remedy is a command; not wrapped, so that it can be copied
};
using CheckLines = std::vector<CheckLine>;

// True if all lines are Good or Note.
bool is_good(const CheckLines& lines);
// In 80 columns, with a last line that counts them.
std::string render_text(const CheckLines& lines);
// Names of the keys as in the doctor's findings; `severity` is also "ok" and "notSeen".
nlohmann::ordered_json to_json(const CheckLines& lines);

}  // namespace nccl_env::cli
