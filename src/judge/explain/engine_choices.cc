// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/engine_choices.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "nccl_env/core/decide/container_env.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The variable that lists the engine's devices; "" where it has none.
std::string_view device_list(const Engine& engine) {
  const auto lists = std::ranges::find(engine.variables, Follows::Ports, &EngineVariable::follows);
  return lists == engine.variables.end() ? std::string_view() : lists->row.name;
}

// The container's own decision on devices, where it is no list that the model reads; "" for none.
std::string users_choice(const Engine& engine, const Container& container) {
  const EngineGroup* group = group_of(device_list(engine));
  if (!group) return {};
  std::vector<const EnvEntry*> entries;
  for (const EnvEntry& entry : container.env) {
    const EngineVariable* known = find_engine_variable(entry.name);
    const bool is_list = known && known->follows == Follows::Ports;
    if (!entry.name.starts_with("NCCL_") && !is_list) entries.push_back(&entry);
  }
  const auto rival = find_rival(*group, entries, container.arguments);
  if (!rival) return {};
  return std::string("The container's ") + (rival->in_command ? "argument " : "") + printable(rival->name) +
         " " + std::string(group->decides) + ".";
}

std::string taken_text(const EngineSelection& selection) {
  std::vector<std::string> parts = selection.devices;
  parts.insert(parts.end(), selection.interfaces.begin(), selection.interfaces.end());
  std::string text = join(parts);
  if (text.empty() && selection.notes.empty()) return "no device";
  for (const std::string& note : selection.notes)
    text += (text.empty() ? "" : ". ") + note.substr(0, note.size() - 1);
  return text;
}

OrderedJson selection_json(const EngineSelection& selection) {
  return {{"devices", selection.devices}, {"interfaces", selection.interfaces}, {"notes", selection.notes}};
}

// Adds the devices that the engine would take by the node's list in place of the container's own.
void add_offered(const NodeFabric& seen, const NcclEnv& own, const NodeValues& node, EngineChoices& into) {
  into.list = device_list(*into.engine);
  const auto ours = node.engines.find(into.list);
  if (!own.contains(into.list) || ours == node.engines.end()) return;
  NcclEnv other = own;
  other.insert_or_assign(std::string(into.list), ours->second);
  into.offered = into.engine->select(seen, other).devices;
}

}  // namespace

std::vector<EngineChoices> engine_choices(const NcclPolicy& policy, const NodeFabric& seen,
                                          const Container& container, const NcclEnv& own,
                                          const NcclEnv* with_us, const NodeValues* node) {
  std::vector<EngineChoices> all;
  for (const Engine* engine : policy.engines) {
    if (policy.engines.size() < 2 || !engine->select) continue;
    EngineChoices& choices =
        all.emplace_back(EngineChoices{engine, users_choice(*engine, container), {}, {}});
    if (!choices.users.empty()) continue;
    choices.alone = engine->select(seen, own);
    if (with_us) choices.with_us = engine->select(seen, *with_us);
    if (node) add_offered(seen, own, *node, choices);
  }
  return all;
}

std::string engines_text(const std::vector<EngineChoices>& engines) {
  std::string text;
  for (const EngineChoices& one : engines) {
    TextColumns columns(4);
    const std::string alone = taken_text(one.alone);
    const std::string with_us = one.with_us ? taken_text(*one.with_us) : "not known without the pod's values";
    if (!one.users.empty()) {
      columns.add({"user's", one.users});
    } else {
      columns.add({"alone", alone});
      columns.add({"with us", with_us == alone ? "the same" : with_us});
    }
    text += "\n  " + std::string(one.engine->name) + " (" + std::string(one.engine->used_by) + ")\n" +
            columns.render();
  }
  return text;
}

OrderedJson engines_json(const std::vector<EngineChoices>& engines) {
  return array_of(engines, [](const EngineChoices& one) {
    const bool known = one.users.empty();
    return OrderedJson{{"engine", one.engine->name},
                       {"usersChoice", text_or_null(one.users)},
                       {"alone", known ? selection_json(one.alone) : OrderedJson()},
                       {"withUs", one.with_us ? selection_json(*one.with_us) : OrderedJson()}};
  });
}

}  // namespace nccl_env
