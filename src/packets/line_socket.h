// SPDX-License-Identifier: Apache-2.0
// LineSocket: a TCP connection that never blocks once it is there, and speaks in lines.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/base/line_splitter.h"
#include "nccl_env/core/proof/proof.h"
#include "nccl_env/result.h"

namespace nccl_env::packets {

class LineSocket {
 public:
  explicit LineSocket(Descriptor connected);
  // An error says what failed at the last address that the name has.
  static Result<LineSocket> connect(const std::string& host, int port, std::chrono::seconds each);

  // Returns what serve() waits for.
  [[nodiscard]] pollfd wanted() const;
  // Keeps the line for serve().
  void send(std::string_view line) { unsent_.append(line).push_back('\n'); }
  // Sends what goes at once, and reads what is there. False: the peer is gone, a line is longer than
  // kMaxProofLine, or `on_line` said so.
  bool serve(const std::function<bool(std::string_view)>& on_line);

 private:
  Descriptor descriptor_;
  LineSplitter lines_{kMaxProofLine};
  std::string unsent_;
};

}  // namespace nccl_env::packets
