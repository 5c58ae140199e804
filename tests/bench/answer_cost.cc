// SPDX-License-Identifier: Apache-2.0
// Answers one review again and again, for cost.py: answer_cost DIRECTORY REVIEW ENGINES ANSWERS, where
// DIRECTORY is what inputs.py wrote, REVIEW a file in it, and ENGINES "nccl" or "all". Prints the allocations
// of one answer.
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <variant>

#include "bench/counting_new.h"
#include "bench/fixture.h"

int main(int argc, char** argv) {
  using namespace nccl_env;
  const int answers = argc == 5 ? std::atoi(argv[4]) : 0;
  if (answers < 1) {
    std::cerr << "usage: answer_cost DIRECTORY REVIEW nccl|all ANSWERS\n";
    return 2;
  }
  bench::inputs = argv[1];
  const Snapshot snapshot = bench::make_snapshot(1, std::string_view(argv[3]) == "all");
  webhook::Admission admission(bench::options());
  std::string bytes = bench::read_input(argv[2]);
  const std::size_t size = bytes.size();
  bytes.resize(size + kJsonPadding);
  const auto answer = [&] {
    const webhook::Answer made = admission.answer(snapshot, std::string_view(bytes.data(), size), true);
    const auto* answered = std::get_if<webhook::Answered>(&made);
    return answered != nullptr && answered->response.find("\"patch\"") != std::string::npos;
  };
  bool patched = answer();  // what is kept from one answer to the next
  const std::uint64_t before = bench::allocations();
  for (int i = 0; i < answers; ++i) patched = answer() && patched;
  const std::uint64_t all = bench::allocations() - before;
  if (!patched || all % static_cast<std::uint64_t>(answers) != 0) {
    std::cerr << "answer_cost: the answers are without a patch, or differ in what they allocate\n";
    return 1;
  }
  std::cout << all / static_cast<std::uint64_t>(answers) << '\n';
  return 0;
}
