// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log: nothing outside the bounds, a verdict for every value, and printable text. A log that
// is read twice over, or with a logger's prefix before each line, says the same.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "nccl_env/judge/nccl_log/log_print.h"
#include "nccl_env/judge/nccl_log/log_verify.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"

namespace nccl_env::fuzz::nccl_log_fuzz {
namespace {

void read(std::string_view input, NcclLogReader& reader) {
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, std::min(end, NcclLogReader::kMaxLine));
    reader.read_line(line, line.size() < end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
}

std::vector<Value> some_values() {
  return {{"NCCL_IB_HCA", "=mlx5_1,mlx5_2", Source::Node},
          {"NCCL_IB_GID_INDEX", "3", Source::Node},
          {"NCCL_SOCKET_IFNAME", "=eth0", Source::Policy},
          {"NCCL_IB_TIMEOUT", "22", Source::Policy}};
}

}  // namespace

FUZZ_TARGET(nccl_log) {
  NcclLogReader reader;
  read(input, reader);
  const NcclLog& log = reader.log();
  require(log.nccl_lines <= log.lines, "a line counts once");
  require(log.processes <= kMaxProcesses, "processes are bounded");
  require(log.values.size() <= 256 && log.devices.size() <= 256 && log.warnings.size() <= 256 &&
              log.failures.size() <= 256,
          "facts are bounded");
  const auto values = some_values();
  const LogVerification verification = verify_log(log, values);
  require(verification.values.size() == values.size(), "a verdict for every value");
  for (const VerifiedValue& value : verification.values) {
    require(!value.evidence.empty(), "a verdict has its evidence");
    require(value.line <= log.lines, "a line of the log");
  }
  require_shown(render_text(verification, log));
  const std::string json =
      to_json(verification, log).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  require(nlohmann::json::accept(json), "JSON");

  NcclLogReader twice;
  read(input, twice);
  if (!input.empty() && input.back() == '\n') {
    read(input, twice);
    const LogVerification again = verify_log(twice.log(), values);
    require(again.fell_back == verification.fell_back, "the same log again says the same");
    for (std::size_t i = 0; i < values.size(); ++i)
      require(again.values[i].verdict == verification.values[i].verdict, "the same log again says the same");
  }
}

}  // namespace nccl_env::fuzz::nccl_log_fuzz
