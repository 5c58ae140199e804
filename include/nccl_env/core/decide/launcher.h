// SPDX-License-Identifier: Apache-2.0
// Tells of a container's command the variables of NCCL that it sets, also for ranks elsewhere (mpirun -x),
// where they beat those of the ranks' own pods; and whether it starts ranks without the pod's env, or with it
// on other nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// A variable that a command sets; by its last word on it, if there are several.
struct CommandValue {
  std::string name;
  std::optional<std::string> value;  // absent where it is not literal
  bool certain = false;              // it is set whatever happens, and to nothing else
  bool for_ranks = false;            // given to all ranks that the command starts
  bool by_name = false;              // the same without a value (`-x NAME`): what the container's env has
};
// Those of NCCL and of other engines, in their order: `export NAME=…`, `NAME=… program`, `env NAME=…`; Open
// MPI's `-x NAME[=…]` and `--mca mca_base_env_list`, Hydra's (MPICH, Intel MPI) `-env`, `-genv NAME …` and
// `-envlist`, `-genvlist`. At most 64.
std::vector<CommandValue> command_values(const Container& container);

// True if it starts ranks that do not see its env. Its command or args start sshd or slurmd: by a word that
// is one, or a path of one, or as service ssh. So do workers of an MPIJob, whose image or script may start
// sshd. Slurm's ranks have the environment that srun brings.
bool serves_ranks(const Pod& pod, const Container& container);

// True if it starts processes on other nodes with its own env, which beats the files there: Hydra's mpiexec,
// DeepSpeed's and Horovod's launchers, Ray's workers, to which vLLM hands its variables. By a program's base
// name or `python -m`.
bool copies_env(const Container& container);

// Names the variables that a command gives to ranks and that override what the policy gives to their pods, or
// gives by a name that the container's env does not have, or has of its own node; "" if there are none.
// `plan`: of the pod, whose values that are not certain do not count; null: it gets none.
std::string launcher_warning(const Pod& pod, const NcclPolicy& policy, const Plan* plan);

}  // namespace nccl_env
