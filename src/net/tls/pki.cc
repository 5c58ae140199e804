// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/tls/pki.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "nccl_env/base/file.h"
#include "nccl_env/net/tls/tls.h"
#include "tls/openssl.h"

namespace nccl_env::net {
namespace {

using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;
using NamePtr = std::unique_ptr<GENERAL_NAME, Freer<GENERAL_NAME_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

Error failed(const char* what) {
  return {std::string("can't ") + what + ": " + openssl_error()};
}

// The bytes of an IP address in network order; empty if `name` isn't one.
std::string address_bytes(const std::string& name) {
  std::array<char, 16> bytes{};
  if (inet_pton(AF_INET, name.c_str(), bytes.data()) == 1) return {bytes.data(), 4};
  if (inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1) return {bytes.data(), 16};
  return {};
}

bool is_dns_name(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  const std::string_view rest = std::string_view(name).substr(name.rfind("*.", 0) == 0 ? 2 : 0);
  return !rest.empty() && name.size() <= 253 && rest.find_first_not_of(kAllowed) == std::string_view::npos &&
         rest.front() != '.' && rest.front() != '-' && rest.find("..") == std::string_view::npos;
}

// As subject_alt_names() would give them back.
std::vector<std::string> normalized(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string bytes = address_bytes(name);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (bytes.empty()) {
      out.push_back(name);
    } else {
      out.emplace_back(
          inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size()));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool add_name(GENERAL_NAMES* names, const std::string& name) {
  const std::string bytes = address_bytes(name);
  const std::string& content = bytes.empty() ? name : bytes;
  NamePtr general(GENERAL_NAME_new());
  ASN1_STRING* value = bytes.empty() ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
  if (!general || value == nullptr) return ASN1_STRING_free(value), false;
  GENERAL_NAME_set0_value(general.get(), bytes.empty() ? GEN_DNS : GEN_IPADD, value);
  if (ASN1_STRING_set(value, content.data(), static_cast<int>(content.size())) != 1) return false;
  if (sk_GENERAL_NAME_push(names, general.get()) <= 0) return false;
  static_cast<void>(general.release());
  return true;
}

bool add_alt_names(X509* certificate, const std::vector<std::string>& names) {
  const NamesPtr general(GENERAL_NAMES_new());
  const bool added = general && std::all_of(names.begin(), names.end(),
                                            [&](const auto& name) { return add_name(general.get(), name); });
  return added && X509_add1_ext_i2d(certificate, NID_subject_alt_name, general.get(), 0, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_time(ASN1_TIME* time, SystemTime at) {
  return ASN1_TIME_set(time, std::chrono::system_clock::to_time_t(at)) != nullptr;
}

// Random: a new CA has the name of the old one, and an issuer must not use a serial number twice.
bool set_serial(X509* certificate) {
  const std::unique_ptr<BIGNUM, Freer<BN_free>> serial(BN_new());
  return serial && BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

struct Draft {
  X509Ptr certificate;
  PkeyPtr key;
};

// Version, serial number, subject, times and a fresh key; the issuer is set where it is signed.
Result<Draft> draft(const std::string& common_name, SystemTime now, SystemTime end) {
  Draft out{X509Ptr(X509_new()), PkeyPtr(EVP_EC_gen("P-256"))};
  if (!out.certificate || !out.key) return failed("make a key");
  X509* c = out.certificate.get();
  const bool filled = X509_set_version(c, X509_VERSION_3) == 1 && set_serial(c) &&
                      X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
                                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
                      set_time(X509_getm_notBefore(c), now - kClockSkew) &&
                      set_time(X509_getm_notAfter(c), end) && X509_set_pubkey(c, out.key.get()) == 1;
  if (!filled) return failed("fill in a certificate");
  return out;
}

std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Result<KeyPair> sign(const Draft& made, const X509* issuer, EVP_PKEY* issuer_key) {
  X509* c = made.certificate.get();
  if (X509_set_issuer_name(c, X509_get_subject_name(issuer)) != 1 ||
      X509_sign(c, issuer_key, EVP_sha256()) <= 0) {
    return failed("sign a certificate");
  }
  const BioPtr certificate(BIO_new(BIO_s_mem())), key(BIO_new(BIO_s_mem()));
  if (!certificate || !key || PEM_write_bio_X509(certificate.get(), c) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return failed("write a certificate as PEM");
  }
  return KeyPair{take_text(certificate.get()), take_text(key.get())};
}

bool is_current(const X509* certificate, SystemTime now) {
  const auto from = to_time_point(X509_get0_notBefore(certificate));
  const auto to = to_time_point(X509_get0_notAfter(certificate));
  return from && *from <= now && to && *to > now;
}

bool has_key(const X509* certificate, const std::string& key_text) {
  const auto key = parse_private_key(key_text, "key");
  return key && X509_check_private_key(certificate, key->get()) == 1;
}

Status make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory.parent_path(), error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{directory.string() +
                 ": can't make the directory: " + std::generic_category().message(errno)};
  }
  return done();
}

}  // namespace

Result<KeyPair> make_ca(const std::string& common_name, SystemTime now, std::chrono::seconds validity) {
  ERR_clear_error();
  auto made = draft(common_name, now, now + validity);
  if (!made) return made.error();
  X509* c = made->certificate.get();
  if (!add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(c, c, NID_subject_key_identifier, "hash")) {
    return failed("fill in a CA");
  }
  return sign(*made, c, made->key.get());
}

Result<KeyPair> issue_server_certificate(const KeyPair& ca, const std::vector<std::string>& names,
                                         SystemTime now, std::chrono::seconds validity) {
  if (names.empty()) return Error{"a server certificate needs at least one name"};
  for (const std::string& name : names) {
    if (address_bytes(name).empty() && !is_dns_name(name)) {
      return Error{"'" + name + "' is neither a DNS name nor an IP address"};
    }
  }
  auto issuers = parse_certificates(ca.certificate, "CA");
  if (!issuers) return issuers.error();
  auto issuer_key = parse_private_key(ca.key, "the CA's key");
  if (!issuer_key) return issuer_key.error();
  X509* issuer = issuers->front().get();
  const auto issuer_end = to_time_point(X509_get0_notAfter(issuer));
  // A CN holds 64 bytes only; clients read the SANs.
  auto made = draft("nccl-env-webhook", now, std::min(now + validity, issuer_end.value_or(now)));
  if (!made) return made.error();
  X509* c = made->certificate.get();
  if (!add_extension(c, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(c, issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(c, issuer, NID_ext_key_usage, "serverAuth") ||
      !add_extension(c, issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(c, issuer, NID_authority_key_identifier, "keyid:always") ||
      !add_alt_names(c, normalized(names))) {
    return failed("fill in a server certificate");
  }
  return sign(*made, issuer, issuer_key->get());
}

bool is_valid(const KeyPair& leaf, const std::string& ca_certificate, SystemTime now) {
  auto certificates = parse_certificates(leaf.certificate, "certificate");
  auto authorities = parse_certificates(ca_certificate, "CA");
  if (!certificates || !authorities) return false;
  X509* certificate = certificates->front().get();
  const bool valid = is_current(certificate, now) && has_key(certificate, leaf.key) &&
                     X509_verify(certificate, X509_get0_pubkey(authorities->front().get())) == 1;
  ERR_clear_error();
  return valid;
}

bool has_names(const KeyPair& leaf, const std::vector<std::string>& names) {
  auto certificates = parse_certificates(leaf.certificate, "certificate");
  return certificates && normalized(subject_alt_names(*certificates->front())) == normalized(names);
}

bool is_usable(const KeyPair& leaf, const std::string& ca_certificate, const std::vector<std::string>& names,
               SystemTime now) {
  return is_valid(leaf, ca_certificate, now) && is_valid(leaf, ca_certificate, now + kRenewBefore) &&
         has_names(leaf, names);
}

bool can_sign(const KeyPair& ca, SystemTime now) {
  auto certificates = parse_certificates(ca.certificate, "CA");
  if (!certificates) return false;
  X509* certificate = certificates->front().get();
  const bool can =
      is_current(certificate, now) && X509_check_ca(certificate) == 1 && has_key(certificate, ca.key);
  ERR_clear_error();
  return can;
}

bool is_signed_by(const std::string& chain, const std::string& authorities) {
  auto certificates = parse_certificates(chain, "certificate");
  auto issuers = parse_certificates(authorities, "CA");
  if (!certificates || !issuers) return false;
  const auto has_issuer = [&](const auto& certificate) {
    return std::any_of(issuers->begin(), issuers->end(), [&](const auto& issuer) {
      return X509_verify(certificate.get(), X509_get0_pubkey(issuer.get())) == 1;
    });
  };
  const bool is_signed = std::any_of(certificates->begin(), certificates->end(), has_issuer);
  ERR_clear_error();
  return is_signed;
}

std::vector<std::string> each_certificate(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> out;
  for (;;) {
    const std::size_t begin = pem.find(kBegin);
    const std::size_t end = begin == pem.npos ? begin : pem.find(kEnd, begin);
    if (end == pem.npos) return out;
    const std::string block = std::string(pem.substr(begin, end + kEnd.size() - begin)) + "\n";
    pem.remove_prefix(end + kEnd.size());
    auto parsed = parse_certificates(block, "certificate");
    const BioPtr text(BIO_new(BIO_s_mem()));
    if (parsed && text && PEM_write_bio_X509(text.get(), parsed->front().get()) == 1) {
      out.push_back(take_text(text.get()));
    }
  }
}

Result<SelfSignedFiles> make_self_signed(const std::filesystem::path& directory,
                                         const std::vector<std::string>& names, SystemTime now) {
  SelfSignedFiles files{directory / "ca.crt", directory / "tls.crt", directory / "tls.key", false};
  if (const Status made = make_directory(directory); !made) return made.error();
  const auto ca_text = read_file(files.ca, kMaxPemFile);
  const auto certificate_text = read_file(files.certificate, kMaxPemFile);
  const auto key_text = read_file(files.key, kMaxPemFile);
  if (ca_text && certificate_text && key_text &&
      is_usable({*certificate_text, *key_text}, *ca_text, names, now)) {
    files.reused = true;
    return files;
  }
  auto ca = make_ca("nccl-env self-signed CA", now);
  if (!ca) return ca.error();
  auto leaf = issue_server_certificate(*ca, names, now);
  if (!leaf) return leaf.error();
  // The certificate comes last: a watcher that sees it finds its key in place.
  if (const Status s = write_file(files.ca, ca->certificate, 0644); !s) return s.error();
  if (const Status s = write_file(files.key, leaf->key, 0600); !s) return s.error();
  if (const Status s = write_file(files.certificate, leaf->certificate, 0644); !s) return s.error();
  return files;
}

}  // namespace nccl_env::net
