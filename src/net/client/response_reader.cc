// SPDX-License-Identifier: Apache-2.0
#include "client/response_reader.h"

#include <algorithm>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace nccl_env::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::beast::error_code;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kStatusEnd = 12;     // "HTTP/1.1 200"
constexpr std::size_t kMaxFraming = 4096;  // nobody sends chunk extensions or trailers
// "0\r\n\r\n", the shortest last chunk: once it has seen one begin, Beast asserts that it gets all of it.
constexpr std::size_t kLastChunk = 5;

Error malformed(std::string_view what) {
  return {"the answer is not HTTP/1.1: " + std::string(what)};
}

}  // namespace

class ResponseReader::Beast : public http::basic_parser<false> {
 public:
  Beast() {
    header_limit(2 * kMaxResponseHeader);  // parse_head() bounds it
    body_limit(boost::none);               // the caller bounds it
    eager(false);
  }

  std::string* body = nullptr;
  int status = 0;

  // True if the next bytes are body, not framing.
  [[nodiscard]] bool in_body() const { return is_header_done() && (!chunked() || left_in_chunk_ > 0); }
  [[nodiscard]] bool persists() const { return keep_alive() && !http10_; }

 private:
  void on_response_impl(int code, beast::string_view, int version, error_code& ec) override {
    status = code;
    http10_ = version == 10;
    if (code < 100 || code > 599 || code == 101) ec = http::error::bad_status;
  }

  // Refuses some fields that Beast accepts: lists of equal lengths, and any coding other than chunked alone.
  void on_field_impl(http::field name, beast::string_view, beast::string_view value,
                     error_code& ec) override {
    if (in_trailers_) return;
    if (name == http::field::content_length) {
      if (++content_lengths_ > 1 || value.find(',') != value.npos) ec = http::error::multiple_content_length;
    } else if (name == http::field::transfer_encoding) {
      if (!beast::iequals(value, "chunked")) ec = http::error::bad_transfer_encoding;
    } else if (name == http::field::content_encoding) {
      if (!beast::iequals(value, "identity")) ec = http::error::bad_transfer_encoding;
    }
  }

  void on_header_impl(error_code&) override { in_trailers_ = true; }

  std::size_t on_body_impl(beast::string_view text, error_code&) override {
    body->append(text.data(), text.size());
    return text.size();
  }

  void on_chunk_header_impl(std::uint64_t size, beast::string_view, error_code&) override {
    left_in_chunk_ = size;
  }

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view text, error_code&) override {
    body->append(text.data(), text.size());
    left_in_chunk_ -= text.size();
    return text.size();
  }

  void on_request_impl(http::verb, beast::string_view, beast::string_view, int, error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  bool http10_ = false, in_trailers_ = false;
  int content_lengths_ = 0;
  std::uint64_t left_in_chunk_ = 0;
};

ResponseReader::ResponseReader() : beast_(std::make_unique<Beast>()) {}
ResponseReader::~ResponseReader() = default;

void ResponseReader::reset() {
  beast_ = std::make_unique<Beast>();
  pending_.clear();
  searched_ = 0;
}

Result<std::size_t> ResponseReader::feed(std::string_view bytes, std::string& body) {
  const std::size_t before = pending_.size();
  if (before > 0) pending_.append(bytes);
  const std::string_view all = before > 0 ? std::string_view(pending_) : bytes;
  const auto used = parse(all, body);
  if (!used) return used.error();
  if (complete()) return *used - before;
  if (before > 0) {
    pending_.erase(0, *used);
  } else {
    pending_.assign(bytes.substr(*used));
  }
  return bytes.size();
}

Result<std::size_t> ResponseReader::parse(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (used < bytes.size() && !complete()) {
    const std::string_view rest = bytes.substr(used);
    const auto step = has_head() ? parse_body(rest, body) : parse_head(rest);
    if (!step) return step.error();
    if (*step == 0) break;
    used += *step;
  }
  return used;
}

// Gives Beast whole headers only, so that it does not matter in which pieces a header comes.
Result<std::size_t> ResponseReader::parse_head(std::string_view bytes) {
  const std::size_t end = bytes.find(kHeadEnd, searched_);
  if (std::min(end, bytes.size()) > kMaxResponseHeader) return malformed("its header is larger than 64 KiB");
  searched_ = end == bytes.npos ? bytes.size() - std::min(bytes.size(), kHeadEnd.size() - 1) : 0;
  if (end == bytes.npos) return std::size_t{0};
  std::string head(bytes.substr(0, end + kHeadEnd.size()));
  if (head.find("\n ") != head.npos || head.find("\n\t") != head.npos) return malformed("a folded line");
  // Some servers that send no reason also omit the space before it, which Beast requires.
  if (head.find('\r') == kStatusEnd) head.insert(kStatusEnd, " ");
  error_code ec;
  beast_->put(boost::asio::buffer(head), ec);
  if (ec) return malformed(ec.message());
  if (beast_->status < 200) beast_ = std::make_unique<Beast>();
  return end + kHeadEnd.size();
}

Result<std::size_t> ResponseReader::parse_body(std::string_view bytes, std::string& body) {
  beast_->body = &body;
  const bool framing = !beast_->in_body();
  if (framing && bytes.front() == '0' && bytes.size() < kLastChunk) return std::size_t{0};
  error_code ec;
  const std::size_t used = beast_->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (ec && ec != http::error::need_more) return malformed(ec.message());
  if (framing && (ec ? bytes.size() : used) > kMaxFraming) return malformed("what stands around its chunks");
  return used;
}

Status ResponseReader::end() {
  error_code ec;
  if (has_head() && !complete()) beast_->put_eof(ec);
  if (!ec && complete()) return done();
  return Error{has_head() ? "the connection ended within the answer"
                          : "the connection ended without an answer"};
}

bool ResponseReader::has_head() const {
  return beast_->is_header_done();
}

bool ResponseReader::complete() const {
  return beast_->is_done();
}

int ResponseReader::status() const {
  return beast_->status;
}

bool ResponseReader::keep_alive() const {
  return has_head() && beast_->persists();
}

}  // namespace nccl_env::net
