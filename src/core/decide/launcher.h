// SPDX-License-Identifier: Apache-2.0
// Commands that start ranks elsewhere and give them NCCL variables (mpirun -x): these beat the variables that
// the ranks' own pods got. Also commands of the ranks' pods: sshd and slurmd start ranks without the pod's
// env.
#pragma once

#include <string>

#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env {

// True if it starts ranks that do not see its env. Its command or args, also inside a shell's `-c` string,
// start sshd or slurmd: by a word that is one, or a path of one, or as service ssh. So do workers of an
// MPIJob, whose image or script may start sshd. Slurm's ranks have the environment that srun brings.
bool serves_ranks(const Pod& pod, const Container& container);

// True if it starts processes on other nodes with its own env, which beats the files there: Hydra's mpiexec,
// DeepSpeed's and Horovod's launchers, Ray's workers, to which vLLM hands its variables. By a program's base
// name or `python -m`.
bool copies_env(const Container& container);

// For a pod that is not RDMA itself: names the exported variables that override what the policy gives to the
// ranks' pods; "" if there are none.
std::string launcher_warning(const Pod& pod, const NcclPolicy& policy);

}  // namespace nccl_env
