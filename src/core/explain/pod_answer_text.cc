// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "explain/pod_answer_rows.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/explain/preview.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/short_text.h"

namespace nccl_env {
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
  return std::string(answer.state == PodState::MissedAtBinding ? "\n  what a pod bound today would have\n"
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
