// SPDX-License-Identifier: Apache-2.0
// The words of this field and of ours: what the page says (docs/start/concepts.md, which `make generate`
// writes from here), and `nccl-env what`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace nccl_env {

struct Term {
  std::string_view words;                                      // "PF, VF": names of one meaning
  std::string_view meaning;                                    // a clause or more, in Markdown
  std::string_view document = "docs/start/concepts.md#words";  // that tells more
};

std::span<const Term> glossary();  // in the order of the page
std::vector<std::string_view> words_in(const Term& term);

}  // namespace nccl_env
