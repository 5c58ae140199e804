// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/explain/pod_print.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "explain/judgement.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/version.h"
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
    if (given.value && (given.is_from(Source::Node) || given.state == State::Users))
      values.back().detail = find_text(answer.details, given.name);
  }
  values.insert(values.end(), container.command.begin(), container.command.end());
  return values;
}

std::vector<Value> file_values(const PodAnswer& answer, const PodRecord& record,
                               const GivenContainer& container) {
  std::vector<Value> lines;
  for (const Value& line : container.file) {
    if (line.state == State::LeftOut && (line.source != Source::File || !record.node.empty())) continue;
    lines.push_back(line);
    // Beside a user's own value stands another sentence.
    const Value* own = record.main_container()->find_in_env(line.name);
    const bool of_node = line.is_from(Source::File) || line.is_from(Source::Node);
    if (line.value && of_node && !container.find_in_env(line.name) && !(own && own->state == State::Users))
      lines.back().detail = find_text(answer.details, line.name);
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

using OrderedJson = nlohmann::ordered_json;

OrderedJson reason_or_null(const std::optional<Reason>& reason) {
  return reason ? OrderedJson(to_string(*reason)) : OrderedJson();
}

// [{"name", "value", "source", "why"}, …]; a value that is not known is null.
OrderedJson to_json(const std::vector<Value>& values) {
  return array_of(values, [](const Value& value) {
    OrderedJson json{
        {"name", value.name}, {"value", value_or_null(value.value)}, {"source", source_word(value)}};
    if (!value.detail.empty()) json["why"] = value.detail;
    return json;
  });
}

// [{"name", "reason", "detail", "remedy"}, …], of values that are left out.
OrderedJson omitted_json(const std::vector<Value>& omitted) {
  return array_of(omitted, [](const Value& value) {
    const auto& reason = value.reason;
    return OrderedJson{{"name", value.name},
                       {"reason", reason ? reason_or_null(reason) : OrderedJson(value.detail)},
                       {"detail", reason ? OrderedJson(why_text(value)) : OrderedJson()},
                       {"remedy", reason ? OrderedJson(remedy(*reason)) : OrderedJson()}};
  });
}

// Returns the place of the file, by GivenContainer::names_file.
std::string conf_path(bool named) {
  return std::string(named ? conf_file::kNamedPath : conf_file::kPath);
}

OrderedJson demands_json(const PodDemands& demands) {
  return {{"resources", demands.resources},
          {"claims", demands.claims},
          {"networks", demands.networks},
          {"devices", demands.devices},
          {"misplaced", demands.misplaced}};
}

OrderedJson status_json(const StatusNote& status) {
  return {{"policy", status.policy},
          {"generation", status.generation},
          {"exposure", status.exposure ? OrderedJson(to_string(*status.exposure)) : OrderedJson()},
          {"form", text_or_null(status.form)}};
}

OrderedJson bound_json(const NodeNote& bound) {
  return {{"node", bound.node},
          {"table", text_or_null(bound.table)},
          {"policy", text_or_null(bound.policy)},
          {"generation", bound.policy.empty() ? OrderedJson() : OrderedJson(bound.generation)},
          {"reason", text_or_null(bound.reason)}};
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

bool is_given_but(const PodAnswer& answer) {
  return has_its_values(answer.state) && !is_good(answer.findings);
}

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

std::string answer_text(const PodAnswer& answer, bool exists) {
  if (exists) {
    const std::string words = verdict_words(answer);
    return is_given_but(answer) ? words + " " + continued(answer.sentence) : words + ". " + answer.sentence;
  }
  const Finding* leads = leading_finding(answer);
  if (!leads) return answer.in_all;
  const std::string verdict = answer.state == PodState::NotInjected ? "skip"
                              : answer.state == PodState::OwnValues ? "own values"
                                                                    : "inject";
  return verdict + (is_good(answer.findings) ? "; " : ", but ") + continued(leads->sentence);
}

void add_template(const PodAnswer& answer, TextColumns& columns) {
  const Finding* leads = leading_finding(answer);
  if (leads) columns.add({"remedy", std::string(remedy_of(*leads))});
  add_further(answer.findings, leads ? leads->sentence : "", columns);
  if (leads && answer.state != PodState::NotInjected) columns.add({"in all", answer.in_all});
  if (answer.demands) columns.add({"asks for", demands_text(*answer.demands)});
  if (!answer.remedy.empty() && (!leads || answer.remedy != remedy_of(*leads)))
    columns.add({"remedy", answer.remedy});
}

// The answer behind the title, and rows on it.
std::string head(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around,
                 std::string title) {
  title += (title.empty() ? "" : ": ") + answer_text(answer, around.exists);
  TextColumns columns(2);
  if (around.exists) {
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
  return paragraph(title) + columns.render();
}

std::string unknown_words(const PodRecord& record, const Value& value) {
  if (value.source == Source::Command) return "its command decides";
  if (value.state == State::Users) return "not in the pod";
  if (value.state == State::LeftOut && !record.node.empty()) return "its Binding brought none";
  // A value of a bound pod that its init container has to tell and did not.
  const bool waits = !record.file || record.file->state == GivenFile::State::Waiting;
  if (value.state == State::Later && !record.node.empty() && (value.source != Source::Pod || !waits))
    return "not told by nccl-env-resolve";
  return value.source == Source::Pod ? "found at container start" : "known once the node is";
}

// The value, or in brackets when it will be known: "(known once the node is)"; and what counts in its place.
std::string value_text(const PodRecord& record, const GivenContainer& container, const Value& value) {
  const Value* counts = container.find_in_env(value.name);
  const bool by_command = counts && counts->source == Source::Command;
  const bool beaten =
      by_command ? value.source != Source::Command : counts && !value.in_env && counts->value != value.value;
  if (!beaten) return value.value ? *value.value : "(" + unknown_words(record, value) + ")";
  return value.value.value_or("") + (value.value ? " (the " : "(the ") + (by_command ? "command" : "env") +
         "'s value counts)";
}

void add_values(const PodRecord& record, const GivenContainer& container, const std::vector<Value>& values,
                TextColumns& table) {
  for (const Value& value : values) {
    table.add({value.name, std::string(source_word(value)), value_text(record, container, value)});
    if (!value.detail.empty()) table.add({"", "", value.detail});
  }
}

// A remedy once for each reason, and a sentence once. An index that NCCL finds by the user's right list needs
// none.
void add_omitted(const std::vector<Value>& omitted, const PodAnswer& answer, TextColumns& table) {
  std::set<Reason> remedies;
  if (answer.takes_nodes && is_good(answer.findings)) remedies.insert(Reason::UserSetGroup);
  std::set<std::string> told;
  for (const Value& value : omitted) {
    const auto& reason = value.reason;
    const std::string why = (reason ? std::string(to_string(*reason)) + ": " : "") + why_text(value);
    const bool again = reason && !told.insert(why).second;
    table.add({value.name, "-", again ? std::string(to_string(*reason)) + ", as above" : why});
    if (reason && remedies.insert(*reason).second) table.add({"", "", std::string(remedy(*reason))});
  }
}

std::string lines_table(const PodRecord& record, const std::vector<Value>& lines,
                        const GivenContainer& container) {
  TextColumns table(4);
  if (!lines.empty()) table.add({"LINE", "SOURCE", "VALUE"});
  add_values(record, container, lines, table);
  return table.render();
}

std::string container_text(const PodAnswer& answer, const PodRecord& record, const GivenContainer& container,
                           bool wide) {
  std::vector<Value> omitted = omitted_values(answer, record, container);
  std::erase_if(omitted, [&](const Value& value) {  // the env's value shows it, or the policy means it
    const Value* own = container.find_in_env(value.name);
    return (!wide && is_unneeded(value, container)) || (own && value.reason == Reason::UserSet);
  });
  const std::string name = printable(container.name);
  const std::vector<Value> values = env_values(answer, record, container);
  TextColumns env(4);
  if (!values.empty() || !omitted.empty()) env.add({"VARIABLE", "SOURCE", "VALUE OR REASON"});
  add_values(record, container, values, env);
  add_omitted(omitted, answer, env);
  std::string text = env.render();
  if (!text.empty()) text.insert(0, "\n  container " + name + "\n");  // else the file's table tells all
  for (const Engine* engine : other_engines()) {
    std::vector<Value> own;
    std::ranges::copy_if(container.engine_lines, std::back_inserter(own),
                         [&](const Value& line) { return engine_of_variable(line.name) == engine; });
    if (own.empty()) continue;
    text.append("\n  ").append(conf_file::kFolder).append("/").append(engine->file);
    text += " of container " + name + "\n" + lines_table(record, own, container);
  }
  if (!container.reads_file) return text;
  const std::vector<Value> lines = file_values(answer, record, container);
  const std::string words = file_words(record);
  TextColumns about(4);
  if (!words.empty() || lines.empty()) about.add({words.empty() ? "empty" : words});
  const std::string note = container.names_file ? "" : ", in place of the image's";
  return text + "\n  " + conf_path(container.names_file) + " of container " + name + note + "\n" +
         about.render() + lines_table(record, lines, container);
}

// NAME=VALUE, or a comment for a value that is not known.
std::string env_line(const PodRecord& record, const Value& value) {
  if (value.state == State::Foreign)
    return "# " + printable(value.name) + " is not the pod's own: " + printable(record.foreign);
  if (value.value) return printable(value.name + "=" + *value.value);
  return "# " + printable(value.name) + " is " + unknown_words(record, value);
}

}  // namespace

std::string why_text(const Value& value) {
  return value.detail.empty() && value.reason ? std::string(meaning(*value.reason)) : value.detail;
}

const Finding* leading_finding(const PodAnswer& answer) {
  if (!is_good(answer.findings)) return &answer.findings.front();
  return answer.state == PodState::NotInjected ? nullptr : meant_choice(answer.findings);
}

std::string verdict_words(const PodAnswer& answer) {
  const std::string state(to_string(answer.state));
  if (is_given_but(answer)) return state + ", but";
  if (answer.node_unseen) return state + ", node not seen";
  return state + (answer.reason ? ", " + std::string(to_string(*answer.reason)) : "");
}

OrderedJson to_json(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  OrderedJson json = OrderedJson::object();
  json["namespace"] = text_or_null(record.name_space);
  json["pod"] = text_or_null(record.name);
  json["exists"] = around.exists;
  json["state"] = to_string(answer.state);
  json["reason"] = reason_or_null(answer.reason);
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
  json["changes"] = array_of(answer.changes, [](const Change& change) {
    return OrderedJson{{"container", change.container},
                       {"name", change.now.name},
                       {"then", value_or_null(change.then)},
                       {"now", value_or_null(change.now.value)},
                       {"reason", reason_or_null(change.now.reason)}};
  });
  json["notes"] = answer.notes;
  json["leftOut"] = around.unread;
  json["ncclVersion"] = format_nccl_version(around.version);
  json["ncclAlone"] = answer.nccl_alone ? to_json(*answer.nccl_alone) : OrderedJson();
  json["ncclWithUs"] = answer.nccl_with_us ? to_json(*answer.nccl_with_us) : OrderedJson();
  if (!answer.engines.empty()) json["engines"] = engines_json(answer.engines);
  return json;
}

std::string render_text(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around,
                        const std::string& title, Choices choices) {
  std::string text = head(answer, record, around, title);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status || (!record.status && !container.values.empty()))
      text += container_text(answer, record, container, choices == Choices::Both);
  }
  const auto tell = choices == Choices::Both ? selections_text : choice_text;
  const bool own = answer.state == PodState::OwnValues;  // there are no other values to compare with
  // Assumes no release beside an image that is known to be older.
  const bool older =
      around.version == kNewestNccl &&
      std::ranges::find(answer.findings, Code::NcclTooOld, &Finding::code) != answer.findings.end();
  if (!older) text += tell(around.version, answer.nccl_alone, own ? std::nullopt : answer.nccl_with_us);
  text += engines_text(answer.engines);
  if (around.unread.empty()) return text;
  TextColumns columns(4);
  for (const std::string& sentence : around.unread) columns.add({"-", sentence});
  return text + "\n  left out\n" + columns.render();
}

std::string render_env(const PodRecord& record) {
  std::string text;
  const auto add = [&](const std::string& line) { text += line + "\n"; };
  const auto ours = std::ranges::count(record.containers, true, &GivenContainer::in_status);
  for (const GivenContainer& container : record.containers) {
    if (!container.in_status) continue;
    if (ours > 1) add("# container " + printable(container.name));
    for (const Value& value : env_values({}, record, container)) {
      if (value.state != State::Users) add(env_line(record, value));
    }
    for (const Value& line : container.engine_lines) add(env_line(record, line));
    for (const Value& value : omitted_values({}, record, container))
      add(printable("# " + value.name + " is left out" + in_brackets(value.reason)));
    if (!container.reads_file) continue;
    const std::string words = file_words(record);
    add("# of " + std::string(conf_path(container.names_file)) + (words.empty() ? "" : ": " + words));
    for (const Value& line : file_values({}, record, container)) {
      if (!container.find_in_env(line.name)) add(env_line(record, line));
    }
  }
  return text;
}

}  // namespace nccl_env
