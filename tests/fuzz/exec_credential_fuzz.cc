// SPDX-License-Identifier: Apache-2.0
#include "exec/credential.h"
#include "fuzz/fuzz.h"

namespace nccl_env::fuzz::exec_credential_fuzz {

FUZZ_TARGET(exec_credential) {
  const auto credential = kube::parse_exec_credential(input, "client.authentication.k8s.io/v1");
  if (!credential) return require(!credential.error().message.empty(), "a refusal has a sentence");
  require(!credential->token.empty() || !credential->certificate.empty(), "a credential holds something");
  require(credential->certificate.empty() == credential->key.empty(), "certificate and key come together");
  require(credential->token.find_first_of(std::string_view(" \r\n\0", 4)) == std::string::npos,
          "nothing splits a request");
}

}  // namespace nccl_env::fuzz::exec_credential_fuzz
