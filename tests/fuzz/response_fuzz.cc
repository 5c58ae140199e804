// SPDX-License-Identifier: Apache-2.0
// The first byte says how the answer is cut into reads: that must make no difference.
#include "client/response_reader.h"
#include "fuzz/fuzz.h"

namespace nccl_env::fuzz::response_fuzz {
namespace {

struct Outcome {
  bool failed = false, complete = false;
  int status = 0;
  std::string body;
  std::size_t used = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view text, std::size_t step) {
  net::ResponseReader reader;
  Outcome out;
  while (out.used < text.size() && !reader.complete()) {
    const std::string_view part = text.substr(out.used, step);
    const auto used = reader.feed(part, out.body);
    if (!used) return {true, false, 0, {}, 0};
    require(*used == part.size() || reader.complete(), "all is used until the answer is complete");
    out.used += *used;
  }
  out.complete = reader.complete();
  out.status = reader.has_head() ? reader.status() : 0;
  require(!reader.has_head() || (out.status >= 200 && out.status < 600), "a status is in range");
  require(out.body.size() <= text.size(), "a body comes from the input");
  return out;
}

}  // namespace

FUZZ_TARGET(response) {
  const std::size_t step = 1 + take_byte(input);
  require(read(input, step) == read(input, input.size() + 1), "however it is cut");
}

}  // namespace nccl_env::fuzz::response_fuzz
