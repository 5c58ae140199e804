// SPDX-License-Identifier: Apache-2.0
// When an object was written, by the API server's clock.
#pragma once

#include <optional>
#include <string_view>

#include "nccl_env/core/text/timestamp.h"
#include "text/json_fields.h"

namespace nccl_env::json {

// Returns the time of the newest write by `manager`, or by anybody ("") of all but a subresource such as its
// status. Nothing if the metadata tells none, as kubectl get leaves managedFields away.
std::optional<Timestamp> newest_write(Element metadata, std::string_view manager = {});

}  // namespace nccl_env::json
