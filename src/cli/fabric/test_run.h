// SPDX-License-Identifier: Apache-2.0
// Runs a test in a cluster: creates its Job and Service, reads what member 0 tells, and deletes both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/test_job.h"
#include "fabric/untested_nodes.h"
#include "nccl_env/core/proof/proof.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/program/signals.h"
#include "nccl_env/program/terminal.h"

namespace nccl_env::cli {

struct TestRun {
  Proof proof;
  std::vector<UntestedNode> untested;
  std::vector<std::string> remarks;  // on what could not be read, or was left behind
};

// Fails with kNotSeen for a missing right, a lost cluster and a signal, with kNothing where nobody makes the
// Job. However it ends, the Job is deleted, and with it all that it made; a remark says where that failed.
// Needs create of jobs and services, list of pods, get of pods/log, delete of jobs; list of events tells
// more. `on_progress` is called when the test went on.
program::Failure run_test(kube::ApiServer& client, const TestTemplate& from, const TestJob& job,
                          const program::TerminationSignals& signals,
                          const std::function<void(const Proof&)>& on_progress, TestRun& into);

}  // namespace nccl_env::cli
