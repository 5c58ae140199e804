// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace nccl_env {

// A pod of a job, which the labels of the job's operator name.
struct JobRank {
  std::string name;                     // "worker-3", "5"; the pod's name where labels do not tell
  std::size_t member = 0;               // its place among the members
  bool compared = false;                // false: not injected (a launcher), or finished while others run
  std::vector<std::string> hcas;        // of its exact list; empty where it has none
  std::string gid_index;                // "" where it has none
  bool missed = false;                  // missed at admission, judged by what the other ranks have
  bool replaced = false;                // it failed, and the rank has another pod that has not
  bool without = false;                 // asks for devices as the others, and was given nothing
  std::vector<std::string> lacks = {};  // of such a rank: resources that those with values all ask for
  bool odd = false;                     // an error or a warning names it
};

}  // namespace nccl_env
