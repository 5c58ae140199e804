// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/line_splitter.h"

namespace nccl_env {
namespace {

bool give(std::string_view line, const std::function<bool(std::string_view)>& on_line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.empty() || on_line(line);
}

}  // namespace

Result<bool> LineSplitter::feed(std::string_view bytes,
                                const std::function<bool(std::string_view)>& on_line) {
  const Error too_long{"a line is larger than " + std::to_string(max_line_) + " bytes"};
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (rest_.size() + end > max_line_) return too_long;
    std::string_view line = bytes.substr(0, end);
    if (!rest_.empty()) line = rest_.append(line);
    if (!give(line, on_line)) return false;
    rest_.clear();
    bytes.remove_prefix(end + 1);
  }
  if (rest_.size() + bytes.size() > max_line_) return too_long;
  rest_.append(bytes);
  return true;
}

}  // namespace nccl_env
