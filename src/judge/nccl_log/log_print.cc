// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/judge/nccl_log/log_print.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/judge/nccl_log/log_text.h"
#include "nccl_log/log_facts.h"
#include "nccl_log/verified_failure.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Limits the text that is printed from a long log; the log file has all lines.
constexpr std::size_t kMostWarnings = 5;
constexpr std::size_t kMostFailures = 8;

OrderedJson json_of(const EngineLog& log) {
  return {{"lines", log.lines},
          {"versions", keys_of(log.versions)},
          {"devices", keys_of(log.devices)},
          {"lacking", keys_of(log.lacking)}};
}

// "; 9 lines of UCX's, 4 lines of NVSHMEM's"; "" where there are none.
std::string engine_lines(const NcclLog& log) {
  std::string text;
  for (const EngineLog* engine : log.engines()) {
    if (engine->lines > 0)
      text += (text.empty() ? "; " : ", ") + count_of(engine->lines, "line") + " of " +
              std::string(engine->name) + "'s";
  }
  return text;
}

std::string facts_text(const NcclLog& log) {
  TextColumns columns(2);
  const auto add = [&](const std::string& name, const NcclLog::Facts& facts) {
    if (!facts.empty()) columns.add({name, names_in(facts)});
  };
  add("version", log.versions);
  add("network", log.networks);
  add("devices", log.devices);
  add("GID index", log.gid_indexes);
  add("transport", log.transports);
  add("bootstrap", log.bootstrap);
  for (const EngineLog* engine : log.engines()) {
    const auto add_lines = [&](std::string_view what, const EngineLog::Lines& lines) {
      if (!lines.empty())
        columns.add({std::string(engine->name).append(what), join_some(keys_of(lines), kMostWarnings)});
    };
    add_lines(" version", engine->versions);
    add_lines(" devices", engine->devices);
    add_lines(" lacks", engine->lacking);
  }
  std::map<std::uint64_t, std::string_view> warnings;
  for (const auto& [warning, fact] : log.warnings) warnings.emplace(fact.line, warning);
  std::size_t count = 0;
  for (const auto& [line, warning] : warnings) {
    if (++count <= kMostWarnings) columns.add({"harmless", line_text(line) + std::string(warning)});
  }
  return columns.render();
}

// Lists failures in the order of their lines; the cause has its words above.
std::string failures_text(const LogVerification& verification) {
  TextColumns columns(2);
  std::size_t count = 0;
  std::set<std::string> told;  // each meaning and remedy once
  const auto add_once = [&](std::string text) {
    if (!text.empty() && told.insert(text).second) columns.add({"", std::move(text)});
  };
  if (verification.cause) {
    const auto words = words_of(verification.failures[*verification.cause].failure);
    told = {std::string(words.meaning), std::string(words.remedy)};
  }
  for (const VerifiedFailure& verified : verification.failures) {
    if (++count > kMostFailures) {
      columns.add(
          {"", "and " + std::to_string(verification.failures.size() - kMostFailures) + " more: -o json"});
      break;
    }
    const NcclFailure& failure = verified.failure;
    const bool cause = verification.cause == count - 1;
    const std::string quoted = "\"" + failure.text + "\"", described = describe(failure);
    columns.add({std::string(to_string(failure.code)),
                 line_text(failure.line) + (cause || described == failure.text ? quoted : described) +
                     (cause ? "" : how_often(failure)) + (failure.retried ? "; NCCL tries again" : "")});
    if (cause) continue;
    const FailureWords words = words_of(failure);
    add_once(std::string(words.meaning));
    add_once(cause_of(verified));
    if (verified.counts) add_once(std::string(words.remedy));
  }
  return columns.render();
}

std::string values_text(const LogVerification& verification) {
  std::set<std::string> containers;
  for (const VerifiedValue& value : verification.values) containers.insert(value.container);
  TextColumns columns(2);
  for (const VerifiedValue& value : verification.values) {
    const std::string name = containers.size() > 1 ? value.container + "/" + value.name : value.name;
    columns.add({std::string(to_string(value.verdict)), name + "=\"" + *value.value + "\""});
    columns.add({"", line_text(value.line) + value.evidence});
  }
  return columns.render();
}

}  // namespace

std::string render_text(const LogVerification& verification, const NcclLog& log) {
  std::string text = paragraph(verification.sentence);
  if (!verification.failures.empty()) text += "\n" + failures_text(verification);
  if (!verification.values.empty()) text += "\n" + values_text(verification);
  for (const std::string& note : verification.notes) {
    if (verification.sentence.find(note) == std::string::npos) text += "\n" + paragraph(note);
  }
  return text + "\n" + std::to_string(log.nccl_lines) + " of " + std::to_string(log.lines) +
         (log.lines == 1 ? " line is" : " lines are") + " known here, of " + std::to_string(log.processes) +
         (log.processes == 1 ? " process" : " processes") + engine_lines(log) + "\n" + facts_text(log);
}

OrderedJson to_json(const LogVerification& verification, const NcclLog& log) {
  const auto json_of_value = [](const VerifiedValue& value) {
    return OrderedJson{{"container", value.container},
                       {"name", value.name},
                       {"value", *value.value},
                       {"source", source_word(value)},
                       {"verdict", to_string(value.verdict)},
                       {"evidence", value.evidence},
                       {"line", value.line > 0 ? OrderedJson(value.line) : OrderedJson()}};
  };
  const auto json_of_failure = [](const VerifiedFailure& verified) {
    OrderedJson failure = to_json(verified.failure);
    failure["counts"] = verified.counts;
    failure["cause"] =
        verified.variable.empty()
            ? OrderedJson()
            : OrderedJson{{"name", verified.variable}, {"value", verified.value}, {"ofPod", verified.of_pod}};
    return failure;
  };
  OrderedJson of_log{{"lines", log.lines},
                     {"ncclLines", log.nccl_lines},
                     {"processes", log.processes},
                     {"versions", keys_of(log.versions)},
                     {"nodes", log.nodes > 0 ? OrderedJson(log.nodes) : OrderedJson()},
                     {"ranks", log.ranks > 0 ? OrderedJson(log.ranks) : OrderedJson()},
                     {"networks", keys_of(log.networks)},
                     {"devices", keys_of(log.devices)},
                     {"links", keys_of(log.links)},
                     {"gidIndexes", keys_of(log.gid_indexes)},
                     {"transports", keys_of(log.transports)},
                     {"bootstrap", keys_of(log.bootstrap)},
                     {"ucx", json_of(log.ucx)},
                     {"nvshmem", json_of(log.nvshmem)}};
  return {{"good", is_good(verification.findings)},
          {"findings", to_json(verification.findings)},
          {"fellBackToSockets", verification.fell_back},
          {"values", array_of(verification.values, json_of_value)},
          {"failures", array_of(verification.failures, json_of_failure)},
          {"notes", verification.notes},
          {"sentence", verification.sentence},
          {"log", std::move(of_log)}};
}

}  // namespace nccl_env
