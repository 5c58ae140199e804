// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/nccl_log/log_kind.h"

namespace nccl_env {
namespace {

using std::string_view;

// Bytes that a kind of file has at `at`, and the command that gives its text.
struct Kind {
  string_view bytes;
  string_view name;
  string_view command;
  std::size_t at = 0;
};
constexpr Kind kKinds[] = {{"\x1f\x8b", "compressed (gzip)", "zcat FILE"},
                           {"\x28\xb5\x2f\xfd", "compressed (zstd)", "zstdcat FILE"},
                           {"\xfd"
                            "7zXZ",
                            "compressed (xz)", "xzcat FILE"},
                           {"BZh", "compressed (bzip2)", "bzcat FILE"},
                           {"PK\x03\x04", "an archive (zip)", "unzip -p FILE"},
                           {"ustar", "an archive (tar)", "tar -xOf FILE", 257},
                           {"\x7f"
                            "ELF",
                            "a program or core file", ""},
                           {"%PDF-", "a PDF", "pdftotext FILE -"}};

}  // namespace

std::string why_no_text(std::string_view head, bool speaks) {
  for (const Kind& kind : kKinds) {
    if (head.size() < kind.at || !head.substr(kind.at).starts_with(kind.bytes)) continue;
    return "is " + std::string(kind.name) +
           (kind.command.empty() ? ", not a log"
                                 : "; give its text: " + std::string(kind.command) + " | nccl-env verify -");
  }
  return speaks || head.find('\0') == head.npos ? ""
                                                : "is binary, not a log; give the text that the job wrote";
}

}  // namespace nccl_env
