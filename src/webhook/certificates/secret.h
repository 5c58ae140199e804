// SPDX-License-Identifier: Apache-2.0
// The certificates of all replicas as one Secret, and as the caBundle of webhook configurations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "certificates/plan.h"

namespace nccl_env::webhook {

// Content of a Secret; "" for what is absent or not base64.
CertificateSet read_certificate_secret(const nlohmann::json& secret);

// Returns `secret` with `set` in it and everything else unchanged; a new Secret if `secret` is null.
nlohmann::json write_certificate_secret(nlohmann::json secret, const CertificateSet& set,
                                        std::string_view name_space, std::string_view name);

// The document for a server-side apply that gives each webhook of a {Mutating,Validating}WebhookConfiguration
// this caBundle and touches nothing else; nothing if each has it. It holds the object's resourceVersion: a
// configuration that changed meanwhile is a conflict, one that was deleted is not made again.
std::optional<std::string> ca_bundle_apply(const nlohmann::json& configuration, std::string_view bundle);

}  // namespace nccl_env::webhook
