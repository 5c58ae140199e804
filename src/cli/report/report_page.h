// SPDX-License-Identifier: Apache-2.0
// The page of `nccl-env report`: its two halves, between which the data stands. The build makes their source
// of the files beside this one (cmake/ReportPage.cmake).
#pragma once

#include <string_view>

namespace nccl_env::app {

extern const std::string_view kPageBefore;
extern const std::string_view kPageAfter;

}  // namespace nccl_env::app
