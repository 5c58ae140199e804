// SPDX-License-Identifier: Apache-2.0
#include "commands/uninstall.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cluster/connection.h"
#include "cluster/installation.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env::app {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct UninstallArguments {
  bool check = false;
  ClusterArguments cluster;
  std::string output = "text";
};

// Namespaces that the text names.
constexpr std::size_t kMaxShown = 20;

struct Step {
  bool done = false;
  std::string action;
  std::string command;  // "": none of ours
};

// Returns the steps in an order in which no pod is admitted by one half and bound without the other.
std::vector<Step> steps_of(const Installation& found) {
  const std::size_t waiting = found.waiting_count();
  return {
      {!found.has_hook(kPodsHook), "remove the hook " + std::string(kPodsHook) + ": new pods are left alone",
       R"(kubectl patch mutatingwebhookconfiguration nccl-env --type json -p '[{"op": "test", "path": )"
       R"("/webhooks/0/name", "value": "pods.nccl-env.io"}, {"op": "remove", "path": "/webhooks/0"}]')"},
      {waiting == 0, "wait until no pod waits for its Binding, or delete those that do", ""},
      {found.hooks.empty() && found.validators.empty(), "remove the other hooks",
       "kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration nccl-env"},
      {found.crds.empty(), "remove the rest; policies and tables go with their CRDs", ""},
      {found.opted_in.empty(), "take the label from namespaces; without hooks it does nothing",
       "kubectl label namespace NAME nccl-env.io/policy-"},
  };
}

// The binding hook may go: nobody will need it.
bool is_safe(const Installation& found) {
  return !found.has_hook(kPodsHook) && found.waiting_count() == 0;
}

std::string verdict_of(const Installation& found) {
  const std::string waiting = std::to_string(found.waiting_count());
  if (is_safe(found))
    return found.has_hook(kBindingHook) ? "safe: the binding hook may be removed"
                                        : "safe: the hooks are gone";
  if (found.has_hook(kPodsHook))
    return "not yet: new pods still get references that their Binding has to fill";
  if (found.has_hook(kBindingHook)) return "not yet: " + waiting + " pods wait for values from their Binding";
  return "the binding hook is gone too early: " + waiting +
         " pods will start with NCCL's own choices, unless nccl-env is installed again before they get a "
         "node";
}

std::string list_of(const std::vector<std::string>& names, std::size_t count) {
  if (names.empty()) return "none";
  std::string text;
  const std::size_t shown = std::min(names.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return count > shown ? text + " and " + std::to_string(count - shown) + " more" : text;
}

void print_text(const Installation& found, std::ostream& out) {
  out << verdict_of(found) << "\n\n"
      << "hooks       " << list_of(found.hooks, found.hooks.size()) << '\n'
      << "validators  " << list_of(found.validators, found.validators.size()) << '\n'
      << "CRDs        " << list_of(found.crds, found.crds.size()) << '\n'
      << "opted in    " << list_of(found.opted_in, found.opted_in.size()) << '\n'
      << "waiting     " << found.waiting_count() << " pods\n";
  std::size_t shown = 0;
  for (const auto& [name_space, pods] : found.waiting) {
    if (++shown > kMaxShown) {
      out << "  and pods of " << found.waiting.size() - kMaxShown << " more namespaces\n";
      break;
    }
    out << "  " << printable(name_space) << ": " << list_of(pods.names, pods.count) << '\n';
  }
  out << "\nin this order\n";
  const std::vector<Step> steps = steps_of(found);
  bool is_next = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const char* mark = steps[i].done ? "done" : is_next ? "next" : "    ";
    out << "  " << i + 1 << ". " << mark << "  " << steps[i].action << '\n';
    if (!steps[i].done && is_next && !steps[i].command.empty())
      out << "           " << steps[i].command << '\n';
    is_next = is_next && steps[i].done;
  }
}

OrderedJson to_json(const Installation& found) {
  OrderedJson json{
      {"safe", is_safe(found)},          {"verdict", verdict_of(found)}, {"hooks", found.hooks},
      {"validators", found.validators},  {"crds", found.crds},           {"optedIn", found.opted_in},
      {"waiting", OrderedJson::array()}, {"steps", OrderedJson::array()}};
  for (const auto& [name_space, pods] : found.waiting)
    json["waiting"].push_back({{"namespace", name_space}, {"count", pods.count}, {"pods", pods.names}});
  for (const Step& step : steps_of(found))
    json["steps"].push_back({{"done", step.done},
                             {"action", step.action},
                             {"command", step.command.empty() ? OrderedJson() : OrderedJson(step.command)}});
  return json;
}

int check_uninstall(const UninstallArguments& arguments, const Terminal& terminal) {
  if (!arguments.check)
    return stop(terminal, kUsage, "uninstall removes nothing; --check tells how far it is and what is next");
  const auto client = connect_cluster(arguments.cluster);
  if (!client) return stop(terminal, kNotSeen, client.error().message);
  const auto found = find_installation(**client);
  if (!found) return stop(terminal, kNotSeen, found.error().message);
  if (is_document(arguments.output)) {
    print_document(to_json(*found), arguments.output, terminal.out);
  } else {
    print_text(*found, terminal.out);
  }
  return is_safe(*found) ? kDone : kFinding;
}

}  // namespace

void add_uninstall(CommandLine& line, CLI::App& parent) {
  auto arguments = std::make_shared<UninstallArguments>();
  UninstallArguments& to = *arguments;
  CLI::App& app = line.command(
      parent,
      {"uninstall",
       "Tell what to remove next, and remove nothing. What of nccl-env is in the cluster, and which pods "
       "still wait for values from their Binding. Exit 0 if the binding hook may be removed, 1 if not yet.",
       "nccl-env uninstall --check"},
      check_uninstall, arguments);
  app.add_flag("--check", to.check, "Look, and change nothing");
  add_cluster(app, to.cluster);
  add_output(app, to.output, {"text"});
}

}  // namespace nccl_env::app
