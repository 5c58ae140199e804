// SPDX-License-Identifier: Apache-2.0
#include "explain/value_print.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/findings/catalogue.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string unknown_words(const Value& value) {
  if (value.state == State::Users) return "not in the pod";
  return value.source == Source::Pod ? "found at container start" : "known once the node is";
}

std::string heading(std::string_view what, std::string_view container) {
  return "\n  " + std::string(what) + " " + printable(container) + "\n";
}

}  // namespace

std::string value_text(const Value& value) {
  return value.value ? *value.value : "(" + unknown_words(value) + ")";
}

OrderedJson to_json(const std::vector<Value>& values) {
  OrderedJson json = OrderedJson::array();
  for (const Value& value : values) {
    json.push_back(
        {{"name", value.name}, {"value", value_or_null(value.value)}, {"source", source_word(value)}});
    if (!value.detail.empty()) json.back()["why"] = value.detail;
  }
  return json;
}

OrderedJson omitted_json(const std::vector<Value>& omitted) {
  OrderedJson json = OrderedJson::array();
  for (const Value& value : omitted) {
    json.push_back(
        {{"name", value.name}, {"reason", value.detail}, {"detail", nullptr}, {"remedy", nullptr}});
    if (!value.reason) continue;
    json.back()["reason"] = to_string(*value.reason);
    json.back()["detail"] = value.detail.empty() ? meaning(*value.reason) : value.detail;
    json.back()["remedy"] = remedy(*value.reason);
  }
  return json;
}

std::string env_table(std::string_view container, const std::vector<Value>& env,
                      const std::vector<Value>& omitted) {
  if (env.empty() && omitted.empty()) return {};  // the file's table tells all
  TextColumns columns(4);
  columns.add({"VARIABLE", "SOURCE", "VALUE OR REASON"});
  for (const Value& value : env) {
    columns.add({value.name, std::string(source_word(value)), value_text(value)});
    if (!value.detail.empty()) columns.add({"", "", value.detail});
  }
  std::set<Reason> told;
  for (const Value& value : omitted) {
    const auto& reason = value.reason;
    const std::string detail = value.detail.empty() && reason ? std::string(meaning(*reason)) : value.detail;
    columns.add({value.name, "-", (reason ? std::string(to_string(*reason)) + ": " : "") + detail});
    if (reason && told.insert(*reason).second) columns.add({"", "", std::string(remedy(*reason))});
  }
  return heading("container", container) + columns.render();
}

std::string_view conf_path(bool named) {
  return named ? conf_file::kNamedPath : conf_file::kPath;
}

namespace {

std::string lines_table(const std::vector<Value>& lines, const std::vector<Value>& env) {
  TextColumns table(4);
  if (!lines.empty()) table.add({"LINE", "SOURCE", "VALUE"});
  for (const Value& line : lines) {
    const Value* beside = find_named(env, line.name);
    const bool beaten = line.value && beside && beside->value != line.value;
    table.add({line.name, std::string(source_word(line)),
               value_text(line) + (beaten ? " (the env's value counts)" : "")});
    if (!line.detail.empty()) table.add({"", "", line.detail});
  }
  return table.render();
}

}  // namespace

std::string engine_tables(std::string_view container, const std::vector<Value>& lines,
                          const std::vector<Value>& env) {
  std::string text;
  for (const Engine* engine : other_engines()) {
    std::vector<Value> own;
    std::ranges::copy_if(lines, std::back_inserter(own),
                         [&](const Value& line) { return engine_of_variable(line.name) == engine; });
    if (own.empty()) continue;
    text += heading(std::string(conf_file::kFolder).append("/").append(engine->file) + " of container",
                    std::string(container)) +
            lines_table(own, env);
  }
  return text;
}

std::string file_table(std::string_view container, bool named, std::string_view words,
                       const std::vector<Value>& lines, const std::vector<Value>& env) {
  TextColumns columns(4);
  if (!words.empty() || lines.empty()) columns.add({std::string(words.empty() ? "empty" : words)});
  const std::string note = named ? "" : " (" + std::string(to_string(Code::ImageConfHidden)) + ")";
  return heading(std::string(conf_path(named)) + " of container", std::string(container) + note) +
         columns.render() + lines_table(lines, env);
}

std::string in_brackets(const std::optional<Reason>& reason) {
  return reason ? " (" + std::string(to_string(*reason)) + ")" : "";
}

std::string env_line(const Value& value, std::string_view foreign) {
  if (value.state == State::Foreign)
    return "# " + printable(value.name) + " is not the pod's own: " + printable(foreign) + "\n";
  if (value.value) return printable(value.name + "=" + *value.value) + "\n";
  return "# " + printable(value.name) + " is " + unknown_words(value) + "\n";
}

}  // namespace nccl_env
