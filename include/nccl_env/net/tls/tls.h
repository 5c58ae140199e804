// SPDX-License-Identifier: Apache-2.0
// Server certificates: loaded, checked, and swapped while the server runs.
//
//   files or a Secret ----PEM----> [ TlsSource ] ----> [ TlsContext ] <---- each handshake of the server
//                                    ^                   immutable
//   [ FileWatch ] ----reload()-------+
//   [ pki ] ----> PEM of a CA and of a certificate that it signed
//
// The source owns the context in use, and shares it: a connection keeps the context that it began with,
// whatever is swapped in later. Keys stay in OpenSSL's memory and in the PEM that a caller holds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace nccl_env::net {

struct CertificateInfo {
  std::string subject;             // RFC 2253, "CN=nccl-env-webhook"
  std::vector<std::string> names;  // subject alternative names: DNS names, then IP addresses
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
  std::string fingerprint;  // SHA-256 of the certificate, lower-case hex
};

// The first certificate of a PEM text; `what` names its source in errors.
Result<CertificateInfo> read_certificate(std::string_view pem, std::string_view what);

// Returns a sentence if the certificate isn't valid at `now`; the certificate is used all the same (the clock
// may be wrong).
std::optional<std::string> validity_warning(const CertificateInfo& info,
                                            std::chrono::system_clock::time_point now);

// Returns the content for TlsPem::client_ca: "" only if `file` is an empty path. Fails for a file without
// a certificate.
Result<std::string> read_client_ca(const std::filesystem::path& file);

struct TlsPem {
  std::string certificate;  // the leaf first, then its chain
  std::string key;          // unencrypted
  std::string client_ca;    // not empty: clients must show a certificate that one of these signed
};

// Settings of a TLS server, immutable: TLS 1.2 and 1.3, HTTP/1.1 only in ALPN, no renegotiation, no
// compression; ECDHE with AES-GCM or ChaCha20 at security level 2 or the system's higher one; no tickets for
// TLS 1.2.
class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make(const TlsPem& pem);

  [[nodiscard]] const CertificateInfo& info() const { return info_; }
  [[nodiscard]] ssl_ctx_st* native() const { return context_.get(); }

 private:
  TlsContext(std::shared_ptr<ssl_ctx_st> context, CertificateInfo info)
      : context_(std::move(context)), info_(std::move(info)) {}
  std::shared_ptr<ssl_ctx_st> context_;
  CertificateInfo info_;
};

struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path client_ca;  // empty: clients are not asked for a certificate
};

// Holds the context in use, made from files or texts that change. All members may be called from any thread.
class TlsSource {
 public:
  enum class Reload { Unchanged, Swapped };

  static Result<std::shared_ptr<TlsSource>> load(TlsFiles files);
  // Without files: only swap() changes it.
  static Result<std::shared_ptr<TlsSource>> make(const TlsPem& pem);

  // If `pem` differs from the PEM in use and makes a good context, swaps the context in for the next
  // connection. Otherwise the context in use stays; an error says why.
  Result<Reload> swap(const TlsPem& pem);

  // The same with the files' content.
  Result<Reload> reload();
  [[nodiscard]] std::shared_ptr<const TlsContext> current() const;
  // Counts swaps to another client CA. A connection whose context was current before the last of them may
  // have a client that is not trusted any more.
  [[nodiscard]] std::uint64_t client_changes() const { return client_changes_; }
  // The directories to watch.
  [[nodiscard]] std::vector<std::filesystem::path> directories() const;

 private:
  TlsSource(TlsFiles files, const TlsPem& pem, std::shared_ptr<const TlsContext> context);

  const TlsFiles files_;
  std::mutex reload_mutex_;  // from reading the files to their swap
  std::mutex swap_mutex_;    // one swap at a time; guards digest_
  std::string digest_;       // of the content, so that no second copy of the key stays in memory
  std::string client_ca_;    // in use; guarded by swap_mutex_, too
  std::atomic<std::uint64_t> client_changes_{0};
  mutable std::mutex context_mutex_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace nccl_env::net
