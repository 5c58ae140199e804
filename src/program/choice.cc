// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/choice.h"

#include <algorithm>
#include <string_view>

#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"

namespace nccl_env::program {

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  const std::size_t edits = letters > 4 ? 2 : 1;  // in a short word two make another word
  const std::string_view found =
      nearest(word, std::vector<std::string_view>(known.begin(), known.end()), edits);
  if (!found.empty()) return ": do you mean " + std::string(found) + "?";
  const auto swapped = std::ranges::find_if(known, [&](const std::string& name) {  // "shwo"
    return name.size() == word.size() && std::is_permutation(name.begin(), name.end(), word.begin());
  });
  return swapped == known.end() ? std::string() : ": do you mean " + *swapped + "?";
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string all = "{" + join(words, ",") + "}";
  const auto check = [all, words = std::move(words)](const std::string& word) {
    const bool known = std::ranges::find(words, word) != words.end();
    return known ? std::string() : word + " not in " + all + suggestion(word, words);
  };
  return {check, all};
}

}  // namespace nccl_env::program
