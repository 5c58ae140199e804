// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/client/client_tls.h"

#include <openssl/err.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "tls/openssl.h"

namespace nccl_env::net {
namespace {

constexpr unsigned char kAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

SslCtxPtr new_client_context() {
  SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) return nullptr;
  SSL_CTX* c = context.get();
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  // Any certificate of the bundle is an anchor, as for Go's clients: bundles hold intermediates, too.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(c), X509_V_FLAG_PARTIAL_CHAIN);
  if (SSL_CTX_set_alpn_protos(c, kAlpn, sizeof kAlpn) != 0) return nullptr;
  return context;
}

// Bundles of Debian and Alpine, RHEL, openSUSE, and of others, as Go's crypto/x509 looks for them.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                    "/etc/pki/tls/certs/ca-bundle.crt",
                                    "/etc/ssl/ca-bundle.pem",
                                    "/etc/pki/tls/cacert.pem",
                                    "/etc/ssl/cert.pem"};

// Trusts what SSL_CERT_FILE and SSL_CERT_DIR name, else Debian's folder, as OpenSSL does by itself. Where
// neither is set and the folder is absent, the first bundle that is there.
Status trust_system(SSL_CTX* context) {
  bool loaded = SSL_CTX_set_default_verify_paths(context) == 1;
  const bool named = std::getenv(X509_get_default_cert_file_env()) != nullptr ||
                     std::getenv(X509_get_default_cert_dir_env()) != nullptr;
  if (!named && ::access(X509_get_default_cert_dir(), X_OK) != 0) {
    const auto* bundle =
        std::ranges::find_if(kBundles, [](const char* path) { return ::access(path, R_OK) == 0; });
    if (bundle != std::end(kBundles)) loaded = SSL_CTX_load_verify_file(context, *bundle) == 1;
  }
  return loaded ? done() : Status(Error{"the system's authorities: " + openssl_error()});
}

Status trust(SSL_CTX* context, std::string_view pem) {
  if (pem.empty()) return trust_system(context);
  const auto authorities = parse_certificates(pem, "certificate authority");
  if (!authorities) return authorities.error();
  for (const X509Ptr& authority : *authorities) {
    // Reads its extensions now, on one thread: otherwise the first verification would do so, while other
    // threads share the certificate.
    static_cast<void>(X509_check_purpose(authority.get(), -1, 0));
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1)
      return Error{"certificate authority: " + openssl_error()};
  }
  return done();
}

Status show(SSL_CTX* context, const ClientTlsPem& pem) {
  const auto chain = parse_certificates(pem.certificate, "client certificate");
  if (!chain) return chain.error();
  const auto key = parse_private_key(pem.key, "client key");
  if (!key) return key.error();
  bool used = SSL_CTX_use_certificate(context, chain->front().get()) == 1;
  for (std::size_t i = 1; used && i < chain->size(); ++i)
    used = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  if (!used) return Error{"client certificate: " + openssl_error()};
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return Error{"client key: " + openssl_error()};
  return done();
}

}  // namespace

Result<std::shared_ptr<const ClientTls>> ClientTls::make(const ClientTlsPem& pem) {
  ERR_clear_error();
  SslCtxPtr context = new_client_context();
  if (!context) return Error{"TLS context: " + openssl_error()};
  if (const Status trusted = trust(context.get(), pem.ca); !trusted) return trusted.error();
  if (!pem.certificate.empty() || !pem.key.empty()) {
    if (const Status shown = show(context.get(), pem); !shown) return shown.error();
  }
  return std::shared_ptr<const ClientTls>(
      new ClientTls(std::shared_ptr<ssl_ctx_st>(context.release(), Freer<SSL_CTX_free>())));
}

}  // namespace nccl_env::net
