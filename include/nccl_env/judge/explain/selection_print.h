// SPDX-License-Identifier: Apache-2.0
// Tells people which devices NCCL takes: all of it, or a sentence on what it would do without us.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/nccl/select.h"

namespace nccl_env {

// The note on a variable whose value is not known.
std::string note_elsewhere(std::string_view variable);

// The notes on a file of the container's own, in which NCCL_IB_HCA may stand, or which its env beats in that.
inline constexpr std::string_view
    kNoteOwnList =
        "The container's own file may hold NCCL_IB_HCA and other variables, which are not known here.",
    kNoteOwnFile = "The container's own file may hold further variables, which are not known here.";

// How much of it an explanation shows: the sentence, or both choices with their notes.
enum class Choices { Compared, Both };

std::string render_text(const NcclSelection& selection, std::size_t indent);

// Blocks "NCCL 2.21.5 alone" and "… with these variables"; notes on both stand once. "" without selections.
std::string selections_text(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                            const std::optional<NcclSelection>& with_us);

// One line: "NCCL 2.21.5 alone also takes mlx5_0, and GID index 1 on all." "" without selections.
std::string choice_text(const NcclVersion& version, const std::optional<NcclSelection>& alone,
                        const std::optional<NcclSelection>& with_us);

}  // namespace nccl_env
