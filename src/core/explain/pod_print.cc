// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/pod_print.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain/json_values.h"
#include "nccl_env/core/explain/injected_pod.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

struct ValueRow {
  std::string name;
  std::string source;                // Node, Policy, User; of a file File, Pod
  std::optional<std::string> value;  // absent: not in the pod
  bool known_later = false;          // it comes with the node
  bool beaten = false;               // a line whose variable the env has with another value
};

struct OmittedRow {
  std::string name;
  std::string reason;
  std::string detail = {};  // one sentence; "" where only the reason is known
};

std::vector<ValueRow> value_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<ValueRow> rows;
  for (const GivenValue& given : container.values) {
    if (given.state == GivenValue::State::Missing && !record.node.empty()) continue;
    ValueRow row{given.name, std::string(to_string(given.from)), {}, false};
    if (given.state == GivenValue::State::Known) row.value = given.value;
    row.known_later = given.state == GivenValue::State::Missing;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ValueRow> file_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<ValueRow> rows;
  for (const GivenValue& line : container.file) {
    ValueRow row{line.name, std::string(to_string(line.from)), {}, false, false};
    const bool later = line.state == GivenValue::State::Missing && line.from == GivenValue::From::File &&
                       record.node.empty();
    if (line.state == GivenValue::State::Missing && !later) continue;
    const GivenValue* beside = container.find_in_env(line.name);
    if (line.state == GivenValue::State::Known) {
      row.value = line.value;
      row.beaten = beside && (beside->state != GivenValue::State::Known || beside->value != line.value);
    }
    row.known_later = later || line.state == GivenValue::State::Pending;
    rows.push_back(std::move(row));
  }
  return rows;
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

std::vector<OmittedRow> omitted_rows(const PodRecord& record, const GivenContainer& container) {
  std::vector<OmittedRow> rows;
  for (const GivenValue& given : container.values) {
    if (given.state != GivenValue::State::Missing || record.node.empty()) continue;
    std::string reason = record.reason_at_binding(given.name);
    if (!record.bound) reason = "its annotation is not there";
    if (record.bound && !record.bound->reason.empty()) reason = record.bound->reason;
    if (!reason.empty()) rows.push_back({given.name, std::move(reason)});
  }
  for (const GivenValue& line : container.file) {
    // What the env has counts, and has its own row.
    if (container.find_in_env(line.name) || record.node.empty()) continue;
    std::string reason = record.reason_missing(line);
    if (reason.empty()) continue;
    OmittedRow row{line.name, std::move(reason)};
    if (line.from == GivenValue::From::Pod) row.detail = record.file->details.find(line.name)->second;
    rows.push_back(std::move(row));
  }
  for (const auto& [name, reason] : container.omitted) rows.push_back({name, reason});
  return rows;
}

// Returns the variant that gives a constant which differs from node to node; else null.
const std::string* why_of(const ValueRow& row, const PodAnswer& answer) {
  if (!row.value || row.source != to_string(GivenValue::From::Node)) return nullptr;
  const auto found = answer.details.find(row.name);
  return found == answer.details.end() ? nullptr : &found->second;
}

}  // namespace

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson value_or_null(const std::optional<std::string>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
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
  switch (state) {
    case GivenFile::State::Known:
      return "known";
    case GivenFile::State::Waiting:
      return "not written";
    case GivenFile::State::Failed:
      return "failed";
    case GivenFile::State::Foreign:
      return "not readable";
    case GivenFile::State::Missing:
      break;
  }
  return "missing";
}

// Null where the container reads no file of ours.
OrderedJson file_json(const PodRecord& record, const GivenContainer& container) {
  if (!container.reads_file) return {};
  OrderedJson lines = OrderedJson::array();
  for (const ValueRow& row : file_rows(record, container))
    lines.push_back({{"name", row.name},
                     {"value", value_or_null(row.value)},
                     {"source", row.source},
                     {"counts", container.find_in_env(row.name) == nullptr}});
  return {{"state", state_word(record.file->state)},
          {"atStart", record.file->at_start},
          {"detail", text_or_null(file_words(record))},
          {"lines", std::move(lines)}};
}

OrderedJson container_json(const PodAnswer& answer, const PodRecord& record,
                           const GivenContainer& container) {
  OrderedJson env = OrderedJson::array();
  for (const ValueRow& row : value_rows(record, container)) {
    env.push_back({{"name", row.name}, {"value", value_or_null(row.value)}, {"source", row.source}});
    if (const std::string* why = why_of(row, answer)) env.back()["why"] = *why;
  }
  OrderedJson omitted = OrderedJson::array();
  for (const OmittedRow& row : omitted_rows(record, container)) {
    const auto reason = parse_reason(row.reason);
    const auto detail = answer.details.find(row.name);
    omitted.push_back({{"name", row.name},
                       {"reason", row.reason},
                       {"detail", !row.detail.empty()              ? OrderedJson(row.detail)
                                  : detail != answer.details.end() ? OrderedJson(detail->second)
                                  : reason                         ? OrderedJson(meaning(*reason))
                                                                   : OrderedJson()},
                       {"remedy", reason ? OrderedJson(remedy(*reason)) : OrderedJson()}});
  }
  return {{"name", container.name},
          {"injected", container.in_status},
          {"env", std::move(env)},
          {"file", file_json(record, container)},
          {"omitted", std::move(omitted)}};
}

}  // namespace

OrderedJson to_json(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  OrderedJson json = OrderedJson::object();
  json["namespace"] = record.name_space;
  json["pod"] = record.name;
  json["state"] = to_string(answer.state);
  json["reason"] = answer.reason ? OrderedJson(to_string(*answer.reason)) : OrderedJson();
  json["sentence"] = answer.sentence;
  json["remedy"] = text_or_null(answer.remedy);
  json["finding"] = answer.finding;
  json["phase"] = text_or_null(record.phase);
  json["node"] = text_or_null(record.node);
  json["status"] = record.status ? status_json(*record.status) : OrderedJson();
  json["bound"] = record.bound ? bound_json(*record.bound) : OrderedJson();
  json["containers"] = OrderedJson::array();
  for (const GivenContainer& container : record.containers)
    json["containers"].push_back(container_json(answer, record, container));
  json["changes"] = OrderedJson::array();
  for (const ValueChange& change : answer.changes) {
    json["changes"].push_back({{"container", change.container},
                               {"name", change.name},
                               {"then", value_or_null(change.then)},
                               {"now", value_or_null(change.now)},
                               {"reason", text_or_null(change.reason)}});
  }
  json["notes"] = answer.notes;
  json["leftOut"] = around.unread;
  json["ncclVersion"] = format_nccl_version(around.version);
  json["ncclAlone"] = to_ordered_json(answer.nccl_alone);
  json["ncclWithUs"] = to_ordered_json(answer.nccl_with_us);
  return json;
}

namespace {

std::string sentence_of(const OmittedRow& row, const PodAnswer& answer) {
  const auto known = parse_reason(row.reason);
  const auto detail = answer.details.find(row.name);
  if (!known) return row.reason;
  if (!row.detail.empty()) return row.reason + ": " + row.detail;
  return row.reason + ": " + (detail == answer.details.end() ? std::string(meaning(*known)) : detail->second);
}

std::string origin_of(const PodRecord& record) {
  std::string text =
      "policy " + record.status->policy + ", generation " + std::to_string(record.status->generation);
  if (record.bound && !record.bound->table.empty()) text += "; table of " + record.bound->table;
  return text;
}

std::string head(const PodAnswer& answer, const PodRecord& record) {
  TextColumns columns(2);
  const std::string reason = answer.reason ? ", " + std::string(to_string(*answer.reason)) : "";
  columns.add({"answer", std::string(to_string(answer.state)) + reason + ". " + answer.sentence});
  if (!answer.remedy.empty()) columns.add({"remedy", answer.remedy});
  columns.add({"node", record.node.empty() ? "none yet" : record.node});
  if (record.status) {
    columns.add({"from", origin_of(record)});
    if (record.status->exposure) columns.add({"exposure", std::string(to_string(*record.status->exposure))});
  }
  if (!record.phase.empty()) columns.add({"phase", record.phase});
  for (const std::string& note : answer.notes) columns.add({"note", note});
  return columns.render();
}

// Of /etc/nccl.conf, "" where the container does not read ours.
std::string file_text(const PodRecord& record, const GivenContainer& container) {
  if (!container.reads_file) return {};
  TextColumns columns(4);
  const std::string words = file_words(record);
  if (!words.empty()) columns.add({words});
  std::string text = columns.render();
  const std::vector<ValueRow> rows = file_rows(record, container);
  if (words.empty() && rows.empty()) text = "    empty\n";
  TextColumns lines(4);
  if (!rows.empty()) lines.add({"LINE", "SOURCE", "VALUE"});
  for (const ValueRow& row : rows) {
    const bool by_node = row.source == to_string(GivenValue::From::File);
    std::string value =
        row.value.value_or(by_node ? "(known once the node is)" : "(found at container start)");
    if (row.beaten) value += " (the env's value counts)";
    lines.add({row.name, row.source, std::move(value)});
  }
  if (!rows.empty()) text += lines.render();
  return "\n  /etc/nccl.conf of container " + printable(container.name) + "\n" + text;
}

std::string container_text(const PodAnswer& answer, const PodRecord& record,
                           const GivenContainer& container) {
  TextColumns columns(4);
  columns.add({"VARIABLE", "SOURCE", "VALUE OR REASON"});
  for (const ValueRow& row : value_rows(record, container)) {
    columns.add({row.name, row.source,
                 row.value.value_or(row.known_later ? "(known once the node is)" : "(not in the pod)")});
    if (const std::string* why = why_of(row, answer)) columns.add({"", "", *why});
  }
  std::set<std::string> told;
  for (const OmittedRow& row : omitted_rows(record, container)) {
    const auto reason = parse_reason(row.reason);
    if (reason == Reason::UserSet && container.find_in_env(row.name)) continue;  // its value says so
    columns.add({row.name, "-", sentence_of(row, answer)});
    if (reason && told.insert(row.reason).second) columns.add({"", "", std::string(remedy(*reason))});
  }
  return "\n  container " + printable(container.name) + "\n" + columns.render() +
         file_text(record, container);
}

std::string value_text(const std::optional<std::string>& value) {
  return value ? *value : "none";
}

std::string changes_text(const PodAnswer& answer, const PodRecord& record) {
  if (answer.changes.empty()) return {};
  TextColumns columns(4);
  columns.add({"VARIABLE", "THEN, AND TODAY"});
  for (const ValueChange& change : answer.changes) {
    std::string today = value_text(change.now);
    if (!change.reason.empty()) today += " (" + change.reason + ")";
    const bool several = record.containers.size() > 1;
    columns.add({change.name + (several ? " of " + change.container : ""),
                 value_text(change.then) + ", today " + today});
  }
  const bool never_right = answer.state == PodState::MissedAtBinding || answer.state == PodState::Foreign;
  return std::string(never_right ? "\n  what a pod bound today would have\n"
                                 : "\n  changed since the pod was bound\n") +
         columns.render();
}

}  // namespace

std::string render_text(const PodAnswer& answer, const PodRecord& record, const PodSurroundings& around) {
  std::string text =
      "pod " + printable(object_name(record.name_space, record.name)) + "\n" + head(answer, record);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status || (!record.status && !container.values.empty()))
      text += container_text(answer, record, container);
  }
  text += changes_text(answer, record);
  const std::string version = format_nccl_version(around.version);
  if (answer.nccl_alone) text += "\n  NCCL " + version + " alone\n" + render_text(*answer.nccl_alone, 4);
  if (answer.nccl_with_us)
    text += "\n  NCCL " + version + " with these variables\n" + render_text(*answer.nccl_with_us, 4);
  if (around.unread.empty()) return text;
  TextColumns columns(4);
  for (const std::string& sentence : around.unread) columns.add({"-", sentence});
  return text + "\n  left out\n" + columns.render();
}

std::string render_env(const PodRecord& record) {
  std::string text;
  std::size_t ours = 0;
  for (const GivenContainer& container : record.containers) ours += container.in_status ? 1 : 0;
  const auto add = [&](const ValueRow& row) {
    if (row.source == to_string(GivenValue::From::Foreign)) {
      text += "# " + printable(row.name) + " is not the pod's own: " + printable(record.foreign) + "\n";
      return;
    }
    text += row.value ? printable(row.name + "=" + *row.value) + "\n"
                      : "# " + printable(row.name) +
                            (row.source == to_string(GivenValue::From::Pod) ? " is found at container start\n"
                                                                            : " is known once the node is\n");
  };
  for (const GivenContainer& container : record.containers) {
    if (!container.in_status) continue;
    if (ours > 1) text += "# container " + printable(container.name) + "\n";
    for (const ValueRow& row : value_rows(record, container)) {
      if (row.source == to_string(GivenValue::From::User)) continue;
      add(row);
    }
    if (!container.reads_file) continue;
    const std::string words = file_words(record);
    text += "# of /etc/nccl.conf" + (words.empty() ? "" : ": " + words) + "\n";
    for (const ValueRow& row : file_rows(record, container)) {
      if (!container.find_in_env(row.name)) add(row);
    }
  }
  return text;
}

}  // namespace nccl_env
