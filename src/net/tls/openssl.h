// SPDX-License-Identifier: Apache-2.0
// Owners for OpenSSL's objects, and its error queue as one sentence.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env::net {

inline constexpr std::size_t kMaxPemFile = 1 << 20;  // the size limit of a Secret

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using SslPtr = std::unique_ptr<SSL, Freer<SSL_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;

// The oldest entry of this thread's error queue, which is then emptied; "unknown error" if there is none.
std::string openssl_error();

// Every CERTIFICATE block; `what` names the source in errors. At least one, else an error.
Result<std::vector<X509Ptr>> parse_certificates(std::string_view pem, std::string_view what);
// An unencrypted private key; an encrypted one is an error (there is nobody to ask for the password).
Result<PkeyPtr> parse_private_key(std::string_view pem, std::string_view what);

// DNS names, then IP addresses, of the subject alternative name, as text.
std::vector<std::string> subject_alt_names(const X509& certificate);
std::optional<std::chrono::system_clock::time_point> to_time_point(const ASN1_TIME* time);

}  // namespace nccl_env::net
