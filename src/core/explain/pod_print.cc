// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/pod_print.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "explain/judgement.h"
#include "explain/value_print.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/explain/meant_choice.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/explain/pod_record.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/enum_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

// Values of the env; one that is missing has a reason instead. A constant that differs from node to node has
// the variant that gives it.
std::vector<Value> env_values(const PodAnswer& answer, const PodRecord& record,
                              const GivenContainer& container) {
  std::vector<Value> values;
  for (const Value& given : container.values) {
    if (given.state == State::LeftOut && !record.node.empty()) continue;
    values.push_back(given);
    const auto why = answer.details.find(given.name);
    const bool ours = given.is_from(Source::Node) || given.state == State::Users;
    if (given.value && ours && why != answer.details.end()) values.back().detail = why->second;
  }
  return values;
}

std::vector<Value> file_values(const PodAnswer& answer, const PodRecord& record,
                               const GivenContainer& container) {
  std::vector<Value> lines = container.file;
  std::erase_if(lines, [&](const Value& line) {
    return line.state == State::LeftOut && (line.source != Source::File || !record.node.empty());
  });
  for (Value& line : lines) {
    const auto why = answer.details.find(line.name);
    // Beside a user's own value stands another sentence.
    const Value* own = record.main_container()->find_in_env(line.name);
    const bool of_node = line.is_from(Source::File) || line.is_from(Source::Node);
    const bool counts = of_node && !container.find_in_env(line.name) && !(own && own->state == State::Users);
    if (line.value && counts && why != answer.details.end()) line.detail = why->second;
  }
  return lines;
}

std::string file_words(const PodRecord& record) {
  const GivenFile& file = *record.file;
  const std::string why = file.detail.empty() ? "" : ": " + file.detail;
  switch (file.state) {
    case GivenFile::State::Missing:
      return record.node.empty() ? "it comes with the node" : "its annotation has no text: the file is empty";
    case GivenFile::State::Waiting:
      return "not written yet" + why;
    case GivenFile::State::Failed:
      return "nccl-env-resolve failed" + why;
    case GivenFile::State::Foreign:
      if (!file.detail.empty()) return "nccl-env-resolve has ended, and what it wrote is not known" + why;
      return file.at_start ? "nccl-env-resolve said what nccl-env never says; it is not read"
                           : "its annotation holds what nccl-env never writes; it is not read";
    case GivenFile::State::Known:
      break;
  }
  return file.cut ? "nccl-env-resolve said more than the kubelet keeps; further lines are not known" : "";
}

// The sentence with which the init container left the value out; "" for none.
std::string detail_at_start(const PodRecord& record, const std::string& name) {
  if (!record.file) return {};
  const auto told = record.file->details.find(name);
  return told == record.file->details.end() ? std::string() : told->second;
}

constexpr std::string_view kUntold = "not told by nccl-env-resolve";

// True for a value of a bound pod that its init container has to tell and did not.
bool is_untold(const PodRecord& record, const Value& value) {
  const bool waits = !record.file || record.file->state == GivenFile::State::Waiting;
  return value.state == State::Later && !value.value && !record.node.empty() &&
         (value.source != Source::Pod || !waits);
}

std::vector<Value> with_untold(const PodRecord& record, std::vector<Value> values) {
  for (Value& value : values) {
    if (is_untold(record, value)) value.value = "(" + std::string(kUntold) + ")";
  }
  return values;
}

using OrderedJson = nlohmann::ordered_json;

OrderedJson demands_json(const PodDemands& demands) {
  return {{"resources", demands.resources},
          {"claims", demands.claims},
          {"networks", demands.networks},
          {"devices", demands.devices},
          {"misplaced", demands.misplaced}};
}

OrderedJson selection_json(const std::optional<NcclSelection>& selection) {
  return selection ? to_json(*selection) : OrderedJson();
}

OrderedJson status_json(const StatusNote& status) {
  OrderedJson json = OrderedJson::object();
  json["policy"] = status.policy;
  json["generation"] = status.generation;
  json["exposure"] = status.exposure ? OrderedJson(to_string(*status.exposure)) : OrderedJson();
  json["form"] = text_or_null(status.form);
  return json;
}

OrderedJson bound_json(const NodeNote& bound) {
  OrderedJson json = OrderedJson::object();
  json["node"] = bound.node;
  json["table"] = text_or_null(bound.table);
  json["policy"] = text_or_null(bound.policy);
  json["generation"] = bound.policy.empty() ? OrderedJson() : OrderedJson(bound.generation);
  json["reason"] = text_or_null(bound.reason);
  return json;
}

std::string_view state_word(GivenFile::State state) {
  constexpr std::array<std::string_view, 5> kNames{"known", "missing", "not written", "failed",
                                                   "not readable"};
  return name_in(kNames, state);
}

// Null where the container reads no file of ours.
OrderedJson file_json(const PodAnswer& answer, const PodRecord& record, const GivenContainer& container) {
  if (!container.reads_file) return {};
  OrderedJson lines = to_json(file_values(answer, record, container));
  for (OrderedJson& line : lines)
    line["counts"] = container.find_in_env(line["name"].get<std::string>()) == nullptr;
  return {{"state", state_word(record.file->state)},
          {"path", conf_path(container.names_file)},
          {"note", container.names_file ? OrderedJson() : OrderedJson(to_string(Code::ImageConfHidden))},
          {"atStart", record.file->at_start},
          {"detail", text_or_null(file_words(record))},
          {"lines", std::move(lines)}};
}

OrderedJson container_json(const PodAnswer& answer, const PodRecord& record,
                           const GivenContainer& container) {
  OrderedJson json{{"name", container.name},
                   {"injected", container.in_status},
                   {"env", to_json(env_values(answer, record, container))},
                   {"file", file_json(answer, record, container)},
                   {"omitted", omitted_json(omitted_values(answer, record, container))}};
  if (!container.engine_lines.empty()) json["engineFiles"] = to_json(container.engine_lines);
  return json;
}

}  // namespace

std::vector<Value> omitted_values(const PodAnswer& answer, const PodRecord& record,
                                  const GivenContainer& container) {
  std::vector<Value> all;
  const auto add = [&](const std::string& name, const std::string& why, const std::string& detail = {}) {
    if (why.empty()) return;
    Value& value =
        all.emplace_back(Value{.name = name, .state = State::LeftOut, .reason = parse_reason(why)});
    auto today = answer.details.find(name);
    if (today == answer.details.end()) today = answer.details.find(followed(name));
    value.detail = value.reason ? detail : why;
    if (value.detail.empty() && today != answer.details.end()) value.detail = today->second;
  };
  for (const Value& given : container.values) {
    if (given.state != State::LeftOut || record.node.empty()) continue;
    if (given.by_file_key) {
      add(given.name, record.reason_missing(given), detail_at_start(record, given.name));
    } else if (!record.bound) {
      add(given.name, "its annotation is not there");
    } else {
      add(given.name,
          record.bound->reason.empty() ? record.reason_at_binding(given.name) : record.bound->reason);
    }
  }
  for (const Value& line : container.file) {
    // A value in the env overrides the file's value, and is listed with the env.
    if (container.find_in_env(line.name) || record.node.empty()) continue;
    add(line.name, record.reason_missing(line),
        line.source == Source::Pod ? detail_at_start(record, line.name) : "");
  }
  for (const Value& line : container.engine_lines) {
    if (!record.node.empty() && !container.find_in_env(line.name))
      add(line.name, record.reason_missing(line));
  }
  for (const auto& [name, reason] : container.omitted) {
    const Value* line = find_named(container.file, name);  // what the env leaves to the file is not left out
    if (line && line->state != State::LeftOut && reason != to_string(Reason::UserSet)) continue;
    const auto decided = container.decided.find(name);
    add(name, reason, decided == container.decided.end() ? std::string() : decided->second);
  }
  return all;
}

namespace {

bool is_given_but(const PodAnswer& answer) {
  return answer.state == PodState::Given && !is_good(answer.findings);
}

}  // namespace

std::string verdict_words(const PodAnswer& answer) {
  if (is_given_but(answer)) return "given, but";
  if (answer.node_unseen) return "given, node not seen";
  return std::string(to_string(answer.state)) +
         (answer.reason ? ", " + std::string(to_string(*answer.reason)) : "");
}

OrderedJson to_json(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  OrderedJson json = OrderedJson::object();
  json["namespace"] = text_or_null(record.name_space);
  json["pod"] = text_or_null(record.name);
  json["exists"] = around.exists;
  json["state"] = to_string(answer.state);
  json["reason"] = answer.reason ? OrderedJson(to_string(*answer.reason)) : OrderedJson();
  json["sentence"] = answer.sentence;
  json["inAll"] = text_or_null(answer.in_all);
  json["remedy"] = text_or_null(answer.remedy);
  json["asksFor"] = answer.demands ? demands_json(*answer.demands) : OrderedJson();
  json["good"] = is_good(answer.findings);
  json["nodeSeen"] = !answer.node_unseen;
  json["findings"] = to_json(answer.findings);
  json["policy"] = text_or_null(around.namespace_policy.value_or(""));  // today
  json["phase"] = text_or_null(record.phase);
  json["node"] = text_or_null(around.exists ? record.node : around.node);
  json["status"] = record.status ? status_json(*record.status) : OrderedJson();
  json["bound"] = record.bound ? bound_json(*record.bound) : OrderedJson();
  json["containers"] = OrderedJson::array();
  for (const GivenContainer& container : record.containers) {
    if (container.name == conf_file::kResolver) continue;
    json["containers"].push_back(container_json(answer, record, container));
  }
  json["changes"] = OrderedJson::array();
  for (const Change& change : answer.changes)
    json["changes"].emplace_back(OrderedJson{{"container", change.places.front()}}).update(to_json(change));
  json["notes"] = answer.notes;
  json["leftOut"] = around.unread;
  json["ncclVersion"] = format_nccl_version(around.version);
  json["ncclAlone"] = selection_json(answer.nccl_alone);
  json["ncclWithUs"] = selection_json(answer.nccl_with_us);
  if (!answer.engines.empty()) json["engines"] = engines_json(answer.engines);
  return json;
}

namespace {

std::string origin_of(const PodRecord& record) {
  std::string text =
      "policy " + record.status->policy + ", generation " + std::to_string(record.status->generation);
  if (record.bound && !record.bound->table.empty()) text += "; table of " + record.bound->table;
  return text;
}

// "nvidia.com/gpu; networks ml/rail-0".
std::string demands_text(const PodDemands& demands) {
  std::string text;
  const auto add = [&](const char* kind, const std::vector<std::string>& what) {
    if (!what.empty()) text += (text.empty() ? "" : "; ") + std::string(kind) + join(what);
  };
  add("", demands.resources);
  add("claims ", demands.claims);
  add("networks ", demands.networks);
  add("the host's ", demands.devices);
  add("at spec.resources, where it has no effect: ", demands.misplaced);
  return text.empty() ? "processors and memory alone" : text;
}

// A template's answer is what its pods get, or what is wrong with that.
void add_template(const PodAnswer& answer, TextColumns& columns) {
  const char* const verdict = answer.state == PodState::NotInjected ? "skip" : "inject";
  const Finding* leads = is_good(answer.findings) ? meant_choice(answer.findings) : &answer.findings.front();
  if (answer.state == PodState::NotInjected && is_good(answer.findings)) leads = nullptr;
  const bool off = leads && is_good(answer.findings);
  columns.add({"answer", !leads ? answer.in_all
                         : off  ? std::string(verdict) + "; " + leads->sentence
                                : std::string(verdict) + ", but " + continued(leads->sentence)});
  if (leads) columns.add({"remedy", std::string(remedy_of(*leads))});
  add_further(answer.findings, leads ? leads->sentence : "", columns);
  if (leads) columns.add({"in all", answer.in_all});
  if (answer.demands) columns.add({"asks for", demands_text(*answer.demands)});
  if (!answer.remedy.empty() && (!leads || answer.remedy != remedy_of(*leads)))
    columns.add({"remedy", answer.remedy});
}

std::string head(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  TextColumns columns(2);
  if (around.exists) {
    const std::string words = verdict_words(answer);
    columns.add({"answer", is_given_but(answer) ? words + " " + continued(answer.sentence)
                                                : words + ". " + answer.sentence});
    if (!answer.remedy.empty()) columns.add({"remedy", answer.remedy});
    add_further(answer.findings, answer.sentence, columns);
  } else {
    add_template(answer, columns);
  }
  const std::string& node = around.exists ? record.node : around.node;
  columns.add({"node", !node.empty() ? node : around.exists ? "none yet" : "not known yet"});
  const std::string policy = around.exists ? "" : around.namespace_policy.value_or("");
  if (!policy.empty()) columns.add({"policy", policy});
  if (around.exists && record.status) columns.add({"from", origin_of(record)});
  if (record.status && record.status->exposure)
    columns.add({"exposure", std::string(to_string(*record.status->exposure))});
  if (!record.phase.empty()) columns.add({"phase", record.phase});
  for (const std::string& note : answer.notes) columns.add({"note", note});
  return columns.render();
}

std::string container_text(const PodAnswer& answer, const PodRecord& record,
                           const GivenContainer& container) {
  std::vector<Value> omitted = omitted_values(answer, record, container);
  std::erase_if(omitted, [&](const Value& value) {  // the env's value shows it
    return value.reason == Reason::UserSet && container.find_in_env(value.name);
  });
  std::string text =
      env_table(container.name, with_untold(record, env_values(answer, record, container)), omitted);
  if (!container.engine_lines.empty())
    text += engine_tables(container.name, with_untold(record, container.engine_lines), container.values);
  if (!container.reads_file) return text;
  return text + file_table(container.name, container.names_file, file_words(record),
                           file_values(answer, record, container), container.values);
}

std::string value_text(const std::optional<std::string>& value) {
  return value ? *value : "none";
}

std::string changes_text(const PodAnswer& answer, const PodRecord& record) {
  if (answer.changes.empty()) return {};
  TextColumns columns(4);
  columns.add({"VARIABLE", "THEN, AND TODAY"});
  for (const Change& change : answer.changes) {
    const std::string today = value_text(change.now.value) + in_brackets(change.now.reason);
    const bool several = record.containers.size() > 1;
    columns.add({change.now.name + (several ? " of " + change.places.front() : ""),
                 value_text(change.then) + ", today " + today});
  }
  const bool never_right = answer.state == PodState::MissedAtBinding || answer.state == PodState::Foreign;
  return std::string(never_right ? "\n  what a pod bound today would have\n"
                                 : "\n  changed since the pod was bound\n") +
         columns.render();
}

}  // namespace

std::string render_text(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around,
                        Choices choices) {
  std::string text = head(answer, record, around);
  if (around.exists) text.insert(0, "pod " + printable(object_name(record.name_space, record.name)) + "\n");
  for (const GivenContainer& container : record.containers) {
    if (container.in_status || (!record.status && !container.values.empty()))
      text += container_text(answer, record, container);
  }
  text += changes_text(answer, record);
  const auto tell = choices == Choices::Both ? selections_text : choice_text;
  text += tell(around.version, answer.nccl_alone, answer.nccl_with_us) + engines_text(answer.engines);
  if (around.unread.empty()) return text;
  TextColumns columns(4);
  for (const std::string& sentence : around.unread) columns.add({"-", sentence});
  return text + "\n  left out\n" + columns.render();
}

std::string render_env(const PodRecord& record) {
  std::string text;
  std::size_t ours = 0;
  for (const GivenContainer& container : record.containers) ours += container.in_status ? 1 : 0;
  for (const GivenContainer& container : record.containers) {
    if (!container.in_status) continue;
    if (ours > 1) text += "# container " + printable(container.name) + "\n";
    for (const Value& value : env_values({}, record, container)) {
      if (is_untold(record, value)) {
        text += "# " + printable(value.name) + " is " + std::string(kUntold) + "\n";
      } else if (value.state != State::Users) {
        text += env_line(value, record.foreign);
      }
    }
    for (const Value& line : container.engine_lines) text += env_line(line, record.foreign);
    for (const Value& value : omitted_values({}, record, container))
      text +=
          printable("# " + value.name + " is left out" + (value.reason ? in_brackets(value.reason) : "")) +
          "\n";
    if (!container.reads_file) continue;
    const std::string words = file_words(record);
    text +=
        "# of " + std::string(conf_path(container.names_file)) + (words.empty() ? "" : ": " + words) + "\n";
    for (const Value& line : file_values({}, record, container)) {
      if (!container.find_in_env(line.name)) text += env_line(line, record.foreign);
    }
  }
  return text;
}

}  // namespace nccl_env
