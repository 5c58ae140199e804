// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/explain/injected_pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "decide/container_env.h"
#include "explain/injected_conf.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/node_values.h"
#include "nccl_env/core/decide/plan.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;

// Limits of a pod's texts: larger annotations are not read. A status of 60 containers with all variables is
// under 32 KiB.
constexpr std::size_t kMaxNoteBytes = 64u << 10;
constexpr std::size_t kMaxGates = 16;
constexpr std::size_t kMaxSentence = 1024;

std::int64_t number_at(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

// Members that are texts.
NodeNote::Omitted texts_at(const Json& object, std::string_view name) {
  NodeNote::Omitted texts;
  const Json& members = member(object, name);
  if (!members.is_object()) return texts;
  for (const auto& [key, value] : members.items()) {
    if (value.is_string()) texts.emplace(key, value.get<std::string>());
  }
  return texts;
}

// One of our annotations as an object; null where it is absent or too large.
Json note_of(const Pod& pod, std::string_view key, std::vector<std::string>& unreadable) {
  const auto text = pod.annotation(key);
  if (!text) return {};
  Json note = text->size() > kMaxNoteBytes ? Json() : parse_json(*text);
  if (note.is_object() && note.contains("v")) return note;
  unreadable.emplace_back(key);
  return {};
}

Value resolve(const Pod& pod, const EnvEntry& entry, const NodeNote::Omitted& set) {
  Value given{.name = std::string(entry.name), .state = State::Users, .in_env = true};
  if (is_own_field(entry)) {
    given.source = Source::Node;
    for (const auto& [key, value] : pod.annotations) {
      if (is_node_key(key) && entry.field_path == field_path(key) && !value.empty()) given.value = value;
    }
    given.state = given.value ? State::Given : State::LeftOut;
  } else if (!entry.has_source && entry.value.find("$(") == std::string_view::npos) {
    given.value = entry.value;
    const auto listed = set.find(entry.name);
    if (listed != set.end() && listed->second == to_string(Source::Policy)) given.state = State::Given;
  }
  return given;
}

// Adds the file's lines, and the lines that the status lists and the file does not have.
void add_file(const GivenFile& file, const NodeNote::Omitted& set, GivenContainer& into) {
  const Source source = file.at_start ? Source::Pod : Source::File;
  for (const auto& [name, value] : file.lines)
    into.file.push_back({name, value, source, State::Given, false, true});
  const bool written = !file.at_start || (file.state == GivenFile::State::Known && !file.cut) ||
                       (file.state == GivenFile::State::Failed && !file.stuck);
  for (const auto& [name, by] : set) {
    if (by == to_string(source) && has_known_prefix(name) && !file.lines.contains(name))
      into.file.push_back({name, {}, source, written ? State::LeftOut : State::Later});
  }
}

GivenContainer read_container(const Pod& pod, const Container& container, const Json& noted,
                              const std::optional<GivenFile>& file) {
  GivenContainer given;
  given.name = std::string(container.name);
  given.init = container.kind == ContainerKind::Init;
  given.env_from = !container.env_from_prefixes.empty();
  const Json& plan = member(noted, given.name);
  given.in_status = plan.is_object();
  const NodeNote::Omitted set = texts_at(plan, "set");
  given.omitted = texts_at(plan, "omitted");
  for (const EnvEntry& entry : container.env) {
    if (!has_known_prefix(entry.name)) continue;
    Value value = resolve(pod, entry, set);
    std::erase_if(given.values, [&](const Value& earlier) { return earlier.name == value.name; });
    given.values.push_back(std::move(value));
  }
  given.reads_file = file && mounts_given_file(container);
  if (given.reads_file) add_file(*file, set, given);
  for (const std::string_view resource : container.resources) {
    if (is_extended_resource(resource)) given.resources.emplace_back(resource);
  }
  return given;
}

std::vector<PodOwner> owners_of(const Json& metadata) {
  std::vector<PodOwner> owners;
  for (const Json& entry : items_at(metadata, "ownerReferences")) {
    PodOwner owner{text_at(entry, "kind"), text_at(entry, "name"),
                   text_at(entry, "apiVersion").starts_with("batch/")};
    if (owner.name.empty()) continue;
    owners.insert(member(entry, "controller") == true ? owners.begin() : owners.end(), std::move(owner));
  }
  return owners;
}

void read_scheduling(const Json& object, PodRecord& into) {
  for (const Json& gate : items_at(member(object, "spec"), "schedulingGates")) {
    if (into.gates.size() < kMaxGates) into.gates.push_back(text_at(gate, "name"));
  }
  const Json& status = member(object, "status");
  into.phase = text_at(status, "phase");
  for (const Json& condition : items_at(status, "conditions")) {
    if (text_at(condition, "type") == "PodScheduled" && text_at(condition, "status") == "False")
      into.unscheduled = text_at(condition, "message").substr(0, kMaxSentence);
  }
}

void read_notes(const Pod& pod, const Json& status, PodRecord& into) {
  if (status.is_object()) {
    into.status = {text_at(status, "policy"), number_at(status, "generation"),
                   parse_exposure(text_at(status, "exposure")), text_at(status, "form")};
  }
  const Json node = note_of(pod, key::kNode, into.unreadable);
  if (!node.is_object()) return;
  into.bound = {text_at(node, "node"),
                text_at(node, "table"),
                text_at(node, "policy"),
                number_at(node, "generation"),
                text_at(node, "reason"),
                {},
                {},
                {}};
  into.bound->host = texts_at(member(node, "omitted"), "host");
  into.bound->sub_interface = texts_at(member(node, "omitted"), "subinterface");
  into.bound->own_network = texts_at(member(node, "omitted"), "ownNetwork");
}

// Why none of the texts that Binding writes can be this pod's; "" if they are its own. A policy may be edited
// between CREATE and Binding, so the node annotation may have the later generation.
std::string foreign_texts(const PodRecord& record) {
  if (record.node.empty()) return "they come with the node, and the pod has none yet";
  if (!record.bound) return "no Binding wrote them, as the annotation nccl-env.io/node is not there";
  const NodeNote& bound = *record.bound;
  if (bound.node != record.node)
    return "they are node " + bound.node + "'s, and the pod is on " + record.node;
  if (!bound.reason.empty()) return "its Binding gave no values (" + bound.reason + ")";
  if (!record.status) return {};
  const StatusNote& status = *record.status;
  if (bound.policy != status.policy)
    return "they are of policy " + bound.policy + ", and the pod was created by " + status.policy;
  if (bound.generation < status.generation) {
    return "they are of generation " + std::to_string(bound.generation) + " of policy " + bound.policy +
           ", and the pod was created at " + std::to_string(status.generation);
  }
  return {};
}

// Says why this one value is not the pod's: the node gave none. "" otherwise. Some lines of a file are
// constants, which do not depend on the node.
std::string foreign_value(const PodRecord& record, const Value& given) {
  const bool constant = (record.status && record.status->exposure == Exposure::PodOwned) ||
                        (given.name == variable::kSocketIfname && !record.host_network);
  if (given.source == Source::File && constant) return {};
  const std::string reason = record.reason_at_binding(given.name);
  return reason.empty() ? std::string() : "the pod's node gave none (" + reason + ")";
}

void mark_foreign(PodRecord& record) {
  const std::string whole = foreign_texts(record);
  const auto mark = [&](std::vector<Value>& values) {
    for (Value& given : values) {
      if (!given.value || (given.source != Source::Node && given.source != Source::File)) continue;
      const std::string why = whole.empty() ? foreign_value(record, given) : whole;
      if (why.empty()) continue;
      given.state = State::Foreign;
      if (record.foreign.empty()) record.foreign = why;
    }
  };
  for (GivenContainer& container : record.containers) {
    mark(container.values);
    mark(container.file);
  }
}

}  // namespace

Result<PodRecord> read_pod_record(const Pod& pod, const Json& object) {
  const Json& metadata = member(object, "metadata");
  if (pod.name.empty()) return Error{"the pod has no metadata.name"};
  PodRecord record;
  record.name = std::string(pod.name);
  record.name_space = text_at(metadata, "namespace");
  record.node = std::string(pod.node_name);
  record.host_network = pod.host_network;
  record.ending = !member(metadata, "deletionTimestamp").is_null();
  record.owners = owners_of(metadata);
  if (const auto created = parse_timestamp(text_at(metadata, "creationTimestamp"))) record.created = *created;
  for (const auto& [key, value] : pod.labels) record.labels.emplace(key, value);
  for (const auto& [key, value] : pod.annotations) {
    if (!is_node_key(key) && key != key::kStatus) record.annotations.emplace(key, value);
  }
  read_scheduling(object, record);
  const Json status = note_of(pod, key::kStatus, record.unreadable);
  read_notes(pod, status, record);
  record.file = read_given_file(pod, object);
  for (const Container& container : pod.containers)
    record.containers.push_back(read_container(pod, container, member(status, "containers"), record.file));
  mark_foreign(record);
  return record;
}

Result<std::vector<Value>> injected_values(const Pod& pod, std::string_view container, const Json& object) {
  const auto record = read_pod_record(pod, object);
  if (!record) return record.error();
  std::vector<Value> values;
  bool named = container.empty();
  for (const GivenContainer& given : record->containers) {
    if (!container.empty() && given.name != container) continue;
    named = named || given.in_status;
    for (const Value* value : given.effective()) {
      const bool ours = given.in_status && value->state != State::Users;
      if (!value->value || (!ours && value->state != State::Foreign)) continue;
      values.push_back(*value);
      values.back().container = given.name;
    }
  }
  const std::string annotation = "annotation " + std::string(key::kStatus);
  if (values.empty() && !pod.annotation(key::kStatus))
    return Error{"the pod has no " + annotation + ": nothing was injected"};
  if (values.empty() && !record->status) return Error{"the pod's " + annotation + " is not readable"};
  if (values.empty() && !named) return Error{"the pod's status names no container " + std::string(container)};
  std::sort(values.begin(), values.end(), [](const Value& left, const Value& right) {
    return std::tie(left.container, left.name) < std::tie(right.container, right.name);
  });
  return values;
}

}  // namespace nccl_env
