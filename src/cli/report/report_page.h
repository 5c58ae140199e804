// SPDX-License-Identifier: Apache-2.0
// The page of `nccl-env report`, with @text@ and then @data@ once each, where the command inserts them. The
// build generates the page's source from the files beside this one (cmake/ReportPage.cmake).
//
//   page.html, style, scripts --> the build --> kReportPage + [ FabricReport ] --> a file
//
// The page is a constant of the program, and what it shows comes from the JSON in it alone.
#pragma once

#include <string_view>

namespace nccl_env::cli {

extern const std::string_view kReportPage;

}  // namespace nccl_env::cli
