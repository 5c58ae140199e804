// SPDX-License-Identifier: Apache-2.0
// The decision path without the network: time and allocations of each step, and of whole answers beside 1,
// 1 000 and 15 000 tables. Inputs: a directory that inputs.py wrote.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <iostream>
#include <string>

#include "bench/counting_new.h"
#include "bench/fixture.h"
#include "decision_log.h"
#include "metrics.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/fabric/packed_table.h"
#include "nccl_env/webhook/admission.h"

namespace nccl_env::bench {
namespace {

constexpr const char* kNode = "node-00000";

template <class Step>
void measure(benchmark::State& state, Step step) {
  step();  // what is kept from one call to the next
  const std::uint64_t before = allocations();
  for (auto _ : state) step();
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(allocations() - before), benchmark::Counter::kAvgIterations);
}

void parse(benchmark::State& state, const char* file) {
  std::string bytes = read_input(file);
  const std::size_t size = bytes.size();
  bytes.resize(size + kJsonPadding);
  ReviewParser parser;
  measure(state,
          [&] { benchmark::DoNotOptimize(parser.parse_review(std::string_view(bytes.data(), size), true)); });
}
BENCHMARK_CAPTURE(parse, pod, "pod.json");
BENCHMARK_CAPTURE(parse, binding, "binding.json");

void read_table(benchmark::State& state, const char* file) {
  const std::string text = read_input(file);
  measure(state, [&] { benchmark::DoNotOptimize(read_node_fabric(text)); });
}
BENCHMARK_CAPTURE(read_table, 2x2, "table-2x2.json");
BENCHMARK_CAPTURE(read_table, 8x4, "table-8x4.json");
BENCHMARK_CAPTURE(read_table, 16x16, "table-16x16.json");

// Its counter `heap` is what malloc holds for a table that a replica keeps.
void pack_table(benchmark::State& state, const char* file) {
  constexpr std::size_t kKept = 200;
  const auto table = read_node_fabric(read_input(file));
  std::vector<SharedTable> kept(kKept);
  const std::size_t before = ::mallinfo2().uordblks;
  for (SharedTable& each : kept) each = pack(*table);
  state.counters["heap"] = static_cast<double>((::mallinfo2().uordblks - before) / kKept);
  measure(state, [&] { benchmark::DoNotOptimize(pack(*table)); });
}
BENCHMARK_CAPTURE(pack_table, 2x2, "table-2x2.json");
BENCHMARK_CAPTURE(pack_table, 8x4, "table-8x4.json");
BENCHMARK_CAPTURE(pack_table, 16x16, "table-16x16.json");

void unpack_table(benchmark::State& state, const char* file) {
  const SharedTable table = pack(*read_node_fabric(read_input(file)));
  measure(state, [&] { benchmark::DoNotOptimize(table->unpack()); });
}
BENCHMARK_CAPTURE(unpack_table, 8x4, "table-8x4.json");

void plan_of_pod(benchmark::State& state) {
  const Snapshot snapshot = make_snapshot(1);
  ReviewParser parser;
  const auto review = parser.parse_review(read_input("pod.json"));
  measure(state,
          [&] { benchmark::DoNotOptimize(plan_review(find_policy(snapshot, review->name_space), *review)); });
}
BENCHMARK(plan_of_pod);

void values_of_node(benchmark::State& state) {
  const Snapshot snapshot = make_snapshot(1);
  const auto policy = snapshot.policies.begin()->second.policy;
  const NodeFabric table = snapshot.tables.begin()->second->unpack();
  measure(state,
          [&] { benchmark::DoNotOptimize(node_values(*policy, kNode, &table, Exposure::Host, context())); });
}
BENCHMARK(values_of_node);

void plan_of_binding(benchmark::State& state) {
  const Snapshot snapshot = make_snapshot(1);
  const auto policy = snapshot.policies.begin()->second.policy;
  const NodeFabric table = snapshot.tables.begin()->second->unpack();
  measure(state, [&] { benchmark::DoNotOptimize(plan_binding(policy, kNode, &table, context())); });
}
BENCHMARK(plan_of_binding);

void render_of_pod(benchmark::State& state) {
  const Snapshot snapshot = make_snapshot(1);
  ReviewParser parser;
  const auto review = parser.parse_review(read_input("pod.json"));
  const Plan plan = plan_review(find_policy(snapshot, review->name_space), *review);
  measure(state, [&] {
    AdmissionResponse response;
    response.uid = review->uid;
    response.patch = render_pod_patch(review->pod, plan, nullptr).text;
    benchmark::DoNotOptimize(render_response(response));
  });
}
BENCHMARK(render_of_pod);

// Texts about a decision that has been made.
void metrics(benchmark::State& state, const char* file) {
  webhook::Admission admission(options());
  const auto answer = admission.answer(make_snapshot(1), read_input(file), false);
  const webhook::DecisionRecord& record = std::get<webhook::Answered>(answer).record;
  MetricRegistry registry;
  webhook::WebhookMetrics counters(registry);
  measure(state, [&] { counters.count(record, std::chrono::microseconds(10)); });
}
BENCHMARK_CAPTURE(metrics, pod, "pod.json");
BENCHMARK_CAPTURE(metrics, binding, "binding.json");

void log_line(benchmark::State& state, const char* file) {
  webhook::Admission admission(options());
  const auto answer = admission.answer(make_snapshot(1), read_input(file), false);
  const webhook::DecisionRecord& record = std::get<webhook::Answered>(answer).record;
  std::ofstream null("/dev/null");
  const auto log = Logger::to_stream(null, LogLevel::Info);
  measure(state, [&] { webhook::log_decision(*log, record, std::chrono::microseconds(10)); });
}
BENCHMARK_CAPTURE(log_line, pod, "pod.json");
BENCHMARK_CAPTURE(log_line, binding, "binding.json");

// From a review's bytes to the response's, with the record.
void answer(benchmark::State& state, const char* file, bool all_engines = false) {
  const store::Published<Snapshot> snapshots(
      std::make_shared<const Snapshot>(make_snapshot(state.range(0), all_engines)));
  store::Published<Snapshot>::Reader reader(snapshots);
  webhook::Admission admission(options());
  std::string bytes = read_input(file);
  const std::size_t size = bytes.size();
  bytes.resize(size + kJsonPadding);
  measure(state, [&] {
    benchmark::DoNotOptimize(admission.answer(*reader.newest(), std::string_view(bytes.data(), size), true));
  });
}
BENCHMARK_CAPTURE(answer, pod, "pod.json")->Arg(1)->Arg(1000)->Arg(15000);
BENCHMARK_CAPTURE(answer, binding, "binding.json")->Arg(1)->Arg(1000)->Arg(15000);
BENCHMARK_CAPTURE(answer, pod_all_engines, "pod.json", true)->Arg(1);
BENCHMARK_CAPTURE(answer, binding_all_engines, "binding.json", true)->Arg(1);

}  // namespace
}  // namespace nccl_env::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: decision_bench [--benchmark_…] DIRECTORY (that inputs.py wrote)\n";
    return 2;
  }
  nccl_env::bench::inputs = argv[1];
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
