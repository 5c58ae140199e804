// SPDX-License-Identifier: Apache-2.0
// RequestParser: one request's header, and its body if that is chunked. Beast parses; this class also refuses
// every form that two parsers could read differently (RFC 9112 §2.2, §5.2, §6).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nccl_env::net {

struct RequestHead {
  std::string method;
  std::string target;
  std::string content_type;
  std::uint64_t content_length = 0;
  bool chunked = false;
  bool http10 = false;
  bool keep_alive = true;
  bool expect_continue = false;

  [[nodiscard]] bool has_body() const { return chunked || content_length > 0; }
};

struct Refusal {
  int status;
  std::string_view sentence;  // a literal
};

struct HeaderEnd {
  std::size_t length = 0;  // of the header with its empty line; 0: its end isn't there yet
  bool malformed = false;  // a line feed without its carriage return: this can't become a header
};

// Looks for the end of the header that `bytes` begin with. The first `searched` bytes were looked at before.
HeaderEnd find_header_end(std::string_view bytes, std::size_t searched);

class RequestParser {
 public:
  RequestParser();
  ~RequestParser();

  // `header` is complete, as find_header_end found it. Forgets the request before; fills `head` as far as the
  // header could be read.
  std::optional<Refusal> parse_header(std::string_view header, RequestHead& head);

  struct Progress {
    std::size_t used = 0;   // bytes that were taken; the caller gives the others again, with more
    bool complete = false;  // the body's end was among them
    std::optional<Refusal> refusal;
  };
  // For a chunked body, after parse_header: appends the part in `bytes` to `body`, at most `room` bytes in
  // all (else 413). Trailers are dropped.
  Progress parse_chunks(std::string_view bytes, std::string& body, std::size_t room);

 private:
  class Beast;
  std::unique_ptr<Beast> beast_;
};

}  // namespace nccl_env::net
