// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/job_progress.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"

namespace nccl_env {

bool is_sample(std::string_view line) {
  constexpr std::string_view kKeys[] = {
      "\"text\":", "\"prompt\":", "\"content\":", "\"messages\":", "\"question\":", "\"answer\":"};
  return std::ranges::any_of(kKeys, [&](std::string_view key) { return line.find(key) != line.npos; });
}

bool shows_work(std::string_view line) {
  constexpr std::size_t kBetween = 4;  // characters between the word and its number
  const auto behind = text_behind(line, "loss");
  return behind && behind->substr(0, kBetween).find_first_of("0123456789") != behind->npos;
}

std::string_view taken_back_by(std::string_view line) {
  struct TakenBack {
    std::string_view words, failed;
  };
  constexpr TakenBack kAll[] = {{"Thread is unstuck!", "may be stuck"},
                                {"Successfully assigned ", "nodes are available"},
                                {"Application startup complete", "curl: (7)"}};
  const auto row =
      std::ranges::find_if(kAll, [&](const TakenBack& each) { return line.find(each.words) != line.npos; });
  return row == std::end(kAll) ? std::string_view() : row->failed;
}

}  // namespace nccl_env
