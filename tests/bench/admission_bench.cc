// SPDX-License-Identifier: Apache-2.0
// The decision path without the network: CPU per recorded review, from bytes to patch.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

#include "nccl_env/core/decide.h"
#include "nccl_env/core/patch.h"
#include "nccl_env/core/review.h"

namespace {

std::string read_sample(const std::string& name) {
  std::ifstream file(NCCL_ENV_SOURCE_DIR "/tests/data/admission/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

void parse_plan_patch(benchmark::State& state) {
  const std::string bytes = read_sample("pod-create-deployment.json");
  nccl_env::NcclPolicy policy;
  policy.name = "bench";
  policy.containers = nccl_env::ContainerScope::All;
  policy.resources = {{"rdma/*", nccl_env::Exposure::Host}};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}, {"NCCL_IB_QPS_PER_CONNECTION", "8"}};

  nccl_env::ReviewParser parser;
  for (auto _ : state) {
    const auto review = parser.parse_review(bytes);
    if (!review) {
      state.SkipWithError(review.error().message.c_str());
      return;
    }
    benchmark::DoNotOptimize(render_pod_patch(review->pod, plan_pod(review->pod, policy), nullptr));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(parse_plan_patch);

}  // namespace
