// SPDX-License-Identifier: Apache-2.0
// nccl-env check --new-ca: begins the replacement of the CA of managed certificates. The replicas do the rest
// (docs/operate/operations.md): each hook trusts both CAs before the certificate changes.
#pragma once

#include "check/checked.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// Takes the CA's key out of the webhook's Secret. Changes nothing, and says so, where a replacement is under
// way already. An error: what was read or written was refused, or the certificates are not the webhook's own.
// Needs get of the webhook configurations, get and update of the Secret.
Result<Checked> begin_new_ca(kube::ApiServer& client);

}  // namespace nccl_env::cli
