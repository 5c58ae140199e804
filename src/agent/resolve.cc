// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "nccl_env/base/descriptor.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/node/probe.h"
#include "nccl_env/program/inputs.h"
#include "within.h"

namespace nccl_env::agent {
namespace {

// The most that the kubelet reads of a termination message (MaxContainerTerminationMessageLength).
constexpr std::size_t kMaxMessage = 4096;
// The longest string that Linux takes in an environment (MAX_ARG_STRLEN).
constexpr std::size_t kMaxPolicy = 128u << 10;

Result<NcclPolicy> read_policy_text(const char* text) {
  if (!text || *text == '\0') return Error{"NCCL_ENV_POLICY is not set"};
  const std::string_view view(text);
  const auto json = view.size() > kMaxPolicy ? nlohmann::json() : parse_json(view);
  if (!json.is_object()) return Error{"NCCL_ENV_POLICY is not a JSON object"};
  // Admission has decided about values that load code.
  return parse_policy(json, {true});
}

node::ProbeResult read_pod(const std::filesystem::path& root) {
  const auto sysfs = node::open_sysfs(root.empty() ? "/sys" : root);
  node::ProbeOptions options;
  options.sysfs = sysfs.get();
  options.captured = !root.empty();
  options.all_interfaces = true;
  node::ProbeResult read = node::probe(options);
  read.table.name = "pod";
  return read;
}

// A firmware that hangs can hold up a read of sysfs for a minute. The file is then written without a
// decision. The process can still end only when the kernel ends the read, and the pod waits for the process.
// An incomplete table could name the wrong ports, so nothing is decided from one.
std::optional<node::ProbeResult> read_in_time(const ResolveArguments& arguments) {
  const std::chrono::milliseconds time(static_cast<int>(arguments.read_seconds * 1000));
  return within(time, [root = arguments.sysfs] { return read_pod(root); });
}

// Reads a table that was recorded in a pod, in place of the pod's devices.
Result<node::ProbeResult> read_recorded(const std::string& file, std::istream& in) {
  const auto tables = program::read_tables({file}, in);
  if (!tables) return tables.error();
  const auto table = program::choose_table(*tables, "");
  if (!table) return table.error();
  node::ProbeResult read;
  read.table = **table;
  return read;
}

// Writes in place, because the kubelet has mounted this very file.
void write_message(const std::filesystem::path& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) return;
  const std::string_view message = std::string_view(text).substr(0, kMaxMessage);
  [[maybe_unused]] const ssize_t written = ::write(file.get(), message.data(), message.size());
}

std::string text_in(const Environment& environment, std::string_view name) {
  const char* value = environment(std::string(name).c_str());
  return value ? value : "";
}

using Files = std::map<std::string, std::string, std::less<>>;

// The files that the pod's containers read: nccl.conf, EnvFile's, and those of engines.
Status write_all(const ResolveArguments& arguments, const std::string& conf, const std::string& env,
                 const Files& engines) {
  Status written = write_file(arguments.out, conf, 0644);
  if (written && !arguments.env_out.empty()) written = write_file(arguments.env_out, env, 0644);
  for (const Engine* engine : other_engines()) {
    if (!written || engine->file.empty() || arguments.engine_files.empty()) continue;
    const auto text = engines.find(engine->file);
    written =
        write_file(arguments.engine_files / engine->file, text == engines.end() ? "" : text->second, 0644);
  }
  return written;
}

// Where values cannot be written, all files are empty, as they have been since the start: a disk without
// room takes empty files.
void write_values(const ResolveArguments& arguments, const std::string& conf, Resolution& resolution) {
  const Status written = write_all(arguments, conf, render_env_file(resolution.env), resolution.files);
  if (written) return;
  resolution.problems.push_back(written.error().message + "; the file stays empty");
  const Status emptied = write_all(arguments, "", "", {});
  if (!emptied) resolution.problems.push_back(emptied.error().message);
}

// Writes what the Binding gave; touches no device.
Resolution write_given(const ResolveArguments& arguments, const Environment& environment) {
  const std::string conf = text_in(environment, init_variable::kConf);
  Resolution resolution =
      resolve_given(arguments.given, read_conf(conf), text_in(environment, init_variable::kNode));
  for (const Engine* engine : other_engines()) {
    if (!engine->file.empty())
      resolution.files.emplace(engine->file,
                               text_in(environment, std::string(init_variable::kFile).append(engine->file)));
  }
  write_values(arguments, conf, resolution);
  return resolution;
}

// Decides by the policy from what the pod shows.
Result<Resolution> write_found(const ResolveArguments& arguments, const Environment& environment,
                               std::istream& in) {
  Resolution resolution;
  const auto policy = read_policy_text(environment(std::string(init_variable::kPolicy).c_str()));
  std::optional<node::ProbeResult> read;
  if (!arguments.table.empty()) {
    auto recorded = read_recorded(arguments.table, in);
    if (!recorded) return recorded.error();
    read = *std::move(recorded);
  } else if (policy) {
    read = read_in_time(arguments);
  }
  if (!policy) {
    resolution.problems.push_back("PolicyInvalid: " + policy.error().message);
  } else if (read) {
    resolution = resolve_in_pod(*policy, read->table, arguments.host_network, *program::read_moment(""),
                                read_conf(text_in(environment, init_variable::kConf)));
    resolution.unread = std::move(read->problems);
  } else {
    resolution.problems.emplace_back("the devices could not be read in time; the file stays empty");
  }
  const auto conf = render_conf(resolution.values);
  if (!conf) resolution.problems.push_back(conf.error().message + "; the file stays empty");
  write_values(arguments, conf ? *conf : "", resolution);
  return resolution;
}

// A runtime gives all containers of a pod the same limit. -1: none.
std::optional<std::int64_t> memory_lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::nullopt;
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace

int resolve_pod(const ResolveArguments& arguments, const Environment& environment,
                const program::Terminal& terminal) {
  // Before anything else: a container whose file of EnvFile is missing does not start, and one whose
  // nccl.conf is missing has a folder in its place. After this exit code the kubelet tries again.
  const Status made = write_all(arguments, "", "", {});
  if (!made) return stop(terminal, program::kNotSeen, made.error().message);
  Result<Resolution> resolution = arguments.given.empty() ? write_found(arguments, environment, terminal.in)
                                                          : write_given(arguments, environment);
  if (!resolution) return stop(terminal, program::kNotSeen, resolution.error().message);
  resolution->memory_lock = memory_lock_limit();
  terminal.out << render_text(*resolution);
  write_message(arguments.termination_log, render_message(*resolution));
  const bool complete = resolution->complete && resolution->problems.empty();
  return complete || !arguments.strict ? program::kDone : program::kFinding;
}

}  // namespace nccl_env::agent
