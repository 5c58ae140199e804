// SPDX-License-Identifier: Apache-2.0
// Lines by which programs show that a job works, or that an error of theirs was none.
#pragma once

#include <string_view>

namespace nccl_env {

// "'loss': 2.31", "lm loss: 2.3E+00", "loss=2.31": a step, in which all ranks take part. A rate (1.2it/s) may
// be one rank's alone, which loads a model while another has failed.
bool shows_work(std::string_view line);
// True for data of a job that reads or writes texts, in which any words may stand: {"text": "…"}.
bool is_sample(std::string_view line);
// Returns words of the failures that the line takes back; "" if it takes back none.
std::string_view taken_back_by(std::string_view line);

}  // namespace nccl_env
