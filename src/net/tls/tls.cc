// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/tls/tls.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "nccl_env/base/file.h"
#include "nccl_env/hex.h"
#include "tls/openssl.h"

namespace nccl_env::net {
namespace {

constexpr unsigned char kServedAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// kube-apiserver offers h2 to loopback URLs and fails if we take it; a client that offers only h2 gets
// no_application_protocol.
int select_http11(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* in,
                  unsigned int in_length, void*) {
  unsigned char* selected = nullptr;
  if (SSL_select_next_proto(&selected, out_length, kServedAlpn, sizeof kServedAlpn, in, in_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

std::string digest_of(const TlsPem& pem) {
  std::string joined;
  for (const std::string* part : {&pem.certificate, &pem.key, &pem.client_ca}) {
    joined += std::to_string(part->size()) + ':' + *part;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(joined.data(), joined.size(), digest.data(), &size, EVP_sha256(), nullptr);
  OPENSSL_cleanse(joined.data(), joined.size());
  return hex_of(std::span(digest).first(size));
}

Result<CertificateInfo> describe(const X509& certificate, std::string_view what) {
  CertificateInfo info;
  const auto from = to_time_point(X509_get0_notBefore(&certificate));
  const auto to = to_time_point(X509_get0_notAfter(&certificate));
  if (!from || !to) return Error{std::string(what) + ": its validity can't be read"};
  info.not_before = *from;
  info.not_after = *to;
  const BioPtr text(BIO_new(BIO_s_mem()));
  char* data = nullptr;
  if (text && X509_NAME_print_ex(text.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253) >= 0) {
    const long size = BIO_get_mem_data(text.get(), &data);
    if (size > 0) info.subject.assign(data, static_cast<std::size_t>(size));
  }
  info.names = subject_alt_names(certificate);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) == 1) {
    info.fingerprint = hex_of(std::span(digest).first(size));
  }
  return info;
}

Status require_client_ca(SSL_CTX* context, std::string_view pem) {
  auto authorities = parse_certificates(pem, "client CA");
  if (!authorities) return authorities.error();
  for (const X509Ptr& authority : *authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Error{"client CA: " + openssl_error()};
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return done();
}

Status use_identity(SSL_CTX* context, const std::vector<X509Ptr>& chain, EVP_PKEY* key) {
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return Error{"certificate: " + openssl_error()};
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return Error{"certificate " + std::to_string(i + 1) + " of the chain: " + openssl_error()};
    }
  }
  if (X509_check_private_key(chain.front().get(), key) != 1) {
    ERR_clear_error();
    return Error{"the private key doesn't belong to the certificate"};
  }
  if (SSL_CTX_use_PrivateKey(context, key) != 1) return Error{"private key: " + openssl_error()};
  return done();
}

// Tickets of TLS 1.2 hold the connection's keys, under a key that lives as long as the context, up to 60
// days: whoever gets that key can decrypt recorded traffic. Tickets of TLS 1.3 do not hold such keys. A
// client that offers 1.3 gets 1.3.
int refuse_old_tickets(SSL* ssl, int*, void*) {
  const unsigned char* versions = nullptr;
  std::size_t size = 0;
  bool offers_13 = false;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &versions, &size) == 1) {
    for (std::size_t at = 1; at + 1 < size; at += 2)  // behind the list's length
      offers_13 = offers_13 || (versions[at] == 3 && versions[at + 1] == 4);
  }
  if (!offers_13) SSL_set_options(ssl, SSL_OP_NO_TICKET);
  return SSL_CLIENT_HELLO_SUCCESS;
}

// The ciphers of TLS 1.2 that are AEAD: the others have a MAC of SHA-1 or CBC. Those of 1.3 are all of this
// kind.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

SslCtxPtr new_context() {
  SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return nullptr;
  SSL_CTX* c = context.get();
  if (SSL_CTX_set_cipher_list(c, kCiphers) != 1) return nullptr;
  SSL_CTX_set_client_hello_cb(c, refuse_old_tickets, nullptr);
  // Levels 0 and 1 would let TLS 1.2 clients have short keys.
  if (SSL_CTX_get_security_level(c) < 2) SSL_CTX_set_security_level(c, 2);
  // A close without TLS's own end is not an attack here: HTTP says where a message ends.
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Idle connections hold no record buffers (34 KiB each).
  SSL_CTX_set_mode(
      c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(c, 1);   // one read(2) per record, not one for its header and one for its body
  SSL_CTX_set_num_tickets(c, 1);  // API servers keep their connections; one is enough to resume
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);   // tickets hold the sessions: no memory here
  constexpr unsigned char kSessionContext[] = "nccl-env";  // without it resumption fails under a client CA
  SSL_CTX_set_session_id_context(c, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_alpn_select_cb(c, select_http11, nullptr);
  return context;
}

Result<TlsPem> read_files(const TlsFiles& files) {
  auto certificate = read_file(files.certificate, kMaxPemFile);
  if (!certificate) return certificate.error();
  auto key = read_file(files.key, kMaxPemFile);
  if (!key) return key.error();
  TlsPem pem{*std::move(certificate), *std::move(key), {}};
  auto client_ca = read_client_ca(files.client_ca);
  if (!client_ca) return client_ca.error();
  pem.client_ca = *std::move(client_ca);
  return pem;
}

Error in_files(const TlsFiles& files, const Error& error) {
  return {files.certificate.string() + ", " + files.key.string() + ": " + error.message};
}

}  // namespace

Result<CertificateInfo> read_certificate(std::string_view pem, std::string_view what) {
  auto certificates = parse_certificates(pem, what);
  if (!certificates) return certificates.error();
  return describe(*certificates->front(), what);
}

std::optional<std::string> validity_warning(const CertificateInfo& info,
                                            std::chrono::system_clock::time_point now) {
  if (now >= info.not_after) return "certificate " + info.subject + " has expired";
  if (now < info.not_before) return "certificate " + info.subject + " is not valid yet";
  return std::nullopt;
}

Result<std::string> read_client_ca(const std::filesystem::path& file) {
  if (file.empty()) return std::string();
  auto pem = read_file(file, kMaxPemFile);
  // An empty file must not mean that no certificate is asked for.
  if (pem && pem->empty()) return Error{file.string() + ": is empty"};
  if (!pem) return pem.error();
  const auto authorities = parse_certificates(*pem, file.string());
  return authorities ? pem : authorities.error();
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsPem& pem) {
  auto chain = parse_certificates(pem.certificate, "certificate");
  if (!chain) return chain.error();
  auto key = parse_private_key(pem.key, "private key");
  if (!key) return key.error();
  auto info = describe(*chain->front(), "certificate");
  if (!info) return info.error();
  if (X509_check_purpose(chain->front().get(), X509_PURPOSE_SSL_SERVER, 0) != 1)
    return Error{"certificate: its key usage is not that of a server, so that clients refuse it"};
  SslCtxPtr context = new_context();
  if (!context) return Error{"TLS context: " + openssl_error()};
  if (const Status used = use_identity(context.get(), *chain, key->get()); !used) return used.error();
  if (!pem.client_ca.empty()) {
    if (const Status required = require_client_ca(context.get(), pem.client_ca); !required) {
      return required.error();
    }
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(
      std::shared_ptr<ssl_ctx_st>(context.release(), Freer<SSL_CTX_free>()), *std::move(info)));
}

TlsSource::TlsSource(TlsFiles files, const TlsPem& pem, std::shared_ptr<const TlsContext> context)
    : files_(std::move(files)),
      digest_(digest_of(pem)),
      client_ca_(pem.client_ca),
      context_(std::move(context)) {}

Result<std::shared_ptr<TlsSource>> TlsSource::load(TlsFiles files) {
  auto pem = read_files(files);
  if (!pem) return pem.error();
  auto context = TlsContext::make(*pem);
  if (!context) return in_files(files, context.error());
  return std::shared_ptr<TlsSource>(new TlsSource(std::move(files), *pem, *std::move(context)));
}

Result<std::shared_ptr<TlsSource>> TlsSource::make(const TlsPem& pem) {
  auto context = TlsContext::make(pem);
  if (!context) return context.error();
  return std::shared_ptr<TlsSource>(new TlsSource({}, pem, *std::move(context)));
}

Result<TlsSource::Reload> TlsSource::reload() {
  const std::lock_guard reloading(reload_mutex_);
  auto pem = read_files(files_);
  if (!pem) return pem.error();
  auto swapped = swap(*pem);
  if (!swapped) {
    // The kubelet may have swapped the mount between the certificate's read and the key's.
    const auto again = read_files(files_);
    if (again && digest_of(*again) != digest_of(*pem)) swapped = swap(*again);
  }
  return swapped ? swapped : in_files(files_, swapped.error());
}

Result<TlsSource::Reload> TlsSource::swap(const TlsPem& pem) {
  const std::lock_guard swapping(swap_mutex_);
  std::string digest = digest_of(pem);
  if (digest == digest_) return Reload::Unchanged;
  auto context = TlsContext::make(pem);
  if (!context) return context.error();
  const auto now = std::chrono::system_clock::now();
  if ((*context)->info().not_after <= now && current()->info().not_after > now)
    return Error{"the certificate has expired, and the one in use has not"};
  digest_ = std::move(digest);
  {
    const std::lock_guard lock(context_mutex_);
    context_ = *std::move(context);
  }
  if (std::exchange(client_ca_, pem.client_ca) != pem.client_ca) ++client_changes_;
  return Reload::Swapped;
}

std::shared_ptr<const TlsContext> TlsSource::current() const {
  std::lock_guard lock(context_mutex_);
  return context_;
}

std::vector<std::filesystem::path> TlsSource::directories() const {
  std::vector<std::filesystem::path> out;
  for (const auto* file : {&files_.certificate, &files_.key, &files_.client_ca}) {
    if (file->empty()) continue;
    auto directory = file->has_parent_path() ? file->parent_path() : std::filesystem::path(".");
    if (std::find(out.begin(), out.end(), directory) == out.end()) out.push_back(std::move(directory));
  }
  return out;
}

}  // namespace nccl_env::net
