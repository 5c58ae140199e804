// SPDX-License-Identifier: Apache-2.0
#include "cluster/pseudonyms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <sstream>

#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/hex.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/net/tls/keyed_hash.h"

namespace nccl_env::cli {
namespace {

constexpr std::size_t kV4At = 12;      // where an IPv4 address begins in its mapped form
constexpr std::size_t kNameBytes = 6;  // of a hash: among 100 000 names two are alike once in 50 000 reports
constexpr std::size_t kMaxWord = 64;   // of an address; longer words are not looked at

constexpr std::string_view kWordLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-";

bool is_everywhere(std::string_view name) {
  return name.empty() || name == "default" || name.starts_with("kube-") || name.starts_with("nccl-env");
}

// Bytes that tell the class of an address. Sources: RFC 1918, 3927, 6598, 2544 (IPv4); 4193, 4291 (IPv6).
std::size_t kept_of_v4(std::uint8_t first) {
  constexpr std::array<std::uint8_t, 5> kSplit{100, 169, 172, 192, 198};  // classes within a /8
  if (first == 0 || first == 127) return 4;
  return std::find(kSplit.begin(), kSplit.end(), first) == kSplit.end() ? 1 : 2;
}
std::size_t kept_of_v6(const std::array<std::uint8_t, 16>& bytes) {
  if (bytes[0] == 0) return bytes.size();  // ::, ::1
  if (bytes[0] == 0xfe) return (bytes[1] & 0xc0U) == 0x80 ? 8 : 2;
  return bytes[0] == 0xff ? 2 : 1;
}

// b83f:d203:00b4:f5a2
bool read_guid(std::string_view text, std::array<std::uint8_t, 8>& into) {
  if (text.size() != 19) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::size_t at = i / 2 * 5 + i % 2 * 2;
    const char* start = text.data() + at;
    if (std::from_chars(start, start + 2, into[i], 16).ptr != start + 2) return false;
    if (i % 2 == 1 && at + 2 < text.size() && text[at + 2] != ':') return false;
  }
  return true;
}

// In the form that the text has: a GID's, an IPv6 address's, or an IPv4 one's.
std::string like(std::string_view text, const IpAddress& address) {
  if (text.size() == 39) return format_gid({address.bytes});
  return (address.is_v4() && text.find(':') != text.npos ? "::ffff:" : "") + format_ip(address);
}

}  // namespace

std::string Pseudonyms::hashed(std::string_view purpose, std::string_view real) const {
  const net::KeyedHash hash = net::keyed_hash(key_, std::string(purpose).append(real));
  return hex_of(std::span(hash).first(kNameBytes));
}

std::string Pseudonyms::name(const std::string& real) {
  if (is_everywhere(real)) return real;
  return names_.try_emplace(real, "n-" + hashed("name ", real)).first->second;
}

std::string Pseudonyms::page(const std::string& token) {
  if (token.empty()) return token;
  return pages_.try_emplace(kube::escaped(token), "page-" + hashed("page ", token)).first->second;
}

// Flips each bit by the bits before it, so that addresses with a common prefix keep one of the same length
// (Crypto-PAn; Xu, Fan, Ammar and Moon, 2002). A hash has a bit for each of the 255 ways to begin a byte.
template <class Bytes>
void Pseudonyms::flip(Bytes& bytes, std::size_t kept, std::string_view purpose) const {
  std::string before(purpose);
  before.append(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(kept, bytes.size())));
  for (std::size_t i = kept; i < bytes.size(); ++i) {
    const net::KeyedHash flips = net::keyed_hash(key_, before);
    const unsigned real = bytes[i];
    unsigned made = 0;
    unsigned place = 1;
    for (unsigned bit = 8; bit-- > 0;) {
      const unsigned value = real >> bit & 1U;
      made |= (value ^ (flips[place / 8] >> (place % 8) & 1U)) << bit;
      place = place * 2 + value;
    }
    bytes[i] = static_cast<std::uint8_t>(made);
    before += static_cast<char>(real);
  }
}

IpAddress Pseudonyms::pseudonym_of(const IpAddress& real) {
  IpAddress made = real;
  if (!real.is_v4()) {
    flip(made.bytes, kept_of_v6(real.bytes), "address ");
    return made;
  }
  std::array<std::uint8_t, 4> bytes{};
  std::copy(real.bytes.begin() + kV4At, real.bytes.end(), bytes.begin());
  flip(bytes, kept_of_v4(bytes[0]), "address ");
  std::copy(bytes.begin(), bytes.end(), made.bytes.begin() + kV4At);
  return made;
}

bool Pseudonyms::address(std::string_view word, std::string& into) {
  if (word.size() > kMaxWord || word.find_first_of(".:") == word.npos) return false;
  const auto known = addresses_.find(word);
  if (known != addresses_.end()) return into += known->second, true;
  std::string made;
  std::array<std::uint8_t, 8> guid{};
  if (const auto cidr = parse_cidr(word)) {
    Cidr other{pseudonym_of(cidr->address), cidr->prefix};
    if (cidr->network() == *cidr) other = other.network();
    made = format_cidr(other);
  } else if (const auto ip = parse_ip(word)) {
    made = like(word, pseudonym_of(*ip));
  } else if (read_guid(word, guid)) {
    const bool zero = std::all_of(guid.begin(), guid.end(), [](std::uint8_t byte) { return byte == 0; });
    if (!zero) flip(guid, 3, "guid ");  // behind the vendor's bytes
    for (std::size_t i = 0; i < guid.size(); i += 2)
      made += (i == 0 ? "" : ":") + hex_of(std::span(guid).subspan(i, 2));
  } else {
    return false;
  }
  addresses_.emplace(word, made);
  into += made;
  return true;
}

bool Pseudonyms::whole(std::string_view word, Words words, std::string& into) {
  if (address(word, into)) return true;
  const auto known = words == Words::All ? names_.find(word) : names_.end();
  if (known == names_.end()) return false;
  into += known->second;
  return true;
}

// A word may end a sentence, and be "NAMESPACE/NAME" or "ADDRESS:PORT".
std::string Pseudonyms::word(std::string_view word, Words words, bool in_quotes) {
  const std::string_view end = word.substr(word.find_last_not_of(".:/-") + 1);
  const std::string_view core = word.substr(0, word.size() - end.size());
  const bool own = core.find("nccl-env") != core.npos && core.find('/') == core.npos;
  std::string made;
  if (in_quotes && words == Words::All && !own && !address(core, made)) return name(std::string(word));
  if (!made.empty() || whole(core, words, made)) return made.append(end);
  for (std::string_view rest = core; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (!whole(part, words, made)) {
      for (std::string_view left = part; !left.empty();) {
        const std::string_view piece = left.substr(0, left.find(':'));
        left.remove_prefix(piece.size());
        if (!whole(piece, words, made)) made += piece;
        if (!left.empty()) made += ':';
        left.remove_prefix(std::min<std::size_t>(left.size(), 1));
      }
    }
    if (part.end() != core.end()) made += '/';
  }
  return made.append(end);
}

std::string Pseudonyms::replaced(std::string_view text, Words words) {
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

std::string Pseudonyms::addresses(std::string_view text) {
  return replaced(text, Words::Addresses);
}

std::string Pseudonyms::text(std::string_view text) {
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

std::string Pseudonyms::command(const std::string& command) {
  std::istringstream words(command);
  std::string made, before;
  for (std::string word; words >> word; before = word) {
    const std::size_t slash = word.find('/');
    if (before == "-n") {
      word = name(word);
    } else if (slash != word.npos) {
      word = word.substr(0, slash + 1) + name(word.substr(slash + 1));
    }
    made += (made.empty() ? "" : " ") + word;
  }
  return made;
}

std::string Pseudonyms::target(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  std::string made;
  std::string before;  // the word before
  for (std::string_view rest = path; !rest.empty();) {
    const std::string word(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool named =
        before == "namespaces" || before == "pods" || before == "nodefabrics" || before == "ncclpolicies";
    made += (named ? name(word) : word) + (rest.empty() ? "" : "/");
    before = word;
  }
  std::string_view query = target.substr(path.size());
  if (const std::size_t at = query.find("continue="); at != query.npos) {
    const std::size_t start = at + std::string_view("continue=").size();
    const auto page = pages_.find(query.substr(start));
    if (page != pages_.end())
      return this->target(std::string(target.substr(0, path.size() + at))) + "continue=" + page->second;
  }
  // KEY%3DNAME of selectors, but not KEY%21%3DWORD, nor an event's reason.
  constexpr std::string_view kEquals = "%3D";
  for (std::size_t at = query.find(kEquals); at != query.npos; at = query.find(kEquals)) {
    const std::string_view key = query.substr(0, at);
    query.remove_prefix(at + kEquals.size());
    const std::string_view value = query.substr(0, query.find_first_of("%&"));
    query.remove_prefix(value.size());
    const bool word = key.ends_with("%21") || key.ends_with("reason");
    made += std::string(key).append(kEquals) + (word ? std::string(value) : name(std::string(value)));
  }
  return made.append(query);
}

}  // namespace nccl_env::cli
