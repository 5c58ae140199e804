// SPDX-License-Identifier: Apache-2.0
// A cluster's fabric for one page (docs/use/doctor.md): every node with its ports, what the doctor found on
// it, and the grid of nodes and HCAs. Pure data, without layout.
#pragma once

#include <string>
#include <string_view>

#include "nccl_env/judge/doctor/doctor.h"

namespace nccl_env {

// One JSON object in ASCII without '<', so that it may stand in a <script> element whatever names it holds.
// Nodes with an error come first, then those with a warning.
// Compact: each text stands once in `strings`. A record is a list, and `fields` holds the names of its
// fields; a field whose name begins with '$' is a place in `strings`. `diagnosis` is that of `input`. `title`
// is the cluster's name, "" where it is not known; `version` is the program's.
std::string to_page_json(const DoctorInput& input, const Diagnosis& diagnosis, std::string_view title,
                         std::string_view version);

}  // namespace nccl_env
