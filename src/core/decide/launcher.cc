// SPDX-License-Identifier: Apache-2.0
#include "decide/launcher.h"

#include <algorithm>
#include <array>

#include "decide/wanted.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

// A launcher's script has some KiB; a longer one is read only up to this limit.
constexpr std::size_t kMaxBytes = 64u << 10;
constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxShown = 8;

// The words of one argument: the argument itself, or the words of a shell command line in it. Quotes, and
// line ends with a backslash, only separate words: names contain neither.
void append_words(string_view text, std::vector<string_view>& words) {
  constexpr string_view kSeparators = " \t\r\n\"'\\;&|(){}";
  if (text.find_first_of(kSeparators) == string_view::npos) return words.push_back(text);
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == string_view::npos) return;
    text.remove_prefix(begin);
    const string_view word = text.substr(0, text.find_first_of(kSeparators));
    words.push_back(word);
    text.remove_prefix(word.size());
  }
}

std::vector<string_view> words_of(const Container& container) {
  std::vector<string_view> words;
  std::size_t bytes = 0;
  for (const string_view argument : container.arguments) {
    append_words(argument.substr(0, kMaxBytes - bytes), words);
    bytes = std::min(kMaxBytes, bytes + argument.size());
  }
  return words;
}

// NAME, NAME=VALUE
string_view name_of(string_view word) {
  constexpr string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const string_view name = word.substr(0, word.find('='));
  return name.find_first_not_of(kLetters) == string_view::npos ? name : string_view();
}

bool is_one_of(string_view word, std::initializer_list<string_view> options) {
  while (word.starts_with('-')) word.remove_prefix(1);
  return std::find(options.begin(), options.end(), word) != options.end();
}

void add_name(string_view word, std::vector<std::string>& names) {
  const string_view name = name_of(word);
  if (!name.starts_with("NCCL_") || names.size() == kMaxNames) return;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

bool policy_sets(const NcclPolicy& policy, string_view name) {
  if (name == variable::kIbHca) return policy.hca.kind != HcaRule::Kind::Omit;
  if (policy.sets_constant(name)) return true;
  if (in_gid_group(name)) return policy.gid_index.kind != GidIndexRule::Kind::Omit;
  if (name == variable::kIbPkey || name == variable::kIbPkeyValue) return policy.partition_key.has_value();
  return name == variable::kSocketIfname && (policy.varies_socket_interface() ||
                                             policy.socket_interface.kind != SocketInterfaceRule::Kind::Omit);
}

// The names that a container's command and args export to ranks, each once, in their order: Open MPI's
// `-x NAME[=VALUE]` and `--mca mca_base_env_list`, Hydra's (MPICH, Intel MPI) `-env`, `-genv NAME VALUE` or
// `NAME=VALUE`, and `-envlist`, `-genvlist`; also inside a shell's `-c` string. Only NCCL_*.
std::vector<std::string> exported_variables(const Container& container) {
  const std::vector<string_view> words = words_of(container);
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with('-') && words[i] != "mca_base_env_list") continue;
    if (is_one_of(words[i], {"x", "env", "genv"})) {
      add_name(words[i + 1], names);
    } else if (is_one_of(words[i], {"envlist", "genvlist"})) {
      string_view list = words[i + 1];
      while (!list.empty()) {
        const string_view entry = list.substr(0, list.find(','));
        add_name(entry, names);
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
      }
    } else if (words[i] == "mca_base_env_list") {  // NAME[=VALUE];… whose semicolons have separated words
      for (std::size_t next = i + 1; next < words.size() && words[next].starts_with("NCCL_"); ++next)
        add_name(words[next], names);
    }
  }
  return names;
}

// By mpi-operator's labels (kubeflow/mpi-operator, v2beta1: pkg/controller/mpi_job_controller.go); it reaches
// workers by ssh whatever their command is.
bool is_mpi_worker(const Pod& pod) {
  return pod.label("training.kubeflow.org/operator-name") == "mpi-operator" &&
         pod.label("training.kubeflow.org/job-role") == "worker";
}

}  // namespace

bool serves_ranks(const Pod& pod, const Container& container) {
  const std::vector<string_view> words = words_of(container);
  string_view before;
  const bool serves = std::any_of(words.begin(), words.end(), [&](string_view word) {
    const string_view name = word.substr(word.rfind('/') + 1);
    const bool service = word.ends_with("/init.d/ssh") || (before == "service" && word == "ssh");
    before = word;
    return service || name == "sshd" || name == "slurmd";
  });
  return serves || (container.kind == ContainerKind::Main && is_mpi_worker(pod));
}

bool copies_env(const Container& container) {
  constexpr std::array<string_view, 7> kLaunchers{
      "mpiexec.hydra",  "mpirun_rsh", "deepspeed", "horovodrun", "deepspeed.launcher.runner",
      "horovod.runner", "ray"};
  constexpr std::array<string_view, 9> kBefore{"-c",   "-lc",   "-ec",  "-m", "exec",
                                               "sudo", "nohup", "then", "do"};
  std::string line;  // the command as a shell would read it
  for (const string_view argument : container.arguments)
    line.append(line.empty() ? "" : " ")
        .append(argument.substr(0, kMaxBytes - std::min(kMaxBytes, line.size())));
  std::replace(line.begin(), line.end(), '\n', ';');
  bool at_command = true;  // a program's name stands here
  for (string_view left = line; !left.empty();) {
    const string_view word = left.substr(0, left.find_first_of(" \t;&|()"));
    const string_view name = word.substr(word.rfind('/') + 1);
    left.remove_prefix(word.size());
    const bool launches = std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
    if (at_command && launches && (name != "ray" || left.starts_with(" start"))) return true;
    const bool sets = at_command && word.find('=') != word.npos;  // NAME=VALUE before the program
    if (!word.empty()) at_command = sets || std::find(kBefore.begin(), kBefore.end(), word) != kBefore.end();
    if (left.empty()) break;
    at_command = at_command || (left.front() != ' ' && left.front() != '\t');
    left.remove_prefix(1);
  }
  return false;
}

std::string launcher_warning(const Pod& pod, const NcclPolicy& policy) {
  for (const Container& container : pod.containers) {
    std::vector<std::string> names = exported_variables(container);
    std::erase_if(names, [&](const std::string& name) { return !policy_sets(policy, name); });
    if (names.empty()) continue;
    return "container " + std::string(prefix_of(container.name, 63)) + ": its command gives ranks " +
           join_some(names, kMaxShown) + ", which override what policy " + policy.name +
           " sets in their pods" + "; without them ranks read those values from nccl.conf";
  }
  return {};
}

}  // namespace nccl_env
