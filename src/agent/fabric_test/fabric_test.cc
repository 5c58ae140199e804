// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <future>
#include <ostream>

#include "commands.h"
#include "nccl_env/node/probe.h"
#include "nccl_env/packets/collector.h"
#include "nccl_env/packets/member.h"
#include "nccl_env/packets/rails.h"
#include "nccl_env/program/inputs.h"
#include "nccl_env/program/nccl_process.h"

namespace nccl_env::agent {
namespace {

// A container's first process ignores signals that it does not handle. The journal is written line by line,
// and the kernel releases devices, so that nothing is left to do.
extern "C" void end_at_once(int signal) {
  ::_exit(128 + signal);
}

packets::OwnRails read_rails(const FabricTestArguments& arguments, const NcclVersion& version,
                             node::Verbs& verbs, const packets::MakeQueuePair& packets) {
  const auto sysfs = node::open_sysfs(arguments.sysfs.empty() ? "/sys" : arguments.sysfs);
  node::ProbeOptions options;
  options.sysfs = sysfs.get();
  options.captured = true;  // with rows of all namespaces, as NCCL reads sysfs
  const NodeFabric seen = node::probe(options).table;
  options.captured = !arguments.sysfs.empty();
  if (!options.captured) options.verbs = &verbs;
  const NodeFabric own = node::probe(options).table;
  const program::NcclProcess process = program::read_nccl_process();
  return packets::find_rails({seen, own, process.env, version}, packets);
}

}  // namespace

int test_fabric(const FabricTestArguments& arguments, const Environment& environment, node::Verbs& verbs,
                const packets::MakeQueuePair& packets, const program::Terminal& terminal) {
  const auto deadline = packets::Clock::now() + arguments.deadline;
  const char* const token = environment("FABRIC_TEST_TOKEN");
  if (!token || *token == '\0')
    return stop(terminal, program::kUsage, "FABRIC_TEST_TOKEN is not set; give all members the same secret");
  if (arguments.place >= arguments.members)
    return stop(terminal, program::kUsage, "--place has to be below --members");
  const auto version = program::read_nccl_version(arguments.nccl_version);
  if (!version) return stop(terminal, program::kUsage, "--nccl-version: " + version.error().message);
  std::signal(SIGTERM, end_at_once);
  std::signal(SIGINT, end_at_once);

  std::future<Status> collected;
  if (arguments.place == 0) {
    auto listening = packets::listen_on(arguments.port);
    if (!listening) return stop(terminal, program::kNotSeen, listening.error().message);
    const packets::CollectorOptions options{.expected = arguments.members,
                                            .token = token,
                                            .all_pairs = arguments.all_pairs,
                                            .cross_rails = arguments.cross_rails,
                                            .wait = arguments.wait,
                                            .deadline = deadline};
    collected = std::async(std::launch::async, [options, &terminal, door = *std::move(listening)]() mutable {
      return packets::collect(options, std::move(door), terminal.out);
    });
  }
  packets::OwnRails own = read_rails(arguments, *version, verbs, packets);
  for (const std::string& note : own.rails.empty() ? own.notes : std::vector<std::string>())
    terminal.err << terminal.program << ": " << note << '\n';
  const Status member =
      packets::run_member({.collector = collected.valid() ? "127.0.0.1" : arguments.collector,
                           .port = arguments.port,
                           .token = token,
                           .place = arguments.place,
                           .node = arguments.node,
                           .deadline = deadline},
                          own.rails, packets);
  if (!member) terminal.err << terminal.program << ": " << member.error().message << '\n';
  if (!collected.valid()) return program::kDone;
  const Status all = collected.get();
  return all ? program::kDone : stop(terminal, program::kNotSeen, all.error().message);
}

}  // namespace nccl_env::agent
