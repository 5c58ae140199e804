// SPDX-License-Identifier: Apache-2.0
// What people read in few columns: HCA lists, names, cells of tables that keep to a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nccl_env {

// "mlx5_1-8 mlx5_10": runs of numbers behind one name.
std::string short_hca_list(const std::vector<std::string>& hcas);

// "ml/train-0"; the name alone where there is no namespace.
std::string object_name(const std::string& name_space, const std::string& name);

// The text, or what fits of it and "..".
std::string cut(std::string_view text, std::size_t width);

}  // namespace nccl_env
