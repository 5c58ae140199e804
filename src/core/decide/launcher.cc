// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/launcher.h"

#include <algorithm>
#include <array>

#include "command/command.h"
#include "nccl_env/core/decide/wanted.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {
namespace {

using std::string_view;

constexpr std::size_t kMostValues = 64;
constexpr std::size_t kMostShown = 8;

// Collects what commands set.
class Assignments {
 public:
  void read(const CommandWords& words, bool certain) {
    const std::size_t program = program_of(words);
    // A shell's variable is no variable of the environment, unless it is exported somewhere.
    const bool runs = certain && program < words.size();
    for (std::size_t i = 0; i < program; ++i) {
      const string_view word = words[i].text;
      if (base_name(word) == "env" && i + 1 < program && words[i + 1].text == "-i") forget({});
      add(words[i], runs, false);
    }
    if (program == words.size()) return;
    const string_view name = base_name(words[program].text);
    for (std::size_t i = program + 1; i < words.size(); ++i) {
      if (name == "export") add(words[i], certain, false);
      if (name == "unset") forget(words[i].text);
    }
    const bool launches =
        name.starts_with("mpi") || name.starts_with("orterun") || name.starts_with("prterun");
    for (std::size_t i = program + 1; i + 1 < words.size(); ++i) add_exports(words, i, certain && launches);
  }

  std::vector<CommandValue> take() { return std::move(values_); }

 private:
  // NAME, NAME=VALUE. A name alone says that one set before is given to ranks.
  void add(const CommandWord& word, bool certain, bool for_ranks) {
    const string_view text = word.text;
    const std::size_t equals = std::min(text.find('='), text.size());
    const string_view name = text.substr(0, equals);
    const bool has_value = equals < text.size();
    if (!has_known_prefix(name) || !is_variable_name(name) || (!has_value && !for_ranks)) return;
    const auto found =
        std::find_if(values_.begin(), values_.end(), [&](const auto& one) { return one.name == name; });
    CommandValue made{std::string(name), {}, certain && has_value, for_ranks, !has_value};
    if (has_value && word.literal) made.value = text.substr(equals + 1);
    if (found == values_.end()) {
      if (values_.size() < kMostValues) values_.push_back(std::move(made));
    } else if (!has_value) {
      found->for_ranks = true;
    } else if (for_ranks && !found->for_ranks) {
      *found = std::move(made);
    } else if (for_ranks == found->for_ranks && (!made.certain || made.value != found->value)) {
      found->certain = false;
    }
  }

  // Makes uncertain what is said of this variable; "": of all.
  void forget(string_view name) {
    for (CommandValue& value : values_) value.certain = value.certain && !name.empty() && value.name != name;
  }

  void add_list(const CommandWord& list, char separator, bool certain) {
    string_view left = list.text;
    while (!left.empty()) {
      const string_view entry = left.substr(0, left.find(separator));
      add({std::string(entry), list.literal}, certain, true);
      left.remove_prefix(std::min(left.size(), entry.size() + 1));
    }
  }

  void add_exports(const CommandWords& words, std::size_t at, bool certain) {
    string_view option = words[at].text;
    if (option == "mca_base_env_list") return add_list(words[at + 1], ';', certain);
    if (!option.starts_with('-')) return;
    option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
    if (option == "x") return add(words[at + 1], certain, true);
    if (option == "envlist" || option == "genvlist") return add_list(words[at + 1], ',', certain);
    if (option != "env" && option != "genv") return;
    CommandWord word = words[at + 1];
    if (word.text.find('=') == string_view::npos && at + 2 < words.size()) {
      word.text.append("=").append(words[at + 2].text);
      word.literal = word.literal && words[at + 2].literal;
    }
    add(word, certain, true);
  }

  std::vector<CommandValue> values_;
};

// Not the same value.
bool policy_sets(const NcclPolicy& policy, const CommandValue& value) {
  const string_view name = value.name;
  const auto constant = policy.env.find(name);
  if (constant != policy.env.end() && !policy.varies(name) && value.certain &&
      value.value == constant->second)
    return false;
  if (name == variable::kIbHca) return policy.hca.kind != HcaRule::Kind::Omit;
  if (policy.sets_constant(name)) return true;
  if (in_gid_group(name)) return policy.gid_index.kind != GidIndexRule::Kind::Omit;
  if (name == variable::kIbPkey || name == variable::kIbPkeyValue) return policy.partition_key.has_value();
  return name == variable::kSocketIfname && (policy.varies_socket_interface() ||
                                             policy.socket_interface.kind != SocketInterfaceRule::Kind::Omit);
}

// A value of ours that the container has in its env; null for none.
const Value* given_in_env(const Plan& plan, std::size_t position, string_view name) {
  for (const ContainerPlan& container : plan.containers) {
    const Value* given = container.position == position ? find_named(container.set, name) : nullptr;
    if (given && given->in_env) return given;
  }
  return nullptr;
}

}  // namespace

std::vector<CommandValue> command_values(const Container& container) {
  Assignments found;
  each_command(container, [&](const CommandWords& words, bool certain) { found.read(words, certain); });
  return found.take();
}

bool serves_ranks(const Pod& pod, const Container& container) {
  // By mpi-operator's labels (kubeflow/mpi-operator, v2beta1: pkg/controller/mpi_job_controller.go); it
  // reaches workers by ssh whatever their command is.
  bool serves = container.kind == ContainerKind::Main &&
                pod.label("training.kubeflow.org/operator-name") == "mpi-operator" &&
                pod.label("training.kubeflow.org/job-role") == "worker";
  const auto look = [&](const CommandWords& words, bool) {
    for (std::size_t i = words.front().text == ">" ? 2 : 0; i < words.size() && !serves; ++i) {
      const string_view word = words[i].text, name = base_name(word);
      const bool service = i > 0 && words[i - 1].text == "service" && word == "ssh";
      serves = service || word.ends_with("/init.d/ssh") || name == "sshd" || name == "slurmd";
    }
  };
  if (!serves) each_command(container, look);
  return serves;
}

bool copies_env(const Container& container) {
  constexpr std::array<string_view, 6> kLaunchers{
      "mpiexec.hydra", "mpirun_rsh", "deepspeed", "horovodrun", "deepspeed.launcher.runner",
      "horovod.runner"};
  bool copies = false;
  each_command(container, [&](const CommandWords& words, bool) {
    const std::size_t program = program_of(words);
    for (std::size_t i = program; i < words.size(); ++i) {
      if (i > program && words[i - 1].text != "-m") continue;
      const string_view name = base_name(words[i].text);
      const bool ray = name == "ray" && i + 1 < words.size() && words[i + 1].text == "start";
      copies = copies || ray || std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
    }
  });
  return copies;
}

std::string launcher_warning(const Pod& pod, const NcclPolicy& policy, const Plan* plan) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const Container& container = pod.containers[i];
    std::vector<std::string> names, unset, of_node;
    for (const CommandValue& value : command_values(container)) {
      if (!value.for_ranks || !policy_sets(policy, value)) continue;
      const bool is_set = !value.by_name || !container.env_from_prefixes.empty() ||
                          std::any_of(container.env.begin(), container.env.end(),
                                      [&](const EnvEntry& entry) { return entry.name == value.name; });
      const Value* given = plan ? given_in_env(*plan, i, value.name) : nullptr;
      if (is_set && (!plan || (value.certain && value.value))) names.push_back(value.name);
      if (!is_set && !given) unset.push_back(value.name);
      if (!is_set && given && given->by_file_key) of_node.push_back(value.name);
    }
    if (names.empty() && of_node.empty() && unset.empty()) continue;
    const std::string of = "container " + std::string(prefix_of(container.name, 63)) + ": its command ";
    const auto by_name = [&](const std::vector<std::string>& all, string_view why) {
      return of + "names " + join_some(all, kMostShown) + " for ranks, and its env has " + std::string(why) +
             "; not named, ranks read those values from nccl.conf";
    };
    if (!names.empty())
      return of + "gives ranks " + join_some(names, kMostShown) + ", which override what policy " +
             policy.name + " sets in their pods; without them ranks read those values from nccl.conf";
    if (!of_node.empty()) return by_name(of_node, "what its own node gives (EnvFile): all ranks get that");
    return by_name(unset, "none: ranks get none, or what the image or a script sets");
  }
  return {};
}

}  // namespace nccl_env
