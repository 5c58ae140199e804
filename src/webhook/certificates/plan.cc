// SPDX-License-Identifier: Apache-2.0
#include "certificates/plan.h"

#include <algorithm>

#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::webhook {
namespace {

// A roll-over needs three. More come from CAs that were made anew by hand, and the oldest go first: the API
// server sends all of them with every configuration.
constexpr std::size_t kMaxTrusted = 8;

// Returns when two thirds of a certificate's life are over; the epoch if it can't be read.
net::SystemTime renewal_time(const std::string& certificate) {
  const auto info = net::read_certificate(certificate, "certificate");
  if (!info) return {};
  const net::SystemTime start = info->not_before + net::kClockSkew;
  return start + (info->not_after - start) * 2 / 3;
}

net::SystemTime end_of(const std::string& certificate) {
  const auto info = net::read_certificate(certificate, "certificate");
  return info ? info->not_after : net::SystemTime();
}

// Plans one round from the set that was found.
class Planner {
 public:
  Planner(const CertificateSet& found, const CertificateRules& rules, net::SystemTime now,
          std::optional<net::SystemTime> trusted_since)
      : set_(found), rules_(rules), now_(now), trusted_since_(trusted_since) {}

  Result<CertificatePlan> plan() {
    if (set_.next_ca != net::KeyPair{} && !net::can_sign(set_.next_ca, now_)) {
      set_.next_ca = {};
      step(CertificateStep::Withdraw);
    }
    for (const auto part : {&Planner::plan_ca, &Planner::promote, &Planner::plan_leaf}) {
      if (const Status planned = (this->*part)(); !planned) return planned.error();
    }
    plan_trusted();
    return CertificatePlan{std::move(set_), std::move(steps_)};
  }

 private:
  void step(CertificateStep taken) { steps_.push_back(taken); }

  // True if clients that trust the set's authorities accept the leaf.
  [[nodiscard]] bool leaf_serves() const {
    std::vector<std::string> authorities = net::each_certificate(set_.trusted);
    authorities.push_back(set_.ca.certificate);
    return std::any_of(authorities.begin(), authorities.end(), [&](const std::string& authority) {
      return net::is_valid(set_.leaf, authority, now_);
    });
  }

  [[nodiscard]] Result<net::KeyPair> new_ca() const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_.time_since_epoch()).count();
    return net::make_ca("nccl-env CA " + std::to_string(seconds), now_, rules_.ca_lifetime);
  }

  Status plan_ca() {
    const bool signs = net::can_sign(set_.ca, now_);
    if (!set_.next_ca.certificate.empty() || (signs && now_ < renewal_time(set_.ca.certificate)))
      return done();
    auto made = new_ca();
    if (!made) return made.error();
    const bool at_once = !signs && !leaf_serves();
    (at_once ? set_.ca : set_.next_ca) = *std::move(made);
    step(at_once ? CertificateStep::NewCa : CertificateStep::NextCa);
    return done();
  }

  Status promote() {
    if (set_.next_ca.certificate.empty()) return done();
    const bool settled =
        trusted_since_ && now_ - *trusted_since_ >= rules_.settle && trusts(set_.next_ca.certificate);
    const bool no_choice = !net::can_sign(set_.ca, now_) && !leaf_serves();
    if (!settled && !no_choice) return done();
    set_.ca = std::move(set_.next_ca);
    set_.next_ca = {};
    step(CertificateStep::Promote);
    return done();
  }

  [[nodiscard]] bool trusts(const std::string& certificate) const {
    const auto trusted = net::each_certificate(set_.trusted), wanted = net::each_certificate(certificate);
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
      return std::find(trusted.begin(), trusted.end(), one) != trusted.end();
    });
  }

  // A CA near its end gives a new leaf no more time than the old one has: then there is nothing to renew.
  [[nodiscard]] bool leaf_due() const {
    if (!net::is_valid(set_.leaf, set_.ca.certificate, now_) || !net::has_names(set_.leaf, rules_.names))
      return true;
    const net::SystemTime possible_end = std::min(now_ + rules_.leaf_lifetime, end_of(set_.ca.certificate));
    return now_ >= renewal_time(set_.leaf.certificate) && possible_end > end_of(set_.leaf.certificate);
  }

  Status plan_leaf() {
    if (!net::can_sign(set_.ca, now_) || !leaf_due()) return done();
    auto issued = net::issue_server_certificate(set_.ca, rules_.names, now_, rules_.leaf_lifetime);
    if (!issued) return issued.error();
    set_.leaf = *std::move(issued);
    step(CertificateStep::NewLeaf);
    return done();
  }

  // Certificates that stay keep their place: an order that changes would be written to every client for
  // nothing.
  void plan_trusted() {
    std::vector<std::string> all = net::each_certificate(set_.trusted);
    std::size_t withdrawn =
        std::erase_if(all, [&](const std::string& former) { return end_of(former) <= now_; });
    for (const std::string* authority : {&set_.ca.certificate, &set_.next_ca.certificate}) {
      for (std::string& one : net::each_certificate(*authority)) {
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
      }
    }
    for (; all.size() > kMaxTrusted; ++withdrawn) all.erase(all.begin());
    std::string joined;
    for (const std::string& authority : all) joined += authority;
    if (joined == set_.trusted) return;
    if (withdrawn > 0 || steps_.empty()) step(CertificateStep::Withdraw);
    set_.trusted = std::move(joined);
  }

  CertificateSet set_;
  const CertificateRules& rules_;
  const net::SystemTime now_;
  const std::optional<net::SystemTime> trusted_since_;
  std::vector<CertificateStep> steps_;
};

}  // namespace

std::string_view to_string(CertificateStep step) {
  constexpr std::array<std::string_view, 5> kNames{"new CA", "next CA", "next CA signs", "new certificate",
                                                   "withdrawn"};
  return name_in(kNames, step);
}

Result<CertificatePlan> plan_certificates(const CertificateSet& found, const CertificateRules& rules,
                                          net::SystemTime now, std::optional<net::SystemTime> trusted_since) {
  return Planner(found, rules, now, trusted_since).plan();
}

std::optional<net::SystemTime> ca_end(const CertificateSet& set) {
  const auto info = net::read_certificate(set.ca.certificate, "CA");
  return info ? std::optional(info->not_after) : std::nullopt;
}

}  // namespace nccl_env::webhook
