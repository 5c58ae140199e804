// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/findings.h"

namespace nccl_env::doctor {

// Adds SubnetDiffers, FlatSubnet.
void check_subnets(Report& report);
// Over all pools: networks of two pools may be one.
void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings);

}  // namespace nccl_env::doctor
