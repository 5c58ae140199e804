// SPDX-License-Identifier: Apache-2.0
// The answer of `nccl-env check`, as text for people and as JSON:
//
//   the cluster --> [ InstalledParts ], [ Preparation ]: what the caller may read
//                                      |
//                                   judge_… --> [ Checked ] of each check --> text, JSON, exit code
//
// A survey owns the objects that it read, and alone asks; what is judged owns its sentences.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/findings/finding.h"

namespace nccl_env::cli {

// Good: the check found nothing wrong. NotSeen: it could not look, which is a warning.
enum class Sight { Good, NotSeen };

struct Judged {
  Judged(Severity severity, std::string sentence, std::string_view remedy = {})
      : finding{{}, severity, {}, std::move(sentence), std::string(remedy)} {}
  Judged(Sight sight, const std::string& sentence)
      : Judged(sight == Sight::Good ? Severity::Info : Severity::Warning,
               (sight == Sight::Good ? "" : "not seen: ") + sentence) {
    good = seen = sight == Sight::Good;
  }

  Finding finding;  // if `good`, its code and sentence say what is well
  bool good = false, seen = true;
};

// A check, and what it found.
struct Checked : Judged {
  template <class... Found>
  Checked(Code code, Found&&... found) : Judged(std::forward<Found>(found)...) {
    finding.code = code;
  }
};
using Checks = std::vector<Checked>;

std::vector<Finding> findings_of(const Checks& checks);  // the worst first
// In 80 columns: a line that counts several, then the worst first. A remedy that is a command is not wrapped.
std::string render_text(const Checks& checks);
// `findings` as in all commands; beside them `ok`, what is well.
nlohmann::ordered_json to_json(const Checks& checks);

}  // namespace nccl_env::cli
