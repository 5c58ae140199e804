// SPDX-License-Identifier: Apache-2.0
#include "server_url.h"

#include <algorithm>
#include <charconv>

#include "nccl_env/core/text/strict.h"

namespace nccl_env::kube {
namespace {

constexpr std::string_view kScheme = "https://";

// A name or an IPv4 address; or, in brackets, an IPv6 address. The resolver judges the rest.
bool is_host(std::string_view host, bool bracketed) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [&](char c) {
    return is_alphanumeric(c) || c == '.' || (bracketed ? c == ':' : c == '-' || c == '_');
  });
}

bool is_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("/-._~%:@").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || stop != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Result<ServerUrl> parse_server_url(std::string_view url) {
  const Error bad{"must be https://HOST:PORT, with a path or without"};
  if (!url.starts_with(kScheme)) return bad;
  std::string_view rest = url.substr(kScheme.size());
  ServerUrl parsed;
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) {
    std::string_view path = rest.substr(slash);
    if (!is_path(path)) return bad;
    while (path.ends_with('/')) path.remove_suffix(1);
    parsed.path = path;
    rest = rest.substr(0, slash);
  }
  const bool bracketed = rest.starts_with('[');
  const auto host_end = bracketed ? rest.find(']') : std::min(rest.find(':'), rest.size());
  if (host_end == std::string_view::npos) return bad;
  parsed.host = rest.substr(bracketed ? 1 : 0, host_end - (bracketed ? 1 : 0));
  rest.remove_prefix(host_end + (bracketed ? 1 : 0));
  if (!is_host(parsed.host, bracketed)) return bad;
  if (rest.empty()) return parsed;
  const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return bad;
  parsed.port = *port;
  return parsed;
}

}  // namespace nccl_env::kube
