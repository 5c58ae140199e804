// SPDX-License-Identifier: Apache-2.0
#include "cluster/bundle.h"

#include <nlohmann/json.hpp>
#include <set>

#include "cluster/kept_fields.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kKind = "nccl-env bug report";
constexpr int kFormat = 1;

std::string line_of(const auto& json) {
  return dump_json(json) + "\n";
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
      names[kind].insert(text_at(metadata, "namespace") + "/" + text_at(metadata, "name"));
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
                                         {"namespace", bundle.name_space}});
  for (const auto& [target, reply] : bundle.answers)
    text += line_of(OrderedJson{{"get", target}, {"status", reply.status}}) + reply.body + "\n";
  return text + line_of(Json{{"findings", bundle.findings}});
}

Result<kube::Reply> RecordingServer::call(const kube::Call& call) {
  if (call.method != "GET") return Error{"a bug report only reads"};
  auto reply = asked_->call(call);
  bundle_.answers[call.target] = reply ? kube::Reply{reply->status, kept_text(call.target, *reply)}
                                       : kube::Reply{0, dump_json(Json(reply.error().message))};
  return reply;
}

}  // namespace nccl_env::cli
