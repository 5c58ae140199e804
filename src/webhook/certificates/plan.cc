// SPDX-License-Identifier: Apache-2.0
#include "certificates/plan.h"

#include <algorithm>

#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::webhook {
namespace {

net::SystemTime end_of(const std::string& certificate) {
  const auto info = net::read_certificate(certificate, "certificate");
  return info ? info->not_after : net::SystemTime();
}

// Returns when two thirds of a certificate's life are over; the epoch if it can't be read.
net::SystemTime renewal_time(const std::string& certificate) {
  const auto info = net::read_certificate(certificate, "certificate");
  if (!info) return {};
  const net::SystemTime start = info->not_before + net::kClockSkew;
  return start + (info->not_after - start) * 2 / 3;
}

// Plans one round from the set that was found.
class Planner {
 public:
  Planner(const CertificateSet& found, const CertificateRules& rules, net::SystemTime now, bool seen_trusted)
      : set_(found), rules_(rules), now_(now), seen_trusted_(seen_trusted) {}

  Result<CertificatePlan> plan() {
    drop_unreadable();
    if (!signs_long_enough()) {
      if (const Status made = replace_ca(); !made) return made.error();
    }
    const bool of_this_ca = net::is_valid(set_.leaf, set_.ca.certificate, now_);
    // In the middle of a replacement: clients accept the old leaf, and may not know the new CA yet.
    const bool waits = !of_this_ca && leaf_is_trusted(set_, now_) && !seen_trusted_;
    if (!waits && (!of_this_ca || is_due())) {
      if (const Status issued = issue(); !issued) return issued.error();
      // By a renewal each replica has long served the leaf before, which was of this CA, too.
      if (of_this_ca) withdraw();
    }
    return CertificatePlan{std::move(set_), std::move(steps_)};
  }

 private:
  // The API server takes no caBundle with anything else in it.
  void drop_unreadable() {
    std::string readable;
    for (const std::string& one : net::each_certificate(set_.former_cas)) {
      if (end_of(one) > now_) readable += one;
    }
    if (readable == set_.former_cas) return;
    set_.former_cas = std::move(readable);
    steps_.push_back(CertificateStep::Withdraw);
  }

  [[nodiscard]] bool signs_long_enough() const {
    return net::can_sign(set_.ca, now_) && now_ + rules_.leaf_lifetime <= end_of(set_.ca.certificate);
  }

  Status replace_ca() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_.time_since_epoch()).count();
    auto made = net::make_ca("nccl-env CA " + std::to_string(seconds), now_);
    if (!made) return made.error();
    // Clients go on to trust the leaf's CA as long as the leaf is served.
    if (net::is_valid(set_.leaf, set_.ca.certificate, now_)) {
      for (const std::string& one : net::each_certificate(set_.ca.certificate)) set_.former_cas += one;
    }
    set_.ca = *std::move(made);
    seen_trusted_ = false;
    steps_.push_back(CertificateStep::NewCa);
    return done();
  }

  [[nodiscard]] bool is_due() const {
    return !net::has_names(set_.leaf, rules_.names) || now_ >= renewal_time(set_.leaf.certificate);
  }

  Status issue() {
    auto issued = net::issue_server_certificate(set_.ca, rules_.names, now_, rules_.leaf_lifetime);
    if (!issued) return issued.error();
    set_.leaf = *std::move(issued);
    steps_.push_back(CertificateStep::NewLeaf);
    return done();
  }

  void withdraw() {
    if (set_.former_cas.empty()) return;
    set_.former_cas.clear();
    steps_.push_back(CertificateStep::Withdraw);
  }

  CertificateSet set_;
  const CertificateRules& rules_;
  const net::SystemTime now_;
  bool seen_trusted_;
  std::vector<CertificateStep> steps_;
};

}  // namespace

std::string_view to_string(CertificateStep step) {
  constexpr std::array<std::string_view, kCertificateSteps> kNames{"NewCa", "NewLeaf", "Withdraw"};
  return name_in(kNames, step);
}

bool leaf_is_trusted(const CertificateSet& set, net::SystemTime now) {
  const auto authorities = net::each_certificate(set.trusted());
  return std::any_of(authorities.begin(), authorities.end(),
                     [&](const std::string& authority) { return net::is_valid(set.leaf, authority, now); });
}

Result<CertificatePlan> plan_certificates(const CertificateSet& found, const CertificateRules& rules,
                                          net::SystemTime now, bool seen_trusted) {
  return Planner(found, rules, now, seen_trusted).plan();
}

}  // namespace nccl_env::webhook
