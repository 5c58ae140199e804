// SPDX-License-Identifier: Apache-2.0
#include "server/request_parser.h"

#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <limits>

namespace nccl_env::net {
namespace {

// "0\r\n\r\n": what every chunked body ends with.
constexpr std::size_t kShortestEnd = 5;

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::beast::error_code;

// A line that continues the one before it (obs-fold).
bool has_folded_line(std::string_view header) {
  return header.find("\n ") != std::string_view::npos || header.find("\n\t") != std::string_view::npos;
}

Refusal refusal_of(error_code ec) {
  if (ec == http::error::bad_version) return {505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  if (ec == http::error::body_limit || ec == http::error::buffer_overflow)
    return {413, "the body is too large"};
  if (ec == http::error::bad_content_length || ec == http::error::multiple_content_length) {
    return {400, "bad Content-Length"};
  }
  if (ec == http::error::bad_transfer_encoding) return {400, "bad Transfer-Encoding"};
  if (ec == http::error::bad_chunk || ec == http::error::bad_chunk_extension) return {400, "bad chunk"};
  return {400, "malformed HTTP request"};
}

}  // namespace

class RequestParser::Beast : public http::basic_parser<true> {
 public:
  explicit Beast(RequestHead& head) : head_(&head) {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // the caller bounds it
    body_limit(boost::none);                                  // and the body
    eager(false);
  }

  std::optional<Refusal> refusal;  // by this class, not by Beast
  std::string* body = nullptr;
  std::size_t room = 0;

  void finish_head() {
    if (content_lengths_ > 1) refusal = {400, "Content-Length twice"};
    if (transfer_encodings_ > 0 && !chunked())
      refusal = {501, "the only transfer coding known here is chunked"};
    if (transfer_encodings_ > 1 || (transfer_encodings_ > 0 && (content_lengths_ > 0 || head_->http10))) {
      refusal = {400, "bad Transfer-Encoding"};
    }
    if (hosts_ > 1 || (hosts_ == 0 && !head_->http10)) refusal = {400, "exactly one Host header is needed"};
    if (head_->target.empty() || head_->target[0] != '/') refusal = {400, "the target must be a path"};
    if (chunked()) head_->chunked = true;
    head_->keep_alive = keep_alive();
    head_ = nullptr;  // later fields are trailers
  }

 private:
  void on_request_impl(http::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    head_->method.assign(method.data(), method.size());
    head_->target.assign(target.data(), target.size());
    head_->http10 = version == 10;
  }

  void on_field_impl(http::field name, beast::string_view, beast::string_view value,
                     error_code& ec) override {
    if (head_ == nullptr) return;
    switch (name) {
      case http::field::content_length:
        return on_content_length(value, ec);
      case http::field::transfer_encoding:
        ++transfer_encodings_;
        if (!beast::iequals(value, "chunked"))
          refusal = {501, "the only transfer coding known here is chunked"};
        return;
      case http::field::host:
        ++hosts_;
        return;
      case http::field::content_type:
        head_->content_type.assign(value.data(), value.size());
        return;
      case http::field::content_encoding:
        if (!beast::iequals(value, "identity")) refusal = {415, "no content coding is known here"};
        return;
      case http::field::expect:
        if (beast::iequals(value, "100-continue")) {
          head_->expect_continue = true;
        } else {
          refusal = {417, "the only expectation known here is 100-continue"};
        }
        return;
      default:
        return;
    }
  }

  // Digits only: Beast would take a list of equal numbers.
  void on_content_length(beast::string_view value, error_code& ec) {
    ++content_lengths_;
    if (value.empty() || value.size() > 19 || value.find_first_not_of("0123456789") != value.npos) {
      ec = http::error::bad_content_length;
      return;
    }
    head_->content_length = 0;
    for (const char digit : value) {
      head_->content_length = head_->content_length * 10 + static_cast<std::uint64_t>(digit - '0');
    }
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view chunk, error_code& ec) override {
    if (chunk.size() > room - body->size()) {
      ec = http::error::body_limit;
      return 0;
    }
    body->append(chunk.data(), chunk.size());
    return chunk.size();
  }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view, error_code& ec) override {
    if (size > room - body->size()) ec = http::error::body_limit;
  }

  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view text, error_code&) override { return text.size(); }
  void on_finish_impl(error_code&) override {}

  RequestHead* head_;
  int content_lengths_ = 0, transfer_encodings_ = 0, hosts_ = 0;
};

HeaderEnd find_header_end(std::string_view bytes, std::size_t searched) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (std::size_t at = bytes.find('\n', searched); at != bytes.npos; at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return {0, true};
    if (at + 1 >= kEnd.size() && bytes.substr(at + 1 - kEnd.size(), kEnd.size()) == kEnd)
      return {at + 1, false};
  }
  return {};
}

RequestParser::RequestParser() = default;
RequestParser::~RequestParser() = default;

std::optional<Refusal> RequestParser::parse_header(std::string_view header, RequestHead& head) {
  head = RequestHead{};
  if (has_folded_line(header)) return Refusal{400, "malformed HTTP request"};
  beast_ = std::make_unique<Beast>(head);
  error_code ec;
  const std::size_t used = beast_->put(boost::asio::buffer(header.data(), header.size()), ec);
  if (ec) return refusal_of(ec);
  if (used != header.size() || !beast_->is_header_done()) return Refusal{400, "malformed HTTP request"};
  beast_->finish_head();
  return beast_->refusal;
}

RequestParser::Progress RequestParser::parse_chunks(std::string_view bytes, std::string& body,
                                                    std::size_t room) {
  Progress progress;
  beast_->body = &body;
  beast_->room = room;
  // The end takes at least this many bytes, and Beast asserts that it gets the end in one piece.
  while (bytes.size() - progress.used >= kShortestEnd && !beast_->is_done()) {
    const std::string_view rest = bytes.substr(progress.used);
    error_code ec;
    const std::size_t used = beast_->put(boost::asio::buffer(rest.data(), rest.size()), ec);
    progress.used += used;
    if (ec == http::error::need_more) break;
    if (ec) {
      progress.refusal = refusal_of(ec);
      break;
    }
  }
  progress.complete = beast_->is_done();
  return progress;
}

}  // namespace nccl_env::net
