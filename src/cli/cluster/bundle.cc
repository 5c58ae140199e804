// SPDX-License-Identifier: Apache-2.0
#include "cluster/bundle.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cluster/disguise.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kKind = "nccl-env bug report";
constexpr int kFormat = 1;
// The most bytes of the first line, and of the line before an answer's body. The token of a list's next page
// is the longest part.
constexpr std::size_t kMaxHead = 64u << 10;
constexpr const char* kFindings = "/api/v1/findings";  // as if the API server had given them

std::string line_of(const auto& json) {
  return dump_json(json) + "\n";
}

// Takes lines off the front of a text; each has to end.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) return std::nullopt;
    ++number_;
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  // An object with these members and no others.
  Json head(std::initializer_list<const char*> names, std::size_t most = kMaxHead) {
    const auto line = next();
    Json object = line && line->size() <= most ? parse_json(*line) : Json();
    const bool all = object.is_object() && object.size() == names.size() &&
                     std::ranges::all_of(names, [&](const char* name) { return object.contains(name); });
    return all ? object : Json();
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] Error wrong(const std::string& expected) const {
    return {"line " + std::to_string(number_) + ": must be " + expected};
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

bool is_target(const std::string& text) {
  return text.starts_with('/') && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool is_status(const Json& value) {
  return value.is_number_integer() && (value == 0 || (value >= 100 && value <= 599));
}

Result<Bundle> read_head(Lines& lines) {
  const Lines before = lines;
  if (lines.head({"kind", "format", "at", "program", "disguised"}).is_object())
    return Error{"has counters for names and addresses: only a report made with --plain can be asked"};
  lines = before;
  const Json head = lines.head({"kind", "format", "at", "program", "server", "namespace", "commands"});
  if (member(head, "kind") != kKind) return Error{"is not a bug report of nccl-env"};
  if (member(head, "format") != kFormat) return Error{"is a bug report of another version of nccl-env"};
  Bundle bundle;
  const auto at = parse_timestamp(text_at(head, "at"));
  if (!at) return lines.wrong("a report's head: at: " + at.error().message);
  bundle.at = *at;
  bundle.program = text_at(head, "program");
  bundle.server = text_at(head, "server");
  bundle.name_space = text_at(head, "namespace");
  if (!is_dns_subdomain(bundle.name_space)) return lines.wrong("a report's head: namespace: is not a name");
  for (const Json& command : member(head, "commands")) bundle.commands.push_back(text_of(command));
  return bundle;
}

std::string last_lines(const Json& findings, std::size_t answers) {
  return line_of(Json{{"findings", findings}}) + line_of(Json{{"end", answers}});
}

Error not_held(const std::string& target) {
  return {"the report has no answer to " + target + ", which its commands did not ask"};
}

}  // namespace

std::map<std::string, std::size_t> Bundle::kinds() const {
  std::map<std::string, std::set<std::string>> names;
  for (const auto& [target, reply] : answers) {
    const std::string kind = kind_at(target);
    if (reply.status != kube::kOk || kind.empty()) continue;
    const Json body = parse_json(reply.body);
    const bool list = member(body, "items").is_array();
    for (const Json& object : list ? body["items"] : Json::array({body})) {
      const Json& metadata = member(object, "metadata");
      const std::string name = text_at(metadata, "name");  // a log has none
      names[kind].insert(name.empty() ? target : text_at(metadata, "namespace") + "/" + name);
    }
  }
  std::map<std::string, std::size_t> counts;
  for (const auto& [kind, objects] : names) counts.emplace(kind, objects.size());
  return counts;
}

std::string render_bundle(const Bundle& bundle) {
  std::string text = line_of(OrderedJson{{"kind", kKind},
                                         {"format", kFormat},
                                         {"at", format_timestamp(bundle.at)},
                                         {"program", bundle.program},
                                         {"server", bundle.server},
                                         {"namespace", bundle.name_space},
                                         {"commands", bundle.commands}});
  for (const auto& [target, reply] : bundle.answers)
    text += line_of(OrderedJson{{"get", target}, {"status", reply.status}}) + reply.body + "\n";
  return text + last_lines(bundle.findings, bundle.answers.size());
}

std::string render_disguised(const Bundle& bundle) {
  Disguise disguise;
  for (const auto& [target, reply] : bundle.answers) {  // gives every name its counter, for texts
    if (reply.status == kube::kOk) kept_text(target, reply, &disguise);
  }
  std::string text = line_of(OrderedJson{{"kind", kKind},
                                         {"format", kFormat},
                                         {"at", format_timestamp(bundle.at)},
                                         {"program", bundle.program},
                                         {"disguised", true}});
  std::size_t count = 0;
  for (const auto& [target, reply] : bundle.answers) {
    const std::string kind = kind_at(target);
    if (kind == "log") continue;
    ++count;
    text += line_of(OrderedJson{{"get", kind}, {"status", reply.status}}) +
            (reply.status == 0 ? dump_json(Json("no answer came")) : kept_text(target, reply, &disguise)) +
            "\n";
  }
  const kube::Reply told{kube::kOk, dump_json(Json{{"items", bundle.findings}})};
  return text + last_lines(parse_json(kept_text(kFindings, told, &disguise))["items"], count);
}

Result<Bundle> parse_bundle(std::string_view text) {
  if (text.size() > kMaxBundle) return Error{"is larger than " + std::to_string(kMaxBundle >> 20) + " MiB"};
  Lines lines(text);
  auto bundle = read_head(lines);
  if (!bundle) return bundle;
  for (;;) {
    const Lines before = lines;
    const Json answer = lines.head({"get", "status"});
    if (!answer.is_object()) {
      lines = before;
      break;
    }
    const std::string target = text_at(answer, "get");
    if (!is_target(target) || !is_status(answer["status"])) return lines.wrong("a path and a status");
    const auto body = lines.next();
    if (!body) return lines.wrong("followed by an answer: the report is cut");
    if (!bundle->answers.emplace(target, kube::Reply{answer["status"], std::string(*body)}).second)
      return lines.wrong("the only answer to " + target);
  }
  bundle->findings = member(lines.head({"findings"}, kMaxBundle), "findings");
  const Json end = lines.head({"end"});
  if (!bundle->findings.is_array() || member(end, "end") != bundle->answers.size() || !lines.at_end())
    return lines.wrong("an answer, or the end with their number: the report is cut, or was edited");
  return bundle;
}

Result<kube::Reply> RecordingServer::call(const kube::Call& call) {
  if (call.method != "GET") return Error{"a bug report only reads"};
  auto reply = asked_->call(call);
  bundle_.answers[call.target] = reply ? kube::Reply{reply->status, kept_text(call.target, *reply)}
                                       : kube::Reply{0, dump_json(Json(reply.error().message))};
  return reply;
}

Result<kube::Reply> RecordingServer::stream_parts(const std::string& target,
                                                  std::chrono::milliseconds idle_deadline,
                                                  const std::function<bool(std::string_view)>& on_part) {
  std::string text;
  auto reply = asked_->stream_parts(target, idle_deadline, [&](std::string_view part) {
    text += part;
    return on_part(part);
  });
  if (reply && reply->status == kube::kOk) bundle_.answers[target] = {kube::kOk, dump_json(Json(text))};
  return reply;
}

Result<kube::Reply> BundleServer::call(const kube::Call& call) {
  if (call.method != "GET") return Error{"a bug report answers no dry runs"};
  const auto found = bundle_.answers.find(call.target);
  if (found == bundle_.answers.end()) return not_held(call.target);
  if (found->second.status == 0) return Error{text_of(parse_json(found->second.body))};
  return found->second;
}

// Gives a log in one part: it is kept as a string.
Result<kube::Reply> BundleServer::stream_parts(const std::string& target, std::chrono::milliseconds,
                                               const std::function<bool(std::string_view)>& on_part) {
  const auto found = bundle_.answers.find(target);
  if (found == bundle_.answers.end()) return not_held(target);
  on_part(text_of(parse_json(found->second.body)));
  return kube::Reply{kube::kOk, {}};
}

}  // namespace nccl_env::cli
