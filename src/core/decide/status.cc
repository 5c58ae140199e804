// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/status.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/compiled_policy.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/json_text.h"

namespace nccl_env {
namespace {

// Larger than any status of ours: 60 containers with all variables are under 32 KiB.
constexpr std::size_t kMaxStatusBytes = 64u << 10;

using json::append_string;

// Writes a comma before every member but the first.
void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  append_string(out, key);
  out += ':';
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
  append_key(out, key);
  append_string(out, value);
}

// "" also for a pod that opts out: its author may have written that.
std::string text_in_status(const Pod& pod, std::string_view name) {
  const auto text = pod.annotation(key::kStatus);
  if (opts_out(pod) || !text || text->size() > kMaxStatusBytes) return {};
  return text_at(parse_json(*text), name);
}

// Nothing where there are none. A file itself is not told, unless it is left out.
void append_values(std::string& out, std::string_view key, const std::vector<Value>& values) {
  if (values.empty()) return;
  append_key(out, key);
  out += '{';
  for (const Value& value : values) {
    if (value.reason || !value.is_file())
      append_member(out, value.name, value.reason ? to_string(*value.reason) : status_word(value));
  }
  out += '}';
}

}  // namespace

EscapedText status_head(const NcclPolicy& policy, Exposure exposure) {
  std::string out = "{\"v\":1";
  append_member(out, "policy", policy.name);
  append_key(out, "generation");
  out += std::to_string(policy.generation);
  if (!policy.value_hash.empty()) append_member(out, "hash", policy.value_hash);
  append_member(out, "exposure", to_string(exposure));
  return EscapedText(out);
}

EscapedText status_words(const ContainerPlan& container) {
  std::string out = "{";
  append_values(out, "set", container.set);
  append_values(out, "omitted", container.omitted);
  return EscapedText(out += '}');
}

EscapedText render_status(const EscapedText& head, const Pod& pod, const Plan& plan) {
  EscapedText out;
  out.text.reserve(1024);  // ten variables in each of two containers
  out.escaped.reserve(1280);
  out.append(head);
  std::string part;
  if (plan.fallback) append_string(part = ",\"fallback\":", to_string(*plan.fallback));
  part += ",\"containers\":{";
  for (const ContainerPlan& container : plan.containers) {
    if (!container.in_scope) continue;
    append_string(part, pod.containers[container.position].name);
    out.append(part += ':');
    out.append(container.given ? container.given->words : status_words(container));
    part = ",";
  }
  out.append(part == "," ? "}}" : part += "}}");
  return out;
}

std::string promised_policy(const Pod& pod) {
  return text_in_status(pod, "policy");
}

bool is_of_other_values(const Pod& pod, const NcclPolicy& policy) {
  const std::string made_by = policy.value_hash.empty() ? "" : text_in_status(pod, "hash");
  return !made_by.empty() && made_by != policy.value_hash;
}

StatusNames names_in_status(const Pod& pod) {
  StatusNames listed;
  const auto status = pod.annotation(key::kStatus);
  if (!status || status->size() > kMaxStatusBytes) return listed;
  const auto json = parse_json(*status);
  listed.fallback = text_at(json, "fallback");
  for (const auto& [container, plan] : member(json, "containers").items()) {
    for (const auto& [name, source] : member(plan, "set").items()) {
      if (source == to_string(Source::Policy)) listed.constants[container].insert(name);
      if (source == to_string(Carrier::EnvFile)) listed.env_file[container].insert(name);
    }
  }
  return listed;
}

}  // namespace nccl_env
