// SPDX-License-Identifier: Apache-2.0
// A small certificate authority for local runs and for clusters without cert-manager: ECDSA P-256, with PEM
// texts in memory, and a thin part that keeps the three files of `--self-signed DIR`.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env::net {

using SystemTime = std::chrono::system_clock::time_point;

// For `--self-signed DIR`: renewed when the program starts, so long-lived.
constexpr std::chrono::hours kCaValidity{24 * 3652};   // ten years: no CA ends before its leaf
constexpr std::chrono::hours kLeafValidity{24 * 365};  // one year, below every client's limit
constexpr std::chrono::hours kRenewBefore{24 * 30};    // a month to notice that renewal fails

constexpr std::chrono::minutes kClockSkew{5};  // certificates begin this much before `now`

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM, PKCS #8

  bool operator==(const KeyPair&) const = default;
};

// A CA that may sign leaves only (path length 0).
Result<KeyPair> make_ca(const std::string& common_name, SystemTime now,
                        std::chrono::seconds validity = kCaValidity);

// A serverAuth leaf for `names` (DNS names, also "*.example", or IP addresses without brackets; at least
// one). It ends after `validity`, or with its CA.
Result<KeyPair> issue_server_certificate(const KeyPair& ca, const std::vector<std::string>& names,
                                         SystemTime now, std::chrono::seconds validity = kLeafValidity);

// True if `leaf` is signed by `ca_certificate`, its key fits, and it is valid at `now`.
bool is_valid(const KeyPair& leaf, const std::string& ca_certificate, SystemTime now);
// True if it names exactly `names`.
bool has_names(const KeyPair& leaf, const std::vector<std::string>& names);
// True if is_valid() now and kRenewBefore later, and has_names().
bool is_usable(const KeyPair& leaf, const std::string& ca_certificate, const std::vector<std::string>& names,
               SystemTime now);
// True if it is a CA that is valid at `now`, and has its key.
bool can_sign(const KeyPair& ca, SystemTime now);

// True if one of the certificates of `chain` (PEM: the leaf first, then its chain) is signed by one of
// `authorities` (PEM). Times are not looked at.
bool is_signed_by(const std::string& chain, const std::string& authorities);

// Each certificate of a PEM text on its own, in its order; what can't be read is left out.
std::vector<std::string> each_certificate(std::string_view pem);

struct SelfSignedFiles {
  std::filesystem::path ca, certificate, key;  // DIR/ca.crt, DIR/tls.crt, DIR/tls.key
  bool reused = false;                         // the files were usable as they were
};

// Makes `directory` if need be (0700). The CA's key is thrown away: a new leaf comes with a new CA.
Result<SelfSignedFiles> make_self_signed(const std::filesystem::path& directory,
                                         const std::vector<std::string>& names, SystemTime now);

}  // namespace nccl_env::net
