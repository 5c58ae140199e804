// SPDX-License-Identifier: Apache-2.0
#include "client/response_reader.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace nccl_env::net {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMaxFramingLine = 4096;  // nobody sends chunk extensions or trailers

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// True if the comma-separated list holds the word.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (same_word(trimmed(list.substr(0, comma)), word)) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Error malformed(std::string_view what) {
  return {"the answer is not HTTP/1.1: " + std::string(what)};
}

}  // namespace

void ResponseReader::reset() {
  *this = ResponseReader();
}

Result<std::size_t> ResponseReader::feed(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (used < bytes.size() && !complete()) {
    const std::string_view rest = bytes.substr(used);
    Result<std::size_t> step = std::size_t{0};
    if (state_ == State::Head) {
      step = feed_head(rest);
    } else if (state_ == State::UntilClose) {
      body.append(rest);
      step = rest.size();
    } else if (state_ == State::Sized) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size()));
      body.append(rest.substr(0, n));
      left_ -= n;
      if (left_ == 0) state_ = State::Complete;
      step = n;
    } else {
      step = feed_chunks(rest, body);
    }
    if (!step) return step.error();
    used += *step;
  }
  return used;
}

Status ResponseReader::end() {
  if (state_ == State::UntilClose) state_ = State::Complete;
  if (complete()) return done();
  return Error{has_head() ? "the connection ended within the answer"
                          : "the connection ended without an answer"};
}

Result<std::size_t> ResponseReader::feed_head(std::string_view bytes) {
  const std::size_t before = head_.size();
  head_.append(bytes);
  const auto end = head_.find(kHeadEnd, before < kHeadEnd.size() ? 0 : before - kHeadEnd.size());
  if (end == std::string::npos) {
    if (head_.size() > kMaxResponseHeader) return malformed("its header is larger than 64 KiB");
    return bytes.size();
  }
  head_.resize(end + 2);  // each line with its end
  const std::size_t used = end + kHeadEnd.size() - before;
  if (const Status read = read_head(); !read) return read.error();
  head_.clear();
  return used;
}

Status ResponseReader::read_head() {
  std::string_view rest = head_;
  for (bool first = true; !rest.empty(); first = false) {
    const auto end = rest.find("\r\n");
    const Status line = first ? read_status_line(rest.substr(0, end)) : read_field(rest.substr(0, end));
    if (!line) return line.error();
    rest.remove_prefix(end + 2);
  }
  if (status_ == 101) return malformed("it switches protocols");
  if (status_ < 200) {
    reset();
    return done();
  }
  if (chunked_ && sized_) return malformed("both Content-Length and Transfer-Encoding");
  if (status_ == 204 || status_ == 304 || (sized_ && left_ == 0)) {
    state_ = State::Complete;
  } else if (chunked_) {
    state_ = State::ChunkSize;
  } else if (sized_) {
    state_ = State::Sized;
  } else {
    state_ = State::UntilClose;
    keep_alive_ = false;
  }
  return done();
}

// "HTTP/1.1 200 OK", the reason may be missing.
Status ResponseReader::read_status_line(std::string_view line) {
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || line[8] != ' ') return malformed("its first line");
  if (line[7] != '1') keep_alive_ = false;
  const auto [stop, failed] = std::from_chars(line.data() + 9, line.data() + 12, status_);
  const bool ends = line.size() == 12 || line[12] == ' ';
  if (failed != std::errc() || stop != line.data() + 12 || !ends || status_ < 100 || status_ > 599)
    return malformed("its status");
  return done();
}

Status ResponseReader::read_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || line.find_first_of(" \t") < colon)
    return malformed("a header field");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (same_word(name, "connection")) {
    if (lists(value, "close")) keep_alive_ = false;
  } else if (same_word(name, "transfer-encoding")) {
    if (chunked_ || !same_word(value, "chunked")) return malformed("its transfer coding");
    chunked_ = true;
  } else if (same_word(name, "content-length")) {
    const auto [stop, failed] = std::from_chars(value.data(), value.data() + value.size(), left_);
    if (sized_ || failed != std::errc() || stop != value.data() + value.size() || value.empty())
      return malformed("its length");
    sized_ = true;
  } else if (same_word(name, "content-encoding") && !same_word(value, "identity")) {
    return malformed("a content coding that was not asked for");
  }
  return done();
}

Result<std::size_t> ResponseReader::feed_chunks(std::string_view bytes, std::string& body) {
  if (state_ != State::ChunkData) {
    if (const Status framed = feed_framing(bytes.front()); !framed) return framed.error();
    return std::size_t{1};
  }
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  body.append(bytes.substr(0, n));
  left_ -= n;
  if (left_ == 0) state_ = State::ChunkDataEnd;
  return n;
}

Status ResponseReader::chunk_size_digit(char byte) {
  const int value = hex_value(byte);
  if (value < 0 || ++digits_ > 15) return malformed("a chunk's size");
  left_ = left_ * 16 + static_cast<std::uint64_t>(value);
  return done();
}

// Takes one byte of what stands around the chunks' data.
Status ResponseReader::feed_framing(char byte) {
  switch (state_) {
    case State::ChunkSize:
      if (digits_ == 0 || (byte != '\r' && byte != ';' && byte != ' ')) return chunk_size_digit(byte);
      line_ = 0;
      state_ = byte == '\r' ? State::ChunkSizeEnd : State::ChunkExtension;
      return done();
    case State::ChunkExtension:
      if (++line_ > kMaxFramingLine) return malformed("a chunk's extension");
      if (byte == '\r') state_ = State::ChunkSizeEnd;
      return done();
    case State::ChunkSizeEnd:
      if (byte != '\n') return malformed("a chunk's size");
      digits_ = 0;
      line_ = 0;
      state_ = left_ > 0 ? State::ChunkData : State::Trailer;
      return done();
    case State::ChunkDataEnd:  // CR, then LF
      if (byte != (line_ == 0 ? '\r' : '\n')) return malformed("a chunk's end");
      if (++line_ == 2) {
        line_ = 0;
        state_ = State::ChunkSize;
      }
      return done();
    default:
      break;
  }
  // Trailers are dropped; an empty line ends them.
  if (++trailers_ > kMaxFramingLine) return malformed("its trailers");
  if (byte == '\n') {
    if (line_ == 0) state_ = State::Complete;
    line_ = 0;
  } else if (byte != '\r') {
    ++line_;
  }
  return done();
}

}  // namespace nccl_env::net
