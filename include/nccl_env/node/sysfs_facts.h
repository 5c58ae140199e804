// SPDX-License-Identifier: Apache-2.0
// Facts of a table that one attribute of a device in sysfs holds as it is: read by devices, written into the
// trees of tests, named in the dictionary of the fuzzers. Kind and bounds are those of the described field.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env::node {

template <class Value>
struct SysfsFact {
  std::string_view attribute;  // below class/infiniband/DEVICE/
  std::optional<Value> Port::*member;
  std::string_view none = {};  // a text that says that the device has none
};

inline constexpr std::tuple kSysfsFacts{
    SysfsFact<std::string>{"board_id", &Port::board_id},
    SysfsFact<std::string>{"sys_image_guid", &Port::sys_image_guid, "0000:0000:0000:0000"},
    SysfsFact<int>{"device/numa_node", &Port::numa_node}};

}  // namespace nccl_env::node
