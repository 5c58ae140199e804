// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/modules.h"

#include <nss.h>
#include <openssl/crypto.h>

namespace nccl_env::net {

void load_no_modules() {
  // Both fail without memory alone, and then so does what follows. These two services are inside glibc
  // since 2.34.
  ::__nss_configure_lookup("hosts", "files dns");
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

}  // namespace nccl_env::net
