// SPDX-License-Identifier: Apache-2.0
// Next steps of a webhook that is its own certificate authority: make a CA, issue or renew the serving
// certificate, roll the CA over. The clock, and what clients trust, are arguments; keys are made, nothing is
// stored here. docs/operate/operations.md describes this for operators.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/net/tls/pki.h"
#include "nccl_env/result.h"

namespace nccl_env::webhook {

// Certificates that all replicas share. A certificate that is empty or can't be used counts as missing.
struct CertificateSet {
  net::KeyPair ca;       // signs
  net::KeyPair leaf;     // serves
  net::KeyPair next_ca;  // in a roll-over: trusted already, signs soon
  std::string trusted;   // PEM, what clients are to trust: former CAs until they end, `ca`, `next_ca`

  bool operator==(const CertificateSet&) const = default;
};

struct CertificateRules {
  std::vector<std::string> names;  // of the leaf
  // Renewed after two thirds: a month is left to notice that renewal fails.
  std::chrono::seconds leaf_lifetime = std::chrono::hours(24 * 90);
  // Rolled over after two thirds: the last third is longer than any leaf's remaining life.
  std::chrono::seconds ca_lifetime = std::chrono::hours(24 * 365);
  // The time for which clients have trusted a new CA before a leaf of it serves. API servers learn of a
  // changed webhook configuration within seconds.
  std::chrono::seconds settle = std::chrono::minutes(2);
};

enum class CertificateStep {
  NewCa,     // neither CA nor leaf was usable: clients' trust changes at once
  NextCa,    // a roll-over begins
  Promote,   // the next CA signs from now on
  NewLeaf,   // issued or renewed
  Withdraw,  // taken out: a CA that has ended or is one too many, or unusable data
};
std::string_view to_string(CertificateStep step);

struct CertificatePlan {
  CertificateSet set;                  // to be stored, then trusted, then served
  std::vector<CertificateStep> steps;  // in this order; none: `set` is what was found
};

// `trusted_since`: since when all clients have been seen to trust `found.trusted`; nothing: not yet. A plan
// made again from its own result, at the same time, has no steps. No CA leaves `trusted` before every leaf
// that it signed has ended, unless there are too many CAs. Fails only for bad names or if OpenSSL fails.
Result<CertificatePlan> plan_certificates(const CertificateSet& found, const CertificateRules& rules,
                                          net::SystemTime now, std::optional<net::SystemTime> trusted_since);

// The end of the CA that signs; nothing if there is none.
std::optional<net::SystemTime> ca_end(const CertificateSet& set);

}  // namespace nccl_env::webhook
