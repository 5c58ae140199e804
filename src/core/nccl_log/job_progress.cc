// SPDX-License-Identifier: Apache-2.0
#include "nccl_log/job_progress.h"

#include <algorithm>

#include "nccl_env/core/nccl_log/log_text.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {

bool is_sample(std::string_view line) {
  constexpr std::string_view kKeys[] = {
      "\"text\":", "\"prompt\":", "\"content\":", "\"messages\":", "\"question\":", "\"answer\":"};
  return std::ranges::any_of(kKeys, [&](std::string_view key) { return line.find(key) != line.npos; });
}

bool shows_work(std::string_view line) {
  constexpr std::size_t kBetween = 4;  // characters between the word and its number
  if (const auto behind = text_behind(line, "loss")) {
    const std::size_t digit = behind->substr(0, kBetween).find_first_of("0123456789");
    if (digit != behind->npos) return true;
  }
  for (const std::string_view rate :
       {std::string_view("it/s"), std::string_view("s/it"), std::string_view("tokens/s"),
        std::string_view("samples/s"), std::string_view("images/s"), std::string_view("examples/s")}) {
    const std::size_t at = line.find(rate);
    if (at == line.npos) continue;
    const std::string_view number = trimmed_text(line.substr(0, at));
    if (!number.empty() && is_digit(number.back()) && !number.ends_with(" 0.0")) return true;
  }
  return false;
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
