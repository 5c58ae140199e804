// SPDX-License-Identifier: Apache-2.0
// Any text as certificate, key and client CA, parted by form feeds: refused or used.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "nccl_env/net/tls/tls.h"

namespace nccl_env::fuzz::certificate_fuzz {
namespace {

std::string_view take_part(std::string_view& input) {
  const std::string_view part = input.substr(0, input.find('\f'));
  input.remove_prefix(std::min(input.size(), part.size() + 1));
  return part;
}

void check_certificate(const net::CertificateInfo& info) {
  require(info.fingerprint.size() == 64, "a fingerprint is SHA-256 in hex");
  const auto warning = net::validity_warning(info, info.not_before);
  require(!warning || !warning->empty(), "a warning is a sentence");
}

}  // namespace

FUZZ_TARGET(certificate) {
  net::TlsPem pem;
  pem.certificate = take_part(input);
  pem.key = take_part(input);
  pem.client_ca = take_part(input);
  const auto info = net::read_certificate(pem.certificate, "a.crt");
  if (info) check_certificate(*info);
  const auto context = net::TlsContext::make(pem);
  if (!context) return;
  require(info && (*context)->info().fingerprint == info->fingerprint,
          "a context is of a readable certificate");
}

}  // namespace nccl_env::fuzz::certificate_fuzz
