// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>

#include "nccl_env/core/explain/nccl_log.h"
#include "nccl_env/core/text/columns.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A log's own words may be long; the file has them whole.
constexpr std::size_t kMostWarnings = 5;

OrderedJson names_of(const NcclLog::Facts& facts) {
  OrderedJson names = OrderedJson::array();
  for (const auto& [what, fact] : facts) names.push_back(what);
  return names;
}

std::string joined(const NcclLog::Facts& facts) {
  std::string text;
  for (const auto& [what, fact] : facts) text += (text.empty() ? "" : ", ") + what;
  return text;
}

std::string facts_text(const NcclLog& log) {
  TextColumns columns(2);
  const auto add = [&](const std::string& name, const NcclLog::Facts& facts) {
    if (!facts.empty()) columns.add({name, joined(facts)});
  };
  add("version", log.versions);
  add("network", log.networks);
  add("devices", log.devices);
  add("GID index", log.gid_indexes);
  add("transport", log.transports);
  add("bootstrap", log.bootstrap);
  std::size_t count = 0;
  for (const auto& [warning, fact] : log.warnings) {
    if (++count > kMostWarnings) break;
    columns.add({"warning", "line " + std::to_string(fact.line) + ": " + warning});
  }
  return columns.render();
}

std::string values_text(const LogVerification& verification) {
  std::set<std::string> containers;
  for (const VerifiedValue& value : verification.values) containers.insert(value.given.container);
  TextColumns columns(2);
  for (const VerifiedValue& value : verification.values) {
    const std::string name =
        containers.size() > 1 ? value.given.container + "/" + value.given.name : value.given.name;
    const std::string where = value.line > 0 ? "line " + std::to_string(value.line) + ": " : "";
    columns.add({std::string(to_string(value.verdict)), name + "=\"" + value.given.value + "\""});
    columns.add({"", where + value.evidence});
  }
  return columns.render();
}

}  // namespace

std::string render_text(const LogVerification& verification, const NcclLog& log) {
  std::string text = std::to_string(log.nccl_lines) + " of " + std::to_string(log.lines) +
                     " lines are NCCL's, of " + std::to_string(log.processes) +
                     (log.processes == 1 ? " process\n" : " processes\n") + facts_text(log);
  if (!verification.values.empty()) text += "\n" + values_text(verification);
  for (const std::string& note : verification.notes) {
    text += "\n";
    for (const std::string& line : wrap(printable(note), kTextWidth)) text += line + "\n";
  }
  return text;
}

OrderedJson to_json(const LogVerification& verification, const NcclLog& log) {
  OrderedJson json = OrderedJson::object();
  json["good"] = is_good(verification);
  json["fellBackToSockets"] = verification.fell_back;
  json["values"] = OrderedJson::array();
  for (const VerifiedValue& value : verification.values) {
    json["values"].push_back({{"container", value.given.container},
                              {"name", value.given.name},
                              {"value", value.given.value},
                              {"source", value.given.source},
                              {"verdict", to_string(value.verdict)},
                              {"evidence", value.evidence},
                              {"line", value.line > 0 ? OrderedJson(value.line) : OrderedJson()}});
  }
  json["notes"] = verification.notes;
  json["log"] = {{"lines", log.lines},
                 {"ncclLines", log.nccl_lines},
                 {"processes", log.processes},
                 {"versions", names_of(log.versions)},
                 {"networks", names_of(log.networks)},
                 {"devices", names_of(log.devices)},
                 {"gidIndexes", names_of(log.gid_indexes)},
                 {"transports", names_of(log.transports)},
                 {"bootstrap", names_of(log.bootstrap)}};
  return json;
}

}  // namespace nccl_env
