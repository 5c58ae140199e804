// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/status.h"

#include <nlohmann/json.hpp>

#include "decide/match.h"
#include "nccl_env/core/decide/keys.h"
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

std::string render_status(const Pod& pod, const Plan& plan) {
  std::string out;
  out.reserve(1024);  // ten variables in each of two containers
  out += "{\"v\":1";
  append_member(out, "policy", plan.policy);
  append_key(out, "generation");
  out += std::to_string(plan.generation);
  if (!plan.value_hash.empty()) append_member(out, "hash", plan.value_hash);
  append_member(out, "exposure", to_string(plan.exposure));
  if (plan.fallback) append_member(out, "fallback", to_string(*plan.fallback));
  append_key(out, "containers");
  out += '{';
  for (const ContainerPlan& container : plan.containers) {
    if (!container.in_scope) continue;
    append_key(out, pod.containers[container.position].name);
    out += '{';
    append_values(out, "set", container.set);
    append_values(out, "omitted", container.omitted);
    out += '}';
  }
  out += "}}";
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
