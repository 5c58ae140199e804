// SPDX-License-Identifier: Apache-2.0
// ResponseReader: the framing of HTTP/1.1 responses (RFC 9112), out of bytes as they come. No sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nccl_env/result.h"

namespace nccl_env::net {

constexpr std::size_t kMaxResponseHeader = 64u << 10;  // API servers send about 1 KiB, with warnings more

// One response at a time. Interim responses (1xx) are skipped. An error is final.
class ResponseReader {
 public:
  // Forgets the response before. Bytes that feed() did not use must be given again.
  void reset();

  // Uses a prefix of `bytes`, appending what it holds of the body to `body`; returns how many it used, which
  // is all of them unless the response is complete.
  Result<std::size_t> feed(std::string_view bytes, std::string& body);
  // The connection ended: completes a response that ends with it, fails in any other.
  Status end();

  [[nodiscard]] bool has_head() const { return state_ > State::Head; }
  [[nodiscard]] bool complete() const { return state_ == State::Complete; }
  [[nodiscard]] int status() const { return status_; }  // once has_head()
  // Once complete(): whether the connection can carry another request.
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }

 private:
  enum class State {
    Head,
    Sized,
    UntilClose,
    ChunkSize,
    ChunkExtension,
    ChunkSizeEnd,
    ChunkData,
    ChunkDataEnd,
    Trailer,
    Complete
  };

  Result<std::size_t> feed_head(std::string_view bytes);
  Status read_head();
  Status read_status_line(std::string_view line);
  Status read_field(std::string_view line);
  Result<std::size_t> feed_chunks(std::string_view bytes, std::string& body);
  Status feed_framing(char byte);
  Status chunk_size_digit(char byte);

  State state_ = State::Head;
  std::string head_;
  int status_ = 0;
  bool keep_alive_ = true, chunked_ = false, sized_ = false;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  int digits_ = 0;          // of the chunk size
  std::size_t line_ = 0;    // bytes of the extension or trailer line
  std::size_t trailers_ = 0;
};

}  // namespace nccl_env::net
