// SPDX-License-Identifier: Apache-2.0
// Any bytes as an HTTP request: read the same however they are cut, and what is accepted has exactly one
// reading, by a second look at the text (docs/reference/webhook.md, "Limits").
#include <algorithm>

#include "fuzz/fuzz.h"
#include "server/request_parser.h"

namespace nccl_env::fuzz::request_fuzz {
namespace {

using net::RequestParser;

constexpr std::size_t kRoom = 64;

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return made;
}

// The lines of an accepted header, without the request line.
void check_header(std::string_view header, const net::RequestHead& head) {
  std::size_t lengths = 0, codings = 0, hosts = 0;
  require(header.find('\0') == header.npos, "no NUL");
  require(head.target.starts_with('/'), "the target is a path");
  header.remove_prefix(header.find("\r\n") + 2);
  while (header != "\r\n") {
    const std::string_view line = header.substr(0, header.find("\r\n"));
    header.remove_prefix(line.size() + 2);
    require(line.find('\r') == line.npos && line.find('\n') == line.npos, "no bare CR or LF");
    const std::string name = lower(line.substr(0, line.find(':')));
    require(!name.empty() && name.find_first_of(" \t") == name.npos, "no blank in or before a name");
    lengths += name == "content-length" ? 1 : 0;
    codings += name == "transfer-encoding" ? 1 : 0;
    hosts += name == "host" ? 1 : 0;
  }
  require(lengths + codings <= 1, "one length, said once");
  require(hosts == 1 || (head.http10 && hosts == 0), "one host");
  require(head.chunked == (codings == 1) && (lengths == 1 || head.content_length == 0),
          "the length that is said");
}

struct Chunks {
  std::string body;
  std::size_t used = 0;
  bool complete = false, refused = false;
};

// As a connection does: what was not taken is given again, with what came since.
Chunks read_chunks(std::string_view header, std::string_view text, std::size_t step) {
  RequestParser parser;
  net::RequestHead head;
  (void)parser.parse_header(header, head);
  Chunks read;
  for (std::size_t came = std::min(step, text.size());; came = std::min(came + step, text.size())) {
    const auto progress = parser.parse_chunks(text.substr(read.used, came - read.used), read.body, kRoom);
    read.used += progress.used;
    read.complete = progress.complete;
    read.refused = progress.refusal.has_value();
    if (read.complete || read.refused || came == text.size()) return read;
  }
}

}  // namespace

FUZZ_TARGET(request) {
  const std::size_t step = take_byte(input) + 1U;
  const net::HeaderEnd end = net::find_header_end(input, 0);
  net::HeaderEnd stepwise;
  for (std::size_t searched = 0, came = 0;
       came < input.size() && stepwise.length == 0 && !stepwise.malformed;) {
    searched = came;
    came = std::min(came + step, input.size());
    stepwise = net::find_header_end(input.substr(0, came), searched);
  }
  require(end.length == stepwise.length && end.malformed == stepwise.malformed,
          "cuts do not move the header's end");
  if (end.length == 0) return;
  const std::string_view header = input.substr(0, end.length);
  require(header.ends_with("\r\n\r\n") && header.find("\r\n\r\n") == header.size() - 4,
          "the first empty line");

  RequestParser parser;
  net::RequestHead head;
  if (const auto refusal = parser.parse_header(header, head))
    return require(refusal->status >= 400, "an error");
  check_header(header, head);
  if (!head.chunked) return;
  const std::string_view rest = input.substr(end.length);
  const Chunks whole = read_chunks(header, rest, rest.size() + 1);
  const Chunks cut = read_chunks(header, rest, step);
  require(whole.body.size() <= kRoom && cut.body.size() <= kRoom, "no more than there is room for");
  require(whole.complete == cut.complete && whole.refused == cut.refused, "cuts do not change the outcome");
  require(!whole.complete || (whole.body == cut.body && whole.used == cut.used), "nor the body");
}

}  // namespace nccl_env::fuzz::request_fuzz
