// SPDX-License-Identifier: Apache-2.0
// ResponseReader: reads the framing of HTTP/1.1 responses (RFC 9112) from bytes as they come. No sockets.
// Beast parses; this class also refuses forms that Beast accepts but no API server sends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::net {

constexpr std::size_t kMaxResponseHeader = 64u << 10;  // API servers send about 1 KiB, with warnings more

// One response at a time. Interim responses (1xx) are skipped. An error is final.
class ResponseReader {
 public:
  ResponseReader();
  ~ResponseReader();

  // Forgets the response before. Bytes that feed() did not use must be given again.
  void reset();

  // Uses a prefix of `bytes` and appends the part of the body in it to `body`. Returns the number of bytes
  // used: all of them, unless the response is complete.
  Result<std::size_t> feed(std::string_view bytes, std::string& body);
  // To be called when the connection ended: completes a response that ends with the connection; fails within
  // any other.
  Status end();

  [[nodiscard]] bool has_head() const;
  [[nodiscard]] bool complete() const;
  [[nodiscard]] int status() const;  // once has_head()
  // Once complete(): whether the connection can carry another request.
  [[nodiscard]] bool keep_alive() const;

 private:
  class Beast;

  Result<std::size_t> parse(std::string_view bytes, std::string& body);
  Result<std::size_t> parse_head(std::string_view bytes);
  Result<std::size_t> parse_body(std::string_view bytes, std::string& body);

  std::unique_ptr<Beast> beast_;
  std::string pending_;       // part of a header or of a chunk's framing; Beast gets it with the next bytes
  std::size_t searched_ = 0;  // bytes of pending_ already searched for the header's end
};

}  // namespace nccl_env::net
