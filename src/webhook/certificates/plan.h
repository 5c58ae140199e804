// SPDX-License-Identifier: Apache-2.0
// Next steps of a webhook that is its own certificate authority: make a CA, issue or renew the serving
// certificate, and, where the CA is replaced, keep the order in which clients lose no trust. The clock, and
// what clients trust, are arguments; keys are made, nothing is stored here.
//
//   [ CA ] -- signs --> [ leaf ] -- is served to --> clients that trust [ former CAs ] + [ CA ]
//
// The Secret owns all three; a replica has a copy. Only the CA has a key: a former CA, of which leaves may
// still be served, is a certificate alone. docs/operate/operations.md describes this for operators.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/net/tls/pki.h"
#include "nccl_env/result.h"

namespace nccl_env::webhook {

// Certificates that all replicas share. A certificate that is empty or can't be used counts as missing.
struct CertificateSet {
  net::KeyPair ca;         // signs
  net::KeyPair leaf;       // serves; while the CA is being replaced it is still of a former one
  std::string former_cas;  // PEM; "" except from a CA's replacement until the next renewal of the leaf

  // PEM, what clients are to trust.
  [[nodiscard]] std::string trusted() const { return former_cas + ca.certificate; }
  bool operator==(const CertificateSet&) const = default;
};

struct CertificateRules {
  std::vector<std::string> names;  // of the leaf
  // Renewed after two thirds: a month is left to notice that renewal fails.
  std::chrono::seconds leaf_lifetime = std::chrono::hours(24 * 90);
};

enum class CertificateStep {
  NewCa,     // of ten years: there was none that signs, or it ends too soon for another leaf
  NewLeaf,   // issued or renewed
  Withdraw,  // former CAs are trusted no longer
};
inline constexpr std::size_t kCertificateSteps = 3;
std::string_view to_string(CertificateStep step);

struct CertificatePlan {
  CertificateSet set;                  // to be stored, then trusted, then served
  std::vector<CertificateStep> steps;  // in this order
};

// True if clients that trust what they are to trust accept the leaf.
bool leaf_is_trusted(const CertificateSet& set, net::SystemTime now);

// `seen_trusted`: all clients have been seen to trust `found.trusted()` for a while. The leaf changes to a
// new CA only then, or if it is not accepted any more. A plan made again from its own result, at the same
// time, has no steps. Fails only for bad names or if OpenSSL fails.
Result<CertificatePlan> plan_certificates(const CertificateSet& found, const CertificateRules& rules,
                                          net::SystemTime now, bool seen_trusted);

}  // namespace nccl_env::webhook
