// SPDX-License-Identifier: Apache-2.0
#include "credentials.h"

#include <algorithm>

#include "nccl_env/base/file.h"

namespace nccl_env::kube {
namespace {

constexpr std::size_t kMaxToken = 64u << 10;  // HTTP servers refuse longer headers
constexpr std::size_t kMaxPem = 1u << 20;     // the size limit of a Secret

Result<std::string> text_of(const TextSource& source, std::size_t limit) {
  if (source.file.empty()) return source.text;
  auto text = read_file(source.file, limit);
  // An empty CA file must not stand for the system's authorities, nor an empty token file for no token.
  if (text && text->empty()) return Error{source.file.string() + ": is empty"};
  return text;
}

bool is_blank(char c) {
  return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

// Reads a PEM file of at most 1 MiB; an empty file is an error, an empty source is "".
Result<std::string> read_pem(const TextSource& source) {
  return text_of(source, kMaxPem);
}

// True if `text` is visible ASCII of at most 64 KiB: HTTP servers take no more.
bool is_bearer_token(std::string_view text) {
  return text.size() <= kMaxToken &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool same(const net::ClientTlsPem& a, const net::ClientTlsPem& b) {
  return a.ca == b.ca && a.certificate == b.certificate && a.key == b.key;
}

}  // namespace

Status BearerToken::load(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return read(now);
}

Status BearerToken::read(Clock::time_point now) {
  read_at_ = now;  // also after a failure: once a minute is enough
  auto text = text_of(source_, kMaxToken);
  if (!text) return text.error();
  while (!text->empty() && is_blank(text->back())) text->pop_back();
  const std::string what = source_.file.empty() ? "token" : source_.file.string();
  if (text->empty() && !source_.empty()) return Error{what + ": is empty"};
  if (!is_bearer_token(*text))
    return Error{what + ": is too long for a bearer token, or holds characters that none has"};
  token_ = *std::move(text);
  return done();
}

std::string BearerToken::at(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!source_.file.empty() && now - read_at_ >= kKeep) {
    if (const Status fresh = read(now); !fresh)
      log_->warn("token not readable, the old one stays", {{"problem", fresh.error().message}});
  }
  return token_;
}

bool BearerToken::renewed(const std::string& used, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (source_.file.empty()) return false;
  if (token_ == used) static_cast<void>(read(now).ok());  // at() logs a file that stays unreadable
  return token_ != used;
}

TlsIdentity::TlsIdentity(const ClientConfig& config, std::shared_ptr<Logger> log)
    : ca_(config.ca), certificate_(config.certificate), key_(config.key), log_(std::move(log)) {}

Status TlsIdentity::load() {
  const std::lock_guard lock(mutex_);
  return reload();
}

Status TlsIdentity::reload() {
  auto ca = read_pem(ca_);
  if (!ca) return Error{"certificate authority: " + ca.error().message};
  auto certificate = read_pem(certificate_);
  if (!certificate) return Error{"client certificate: " + certificate.error().message};
  auto key = read_pem(key_);
  if (!key) return Error{"client key: " + key.error().message};
  net::ClientTlsPem pem{*std::move(ca), *std::move(certificate), *std::move(key)};
  if (tls_ && same(pem, pem_)) return done();
  auto tls = net::ClientTls::make(pem);
  if (!tls) return tls.error();
  pem_ = std::move(pem);
  tls_ = *std::move(tls);
  return done();
}

std::shared_ptr<const net::ClientTls> TlsIdentity::current() {
  const std::lock_guard lock(mutex_);
  const Status loaded = reload();
  std::string problem = loaded ? std::string() : loaded.error().message;
  if (problem != problem_) {
    problem_ = std::move(problem);
    if (!problem_.empty())
      log_->error("files of the API server's configuration refused, the old ones stay",
                  {{"problem", problem_}});
  }
  return tls_;
}

}  // namespace nccl_env::kube
