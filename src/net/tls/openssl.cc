// SPDX-License-Identifier: Apache-2.0
#include "tls/openssl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <climits>
#include <ctime>

namespace nccl_env::net {
namespace {

BioPtr memory_bio(std::string_view text) {
  if (text.size() > INT_MAX) return nullptr;
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without a callback OpenSSL would ask on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const int length = ASN1_STRING_length(address);
  const int family = length == 4 ? AF_INET : AF_INET6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (length != 4 && length != 16) return {};
  return inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size()) ? text.data() : "";
}

}  // namespace

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  if (const char* reason = ERR_reason_error_string(code)) return reason;
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

Result<std::vector<X509Ptr>> parse_certificates(std::string_view pem, std::string_view what) {
  ERR_clear_error();
  std::vector<X509Ptr> certificates;
  const BioPtr bio = memory_bio(pem);
  while (bio) {
    X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (!certificate) break;
    certificates.push_back(std::move(certificate));
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!certificates.empty() && at_end) {
    ERR_clear_error();
    return certificates;
  }
  return Error{std::string(what) + ": no PEM certificate that can be read: " + openssl_error()};
}

Result<PkeyPtr> parse_private_key(std::string_view pem, std::string_view what) {
  ERR_clear_error();
  const BioPtr bio = memory_bio(pem);
  PkeyPtr key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (key) return key;
  return Error{std::string(what) + ": no unencrypted PEM private key: " + openssl_error()};
}

std::vector<std::string> subject_alt_names(const X509& certificate) {
  std::vector<std::string> names, addresses;
  using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;
  const NamesPtr general(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = general ? sk_GENERAL_NAME_num(general.get()) : 0;
  for (int i = 0; i < count; ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(general.get(), i), &type);
    if (type == GEN_DNS) {
      const auto* name = static_cast<const ASN1_IA5STRING*>(value);
      names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)),
                         static_cast<std::size_t>(ASN1_STRING_length(name)));
    } else if (type == GEN_IPADD) {
      addresses.push_back(address_text(static_cast<const ASN1_OCTET_STRING*>(value)));
    }
  }
  names.insert(names.end(), addresses.begin(), addresses.end());
  return names;
}

std::optional<std::chrono::system_clock::time_point> to_time_point(const ASN1_TIME* time) {
  std::tm utc{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &utc) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(timegm(&utc));
}

}  // namespace nccl_env::net
