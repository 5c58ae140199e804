// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/meant_choice.h"

#include <algorithm>
#include <string>

#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env {

bool is_meant_choice(const Finding& finding) {
  const std::string& of = finding.subject.path;
  return finding.code == Code::UserListShort &&
         (of == variable::kIbDisable || of == variable::kNet || of == variable::kIbHca);
}

const Finding* meant_choice(const std::vector<Finding>& findings) {
  const auto found = std::ranges::find_if(findings, is_meant_choice);
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace nccl_env
