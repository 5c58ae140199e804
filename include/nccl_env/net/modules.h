// SPDX-License-Identifier: Apache-2.0
// Libraries that glibc and OpenSSL load by themselves, by the machine's configuration.
#pragma once

namespace nccl_env::net {

// For a program that is one file (`make portable`), before it starts a thread, resolves a name or uses TLS:
// the machine's libraries are made for its own glibc and OpenSSL, not for those in the file. From here on
// names come from /etc/hosts and DNS whatever nsswitch.conf says, and OpenSSL reads no configuration.
void load_no_modules();

}  // namespace nccl_env::net
