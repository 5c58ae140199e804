// SPDX-License-Identifier: Apache-2.0
// The checks of the doctor, each over one pool, and what they add.
#pragma once

#include <vector>

#include "doctor/findings.h"

namespace nccl_env::doctor {

void check_node(Report& report);      // NoFabric, StaleTable
void check_presence(Report& report);  // HcaMissing, HcasDiffer, HardwareDiffers, PortDown
void check_speed(Report& report);     // RateLow, MtuDiffers
void check_index(Report& report);     // NoAddress, GidIndexDiffers
void check_drift(Report& report);     // GidIndexMoved, of ports
void check_subnets(Report& report);   // SubnetDiffers, FlatSubnet
// DuplicateAddress, over all pools: networks of two pools may be one.
void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings);

}  // namespace nccl_env::doctor
