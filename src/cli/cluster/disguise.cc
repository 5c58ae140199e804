// SPDX-License-Identifier: Apache-2.0
#include "cluster/disguise.h"

#include <algorithm>

#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

constexpr std::size_t kMaxWord = 64;  // of an address; longer words are not looked at

constexpr std::string_view kWordLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-";

bool is_everywhere(std::string_view name) {
  return name.empty() || name == "default" || name.starts_with("kube-") || name.starts_with("nccl-env");
}

bool is_link_local(const IpAddress& address) {
  const Gid gid{address.bytes};
  return gid.is_link_local() || gid.is_v4_link_local();
}

// ::, ::1, 0.0.0.0, 127.0.0.1
bool is_of_no_host(const IpAddress& address) {
  return address.is_v4() ? address.bytes[12] == 0 || address.bytes[12] == 127 : address.bytes[0] == 0;
}

// b83f:d203:00b4:f5a2
bool is_guid(std::string_view text) {
  if (text.size() != 19) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separator = i % 5 == 4;
    if (separator ? text[i] != ':' : !is_hex_digit(text[i])) return false;
  }
  return text.find_first_not_of("0:") != text.npos;
}

// Joins what `change` makes of the parts between separators.
template <class Change>
std::string by_parts(std::string_view text, char separator, Change change) {
  std::string made;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    made += change(text.substr(0, end));
    if (end == text.size()) return made;
    made += separator;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string Disguise::counted(const std::string& kind, const std::string& real, Counters& counters) {
  const auto [found, made] = counters.try_emplace(real);
  if (made) found->second = kind + "-" + std::to_string(counters.size());
  return found->second;
}

std::string Disguise::name(const std::string& real) {
  return is_everywhere(real) ? real : counted("name", real, names_);
}

std::optional<std::string> Disguise::address(std::string_view word) {
  if (word.size() > kMaxWord || word.find_first_of(".:") == word.npos) return std::nullopt;
  const auto of = [this](const IpAddress& real) {
    if (is_of_no_host(real)) return format_ip(real);
    return is_link_local(real) ? counted("link-local", format_ip(real), local_addresses_)
                               : counted("address", format_ip(real), addresses_);
  };
  if (const auto cidr = parse_cidr(word)) return of(cidr->address) + "/" + std::to_string(cidr->prefix);
  if (const auto ip = parse_ip(word)) return of(*ip);
  if (is_guid(word)) return counted("guid", std::string(word), guids_);
  return std::nullopt;
}

std::optional<std::string> Disguise::whole(std::string_view word, Words words) {
  if (auto made = address(word)) return made;
  const auto known = words == Words::All ? names_.find(word) : names_.end();
  return known == names_.end() ? std::nullopt : std::optional(known->second);
}

// A word may end a sentence, and be "NAMESPACE/NAME" or "ADDRESS:PORT".
std::string Disguise::word(std::string_view word, Words words, bool in_quotes) {
  const std::string_view end = word.substr(word.find_last_not_of(".:/-") + 1);
  const std::string_view core = word.substr(0, word.size() - end.size());
  if (auto made = whole(core, words)) return made->append(end);
  const bool own = core.find("nccl-env") != core.npos && core.find('/') == core.npos;
  if (in_quotes && words == Words::All && !own) return name(std::string(word));
  const auto change = [&](std::string_view part) { return whole(part, words).value_or(std::string(part)); };
  return by_parts(core, '/',
                  [&](std::string_view part) {
                    const auto made = whole(part, words);
                    return made ? *made : by_parts(part, ':', change);
                  })
      .append(end);
}

std::string Disguise::replaced(std::string_view text, Words words) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = std::min(text.find_first_of(kWordLetters, at), text.size());
    const std::size_t end = std::min(text.find_first_not_of(kWordLetters, start), text.size());
    made += text.substr(at, start - at);
    const bool in_quotes = start > 0 && text[start - 1] == '"' && end < text.size() && text[end] == '"';
    made += word(text.substr(start, end - start), words, in_quotes);
    at = end;
  }
  return made;
}

std::string Disguise::addresses(std::string_view text) {
  return replaced(text, Words::Addresses);
}

std::string Disguise::text(std::string_view text) {
  // The webhook's refusal may be the only text that names a node without a table:
  // "nccl-env: NoTable: NODE: …".
  constexpr std::string_view kRefusal = "nccl-env: ";
  if (const std::size_t at = text.find(kRefusal); at != text.npos) {
    const std::string_view words = text.substr(at + kRefusal.size());
    const std::string_view reason = words.substr(0, words.find(": "));
    const std::string_view behind = words.substr(std::min(words.size(), reason.size() + 2));
    const std::string node(behind.substr(0, behind.find(':')));
    if (parse_reason(reason) && is_dns_subdomain(node)) name(node);
  }
  return replaced(text, Words::All);
}

}  // namespace nccl_env::cli
