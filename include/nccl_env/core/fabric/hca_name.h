// SPDX-License-Identifier: Apache-2.0
// Facts that an HCA's name tells: its family, whether it is a soft device, its place in a sorted list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nccl_env {

// The part that devices of one kind share. "mlx5_10" -> "mlx_" (all digits go); predictable path names
// (rdma-core's kernel-boot rules: rocep1s0f1, roceP2p1s0f1, ibp12s0) -> the letters before the first digit,
// lower case. rocex<MAC> -> "rocex", because hex letters may follow the x.
std::string hca_family(std::string_view hca);

// rxe and siw: software on an ordinary NIC. `driver` is "" where it is not known; then the name tells.
bool is_soft_device(std::string_view hca, std::string_view driver);

// Compares numbers as numbers and letters without their case; ties by bytes, so that the order is total.
bool hca_name_less(std::string_view left, std::string_view right);

// "mlx5_1-8 mlx5_10": runs of numbers behind one name; with brackets "gpu-[1-8] gpu-10".
std::string short_list(const std::vector<std::string>& names, std::string_view open = {},
                       std::string_view close = {});

}  // namespace nccl_env
