// SPDX-License-Identifier: Apache-2.0
// nccl-env inject: manifests as the webhook would make them.
#include "cli/cli_inputs.h"

namespace nccl_env::inject_test {
namespace {

using namespace nccl_env::tests;

const std::string kJob = R"(
apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {clusterIP: None}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      hostNetwork: true
      containers:
      - {name: rank, image: example.org/train, resources: {limits: {rdma/hca: 1}}}
)";

class Inject : public Cli {
 protected:
  [[nodiscard]] CliResult inject(const std::string& file, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"inject", "-f", file, "--policy", policy});
    return run_cli(more);
  }

  const std::string job = write("job.yaml", kJob);
};

TEST_F(Inject, MakesTheTemplateAndLeavesTheRest) {
  expect_shown(inject(job));
  const CliResult made = inject(job, {"--table", table});  // and what its node's binding would bring
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("hostnetwork.nccl-env.io/nccl.conf"),
                              HasSubstr("NCCL_IB_HCA==mlx5_0"), HasSubstr("clusterIP: None")));
}

TEST_F(Inject, OfItsOwnOutputMakesTheSame) {
  for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--table", table}}) {
    const std::string once = inject(job, more).out;
    EXPECT_EQ(inject(write("once.yaml", once), more).out, once);
  }
}

// A pod that is to run needs an image that can be pulled.
TEST_F(Inject, BringsAnInitContainerOnlyWhereItsImageIsNamed) {
  const std::string own_rows = write("own.yaml", named(kJob, "      hostNetwork: true\n", ""));
  EXPECT_THAT(inject(own_rows).out, Not(HasSubstr("initContainers")));
  EXPECT_THAT(inject(own_rows).err, HasSubstr("without --resolver-image no init container"));
  EXPECT_THAT(inject(job).err, Not(HasSubstr("--resolver-image"))) << "explain -f says the same";
  const CliResult by_tag = inject(own_rows, {"--resolver-image", "r.example/agent:1"});
  EXPECT_THAT(by_tag.out, HasSubstr("image: r.example/agent:1"));
  EXPECT_THAT(by_tag.err, HasSubstr("names no digest"));
  const std::string status =
      kPolicy + "status: {maxTableAgeSeconds: 3600, resolverImage: r.example/agent:2}\n";
  EXPECT_THAT(run_cli({"inject", "-f", own_rows, "--policy", write("with.yaml", status)}).out,
              HasSubstr("image: r.example/agent:2"));
}

TEST_F(Inject, SaysWhatItDoesNotMake) {
  const std::string foreign = write("serving.yaml", R"(
kind: ClusterServingRuntime
metadata: {name: r}
spec: {containers: [{name: c, resources: {limits: {rdma/hca: 1}}}]}
)");
  expect_shown(inject(foreign));
  const std::string without_metadata = write("mpi.yaml", R"(
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: m}
spec:
  mpiReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: c, resources: {limits: {rdma/hca: 1}}}]}}
)");
  EXPECT_THAT(inject(without_metadata).out, HasSubstr("nccl-env.io/status"));
  expect_shown(
      inject(write("plain.yaml", "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n")));
  expect_shown(inject(write("none.yaml", "kind: Service\nmetadata: {name: s}\n")), 3);
}

}  // namespace
}  // namespace nccl_env::inject_test
