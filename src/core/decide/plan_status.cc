// SPDX-License-Identifier: Apache-2.0
#include "decide/plan_status.h"

#include "text/json_text.h"

namespace nccl_env {
namespace {

using json::append_string;

// A comma before every member but the first.
void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  append_string(out, key);
  out += ':';
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
  append_key(out, key);
  append_string(out, value);
}

}  // namespace

std::string render_status(const Pod& pod, const Plan& plan) {
  std::string out;
  out.reserve(1024);  // ten variables in each of two containers
  out += "{\"v\":1";
  append_member(out, "policy", plan.policy);
  append_key(out, "generation");
  out += std::to_string(plan.generation);
  append_member(out, "exposure", to_string(plan.exposure));
  append_member(out, "form", to_string(plan.form));
  append_key(out, "containers");
  out += '{';
  for (const ContainerPlan& container : plan.containers) {
    if (!container.in_scope) continue;
    append_key(out, pod.containers[container.position].name);
    out += '{';
    if (!container.set.empty()) {
      append_key(out, "set");
      out += '{';
      for (const PlannedVariable& planned : container.set)
        append_member(out, planned.name, to_string(planned.source));
      out += '}';
    }
    if (!container.omitted.empty()) {
      append_key(out, "omitted");
      out += '{';
      for (const Omission& omission : container.omitted)
        append_member(out, omission.name, to_string(omission.reason));
      out += '}';
    }
    out += '}';
  }
  out += "}}";
  return out;
}

}  // namespace nccl_env
