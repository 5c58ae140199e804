// SPDX-License-Identifier: Apache-2.0
// Past 600 lines: each place in which a pod shows a value that it was given is read here, into one record.
#include "nccl_env/judge/explain/pod_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "explain/judgement.h"
#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/container_env.h"
#include "nccl_env/core/decide/engine_values.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/launcher.h"
#include "nccl_env/core/decide/planned.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/ports.h"
#include "nccl_env/core/engines/nccl/select.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/pod/env_references.h"
#include "nccl_env/core/pod/networks.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/reasons.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"

namespace nccl_env {

void GivenContainer::take_command(std::vector<Value> from) {
  command.insert(command.end(), from.begin(), from.end());
  std::erase_if(command, [&](const Value& set) {
    const Value* given = find_given(set.name);
    if (!given || !given->value || !set.value) return false;
    const bool list = set.name == variable::kIbHca;
    return list ? names_of_list(*given->value) == names_of_list(*set.value) : given->value == set.value;
  });
}

const Value* GivenContainer::find_in_env(std::string_view variable) const {
  const Value* set = find_named(command, variable);
  return set ? set : find_named(values, variable);
}

const Value* GivenContainer::find_given(std::string_view variable) const {
  const Value* given = find_named(values, variable);
  if (!given) given = find_named(file, variable);
  return given ? given : find_named(engine_lines, variable);
}

const Value* GivenContainer::find(std::string_view variable) const {
  const Value* set = find_named(command, variable);
  return set ? set : find_given(variable);
}

std::vector<const Value*> GivenContainer::effective() const {
  std::vector<const Value*> all;
  for (const Value& given : values) all.push_back(find_in_env(given.name));
  for (const Value& set : command) {
    if (!find_named(values, set.name)) all.push_back(&set);
  }
  for (const std::vector<Value>* lines : {&file, &engine_lines}) {
    for (const Value& line : *lines) {
      if (!find_in_env(line.name)) all.push_back(&line);
    }
  }
  return all;
}

bool PodRecord::has_unreadable_status() const {
  return std::ranges::find(unreadable, key::kStatus) != unreadable.end();
}

bool PodRecord::starts_itself() const {
  return status && status->form == to_string(Form::ContainerStart);
}

std::string PodRecord::argument() const {
  if (!is_dns_subdomain(name)) return "NAME";
  return name + (is_dns_subdomain(name_space) ? " -n " + name_space : "");
}

std::string PodRecord::trouble_remedy() const {
  return "`kubectl describe pod " + argument() + "` tells more" +
         (has_log ? ", and `nccl-env verify pod/" + argument() + "` reads its log." : "; it has no log.");
}

bool PodRecord::is_finished() const {
  return phase == "Succeeded" || phase == "Failed";
}

bool PodRecord::reads_node() const {
  if (file && !file->at_start) return true;
  return std::ranges::any_of(containers, [](const GivenContainer& container) {
    return std::ranges::any_of(container.values,
                               [](const Value& given) { return given.source == Source::Node; });
  });
}

const GivenContainer* PodRecord::main_container() const {
  const auto rank = [](const GivenContainer& some) {
    return (some.in_status ? 4 : 0) + (some.init ? 0 : 2) + (some.resources.empty() ? 0 : 1);
  };
  const auto best = std::ranges::max_element(containers, {}, rank);
  return best == containers.end() ? nullptr : &*best;
}

std::string PodRecord::reason_at_binding(std::string_view variable) const {
  if (!bound) return {};
  if (variable == variable::kSocketIfname && !host_network) return find_text(bound->own_network, variable);
  const bool host = !status || status->exposure != Exposure::SubInterface;
  const TextsByName& omitted = host ? bound->host : bound->sub_interface;
  const std::string own = find_text(omitted, variable);
  return own.empty() ? find_text(omitted, followed(variable)) : own;
}

std::string PodRecord::reason_missing(const Value& value) const {
  if (value.state != State::LeftOut) return {};
  if (value.by_file_key && bound && !bound->env_file.empty()) return bound->env_file;
  std::string by_binding = value.source == Source::Pod ? std::string() : reason_at_binding(value.name);
  return by_binding.empty() && file && file->at_start ? find_text(file->reasons, value.name) : by_binding;
}
namespace {

// Returns what the container's command sets for certain; or of that, what it gives to ranks elsewhere.
std::vector<Value> set_by_command(const Container& container, bool for_ranks) {
  std::vector<Value> values;
  for (const CommandValue& set : command_values(container)) {
    if (!set.certain || (for_ranks && !set.for_ranks)) continue;
    values.push_back({set.name, set.value, Source::Command, State::Users, true});
    if (set.for_ranks) values.back().container = "container " + printable(container.name);
  }
  return values;
}

using Json = nlohmann::json;

// Limits of a pod's texts: larger annotations are not read. A status of 60 containers with all variables is
// under 32 KiB.
constexpr std::size_t kMaxNoteBytes = 64u << 10;
constexpr std::size_t kMaxGates = 16;
constexpr std::size_t kMaxSentence = 1024;
constexpr std::size_t kContainerName = 63;

std::int64_t number_at(const Json& object, std::string_view name) {
  const Json& value = member(object, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

// Members that are texts.
TextsByName texts_at(const Json& object, std::string_view name) {
  TextsByName texts;
  const Json& members = member(object, name);
  if (!members.is_object()) return texts;
  for (const auto& [key, value] : members.items()) {
    if (value.is_string()) texts.emplace(key, value.get<std::string>());
  }
  return texts;
}

// One of our annotations as an object; null where it is absent, too large, or of another version.
Json note_of(const Pod& pod, std::string_view key, std::vector<std::string>& unreadable) {
  const auto text = pod.annotation(key);
  if (!text) return {};
  Json note = text->size() > kMaxNoteBytes ? Json() : parse_json(*text);
  const bool whole = key != key::kStatus || member(note, "containers").is_object();
  if (note.is_object() && member(note, "v") == 1 && whole) return note;
  unreadable.emplace_back(key);
  return {};
}

// A reference to the file of EnvFile has the value that the init container says it wrote.
Value resolve_file_key(std::string_view name, const PodRecord& record) {
  Value given{.name = std::string(name),
              .source = record.starts_itself() ? Source::Pod : Source::Node,
              .state = State::Later,
              .in_env = true,
              .by_file_key = true};
  if (!record.file) return given;
  const auto line = record.file->lines.find(name);
  const bool read = !record.bound || record.bound->env_file.empty();
  if (line != record.file->lines.end() && read) {
    given.value = line->second;
    given.state = State::Given;
  } else if (record.file->is_written()) {
    given.state = State::LeftOut;
  }
  return given;
}

Value resolve(const EnvEntry& entry, const EnvReferences& references, const TextsByName& set,
              const PodRecord& record) {
  if (is_own_reference(entry)) return resolve_file_key(entry.name, record);
  Value given{.name = std::string(entry.name), .state = State::Users, .in_env = true};
  if (const auto& value = references.value_of(entry)) {
    given.value = value;
    if (find_text(set, entry.name) == to_string(Source::Policy)) given.state = State::Given;
  }
  return given;
}

// True for what the status lists as brought by a file, not by env.
bool is_by_file(std::string_view by) {
  return by == to_string(Source::File) || by == to_string(Source::Pod);
}

// The engine whose own file has the line, as the status tells it; null where none has.
const Engine* engine_of_line(std::string_view name, const TextsByName& set) {
  const Engine* engine = is_by_file(find_text(set, name)) ? file_engine_of(name) : nullptr;
  return engine && set.contains(engine->folder_variable) && find_engine_variable(name)->render ? engine
                                                                                               : nullptr;
}

// The line as the file has it, or as the status promises it.
Value line_of(const std::string& name, const GivenFile& file, Source source, const PodRecord& record) {
  const auto line = file.lines.find(name);
  if (line != file.lines.end()) return {name, line->second, source, State::Given, false, true};
  const bool written = file.is_written() && (file.at_start || !record.node.empty());
  return {name, {}, source, written ? State::LeftOut : State::Later};
}

// Adds the file's lines, and the lines that the status lists and the file does not have.
void add_file(const PodRecord& record, const TextsByName& set, GivenContainer& into) {
  const GivenFile& file = *record.file;
  const Source source = file.at_start ? Source::Pod : Source::File;
  for (const auto& [name, value] : file.lines) {
    if (!engine_of_line(name, set)) into.file.push_back(line_of(name, file, source, record));
  }
  for (const auto& [name, by] : set) {
    if (by == to_string(source) && has_known_prefix(name) && !file.lines.contains(name) &&
        !engine_of_line(name, set))
      into.file.push_back(line_of(name, file, source, record));
  }
}

void add_engine_files(const Pod& pod, const Container& container, const TextsByName& set,
                      const PodRecord& record, GivenContainer& into) {
  for (const auto& [name, by] : set) {
    const Engine* engine = engine_of_line(name, set);
    const auto is_mount = [&](const VolumeMount& mount) {
      return mount.volume == conf_file::kVolume && mount.sub_path == engine->file;
    };
    if (!engine || !pod.own_volume || std::ranges::none_of(container.mounts, is_mount)) continue;
    const Source source = by == to_string(Source::Pod) ? Source::Pod : Source::File;
    into.engine_lines.push_back(line_of(name, read_engine_file(pod, *engine, record.file), source, record));
  }
}

// Names the user's variable or argument, which the status does not.
void add_decided(const Pod& pod, const Container& container, GivenContainer& into) {
  if (into.omitted.empty()) return;
  OwnEntries::Literals literals;  // those of the status are ours as they stand
  for (const EnvEntry& entry : container.env) literals.emplace_back(entry.name, entry.value);
  const OwnEntries own(pod);
  const UserEnv user(container, own, literals);
  for (const auto& [name, reason] : into.omitted) {
    if (reason != to_string(Reason::UserSetGroup) && reason != to_string(Reason::DisabledByUser)) continue;
    const auto objection = user.objection(name, false);
    const bool same = objection && to_string(*objection->reason) == reason;
    std::string why = same ? objection->detail : possible_list(container, own);
    if (!why.empty()) into.decided.emplace(name, std::move(why));
  }
  const std::string file = find_text(into.omitted, conf_file::kName);
  const auto first = std::ranges::find_if(
      into.decided, [&](const auto& one) { return find_text(into.omitted, one.first) == file; });
  if (first == into.decided.end()) return;
  const std::string why = first->second;
  into.decided.emplace(conf_file::kName, why);
  for (const auto& [name, reason] : into.omitted) {
    if (reason == file) into.decided.emplace(name, why + std::string(kFileStaysAway));
  }
}

// Notes what the status lists, and nothing in the container brings.
void add_lost(const TextsByName& set, GivenContainer& into) {
  if (into.reads_file) return;
  for (const auto& [name, by] : set) {
    if (has_known_prefix(name) && !engine_of_line(name, set) && !into.find(name)) into.lost.push_back(name);
  }
}

GivenContainer read_container(const Pod& pod, const Container& container, const Json& noted,
                              const PodRecord& record) {
  GivenContainer given;
  given.name = std::string(container.name);
  given.init = container.kind == ContainerKind::Init;
  given.env_from = !container.env_from_prefixes.empty();
  const Json& plan = member(noted, given.name);
  given.in_status = plan.is_object();
  const TextsByName set = texts_at(plan, "set");
  given.omitted = texts_at(plan, "omitted");
  add_decided(pod, container, given);
  const EnvReferences references(container);
  for (const EnvEntry& entry : container.env) {
    if (!has_known_prefix(entry.name)) continue;
    Value value = resolve(entry, references, set, record);
    // nccl-env gives what a user has set by no file: this was not there at admission.
    if (value.state == State::Users && is_by_file(find_text(set, value.name)))
      given.replaced.push_back(value);
    std::erase_if(given.values, [&](const Value& earlier) { return earlier.name == value.name; });
    given.values.push_back(std::move(value));
  }
  given.reads_file = record.file && mounts_given_file(container);
  given.names_file = mounts_file_at(container, conf_file::kNamedPath);
  if (given.reads_file) add_file(record, set, given);
  add_engine_files(pod, container, set, record, given);
  add_lost(set, given);
  given.take_command(set_by_command(container, false));
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

// Ends of a container that never ran (kuberuntime_container.go, cri-api).
constexpr std::string_view kNeverStarted[] = {"StartError", "ContainerCannotRun"};
constexpr std::int64_t kManyRestarts = 3;
constexpr std::size_t kMostOfMessage = 200;

// ": the image was not found"; "" without a message.
std::string message_of(const Json& of) {
  const std::string message = text_at(of, "message");
  return message.empty() ? "" : ": " + printable(message.substr(0, kMostOfMessage));
}

std::string trouble_of_container(const Json& container) {
  const Json& state = member(container, "state");
  const Json& ended = member(state, "terminated");
  const std::string waits = text_at(member(state, "waiting"), "reason");
  const Json& last = member(member(container, "lastState"), "terminated");
  const bool runs = member(state, "running").is_object();
  const Json& code = member(waits == kCrashes || runs ? last : ended, "exitCode");
  const std::string exit = code.is_number_integer() && code != 0 ? "exit code " + code.dump() : "";
  const std::int64_t restarts = number_at(container, "restartCount");
  if (runs && restarts >= kManyRestarts && !exit.empty())
    return "was started anew " + std::to_string(restarts) + " times, last after " + exit;
  if (waits == kCrashes)
    return "is in CrashLoopBackOff (restarts: " + std::to_string(restarts) + (exit.empty() ? "" : ", ") +
           exit + ")";
  if (is_stuck(waits)) return "cannot start (" + waits + message_of(member(state, "waiting")) + ")";
  if (runs || exit.empty()) return {};
  const std::string reason = text_at(ended, "reason").substr(0, kContainerName);
  if (std::ranges::find(kNeverStarted, reason) != std::end(kNeverStarted))
    return "cannot start (" + reason + message_of(ended) + ")";
  return "has failed (" + (reason.empty() || reason == "Error" ? "" : reason + ", ") + exit + ")";
}

std::string trouble_of(const Json& status) {
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : items_at(status, list)) {
      if (text_at(container, "name") == conf_file::kResolver) continue;  // the pod's state tells it
      const std::string trouble = trouble_of_container(container);
      if (!trouble.empty())
        return "container " + text_at(container, "name").substr(0, kContainerName) + " " + trouble;
    }
  }
  const std::string phase = text_at(status, "phase"),
                    reason = text_at(status, "reason").substr(0, kContainerName);
  if (reason == "NodeLost" || phase == "Unknown")
    return "the pod's node does not answer" + (reason.empty() ? "" : " (" + reason + ")");
  if (phase != "Failed") return {};
  return "the pod has failed" + (reason.empty() ? "" : " (" + reason + message_of(status) + ")");
}

bool has_log(const Json& status) {
  const auto ran = [](const Json& container) {
    if (text_at(container, "name") == conf_file::kResolver) return false;
    const Json& state = member(container, "state");
    const bool now = member(state, "terminated").is_object();
    const Json& ended = member(now ? state : member(container, "lastState"), "terminated");
    const bool never = std::ranges::find(kNeverStarted, text_at(ended, "reason")) != std::end(kNeverStarted);
    return member(state, "running").is_object() ||
           (!never && (ended.is_object() || number_at(container, "restartCount") > 0));
  };
  return std::ranges::any_of(items_at(status, "containerStatuses"), ran) ||
         std::ranges::any_of(items_at(status, "initContainerStatuses"), ran);
}

// Returns the reason for which a container of a pod that has a node waits: "ContainerCreating".
std::string start_of(const Json& status) {
  for (const Json& container : items_at(status, "containerStatuses")) {
    const std::string waits = text_at(member(member(container, "state"), "waiting"), "reason");
    if (!waits.empty()) return waits.substr(0, kContainerName);
  }
  return {};
}

void read_scheduling(const Json& object, PodRecord& into) {
  for (const Json& gate : items_at(member(object, "spec"), "schedulingGates")) {
    if (into.gates.size() < kMaxGates) into.gates.push_back(text_at(gate, "name"));
  }
  const Json& status = member(object, "status");
  into.phase = text_at(status, "phase");
  into.trouble = trouble_of(status);
  into.has_log = has_log(status);
  if (into.phase == "Pending") into.starting = start_of(status);
  for (const Json& condition : items_at(status, "conditions")) {
    if (text_at(condition, "type") == "PodScheduled" && text_at(condition, "status") == "False")
      into.unscheduled = text_at(condition, "message").substr(0, kMaxSentence);
  }
}

std::string form_of(const Pod& pod) {
  const auto* init = pod.own_container ? &pod.own_container->args : nullptr;
  const bool given = init && std::ranges::find(*init, "--given") != init->end();
  if (init && !given) return std::string(to_string(Form::ContainerStart));
  const bool reads = given || (pod.own_volume && !pod.own_volume->items.empty());
  return std::string(to_string(reads ? Form::Binding : Form::Constants));
}

void read_notes(const Pod& pod, const Json& status, PodRecord& into) {
  if (status.is_object()) {
    into.status = {text_at(status, "policy"), number_at(status, "generation"),
                   parse_exposure(text_at(status, "exposure")), form_of(pod), text_at(status, "fallback")};
  }
  const Json node = note_of(pod, key::kNode, into.unreadable);
  if (!node.is_object()) return;
  const Json& omitted = member(node, "omitted");
  into.bound = {text_at(node, "node"),           text_at(node, "table"),
                text_at(node, "bootId"),         text_at(node, "policy"),
                number_at(node, "generation"),   text_at(node, "reason"),
                texts_at(omitted, "host"),       texts_at(omitted, "subinterface"),
                texts_at(omitted, "ownNetwork"), text_at(node, "envFile")};
}

// Why none of the texts that Binding writes can be this pod's; "" if they are its own. Between CREATE and
// Binding a policy may be edited or made anew, and the namespace's label moved, so the two may tell of
// different ones.
std::string foreign_texts(const PodRecord& record) {
  if (record.node.empty()) return "they come with the node, and the pod has none yet";
  if (!record.bound) return "no Binding wrote them, as the annotation nccl-env.io/node is not there";
  const NodeNote& bound = *record.bound;
  if (bound.node != record.node)
    return "they are node " + bound.node + "'s, and the pod is on " + record.node;
  if (!bound.reason.empty()) return "its Binding gave no values (" + bound.reason + ")";
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

// A sentence stays readable where 256 ports are lost.
constexpr std::size_t kMostPortsNamed = 8;

// The index that came with the Binding.
std::optional<std::int64_t> index_of_binding(const GivenContainer& container) {
  const Value* given = container.find(variable::kIbGidIndex);
  const bool of_node =
      given && given->value && (given->is_from(Source::Node) || given->is_from(Source::File));
  return of_node ? nccl_integer(*given->value) : std::nullopt;
}

bool serves(const InterfaceIndex& interfaces, const Port& port, std::int64_t index) {
  return std::ranges::any_of(*port.gids, [&](const GidRow& row) {
    if (row.index != index) return false;
    const RowVerdict verdict = judge_row(interfaces, row, {});
    return verdict.usable || !verdict.known;
  });
}

std::string new_place(const Port& port) {
  for (const GidRow& row : *port.gids) {
    if (!row.index_since) continue;
    return " (" + format_ip(row.address.value_or(row.gid.address())) + " has " + std::to_string(row.index) +
           " since " + format_timestamp(*row.index_since) + ")";
  }
  return {};
}

}  // namespace

std::vector<Value> given_to_ranks(const Pod& pod) {
  std::vector<Value> given;
  for (const Container& container : pod.containers)
    std::ranges::move(set_by_command(container, true), std::back_inserter(given));
  return given;
}

void give_to_ranks(const Pod& pod, const std::vector<Value>& given, PodRecord& into) {
  for (GivenContainer& container : into.containers) {
    const auto own = std::ranges::find(pod.containers, container.name, &Container::name);
    if (!container.in_status || own == pod.containers.end()) continue;
    container.take_command(serves_ranks(pod, *own) ? given : std::vector<Value>());
  }
}

PodRecord read_pod_record(const Pod& pod, const Json& object) {
  const Json& metadata = member(object, "metadata");
  PodRecord record;
  record.name = std::string(pod.name);
  record.name_space = text_at(metadata, "namespace");
  record.node = std::string(pod.node_name);
  record.host_network = pod.host_network;
  record.no_index = std::ranges::any_of(
      texts_read(pod), [](std::string_view key) { return key.ends_with(conf_file::kNoIndexText); });
  record.networks = networks_of(pod).names;
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
  // A manifest that `inject` made for a node, and no pod of a cluster yet.
  if (record.node.empty() && record.bound && text_at(metadata, "uid").empty())
    record.node = record.bound->node;
  record.file = read_given_file(pod, object);
  for (const Container& container : pod.containers)
    record.containers.push_back(read_container(pod, container, member(status, "containers"), record));
  mark_foreign(record);
  return record;
}

Result<std::vector<Value>> injected_values(const Pod& pod, std::string_view container, const Json& object) {
  const PodRecord record = read_pod_record(pod, object);
  std::vector<Value> values;
  bool named = container.empty(), none = true;
  for (const GivenContainer& given : record.containers) {
    if (!container.empty() && given.name != container) continue;
    named = named || given.in_status;
    for (const Value* value : given.effective()) {
      const bool users = value->state == State::Users;
      if (!users && !value->value) continue;
      if (!given.in_status && value->state != State::Foreign) continue;
      none = none && users;
      values.push_back(*value);
      values.back().container = given.name;
    }
  }
  const std::string annotation = "annotation " + std::string(key::kStatus);
  if (none && !pod.annotation(key::kStatus))
    return Error{"the pod has no " + annotation + ": nothing was injected"};
  if (none && !record.status) return Error{"the pod's " + annotation + " is not readable"};
  if (none && !named) return Error{"the pod's status names no container " + std::string(container)};
  std::ranges::sort(values, {}, [](const Value& value) { return std::tie(value.container, value.name); });
  return values;
}

std::string lost_index(const PodRecord& record, const NodeFabric& table) {
  const GivenContainer* container = record.main_container();
  if (!container || !record.status || record.status->exposure != Exposure::Host) return {};
  if (record.node != table.name || record.starts_itself()) return {};
  const auto index = index_of_binding(*container);
  const Value* hcas = container->find(variable::kIbHca);
  if (!index || !hcas || !hcas->value) return {};
  const NcclNameList list = parse_nccl_name_list(*hcas->value, kNewestNccl, nccl_max_hcas(kNewestNccl));
  const InterfaceIndex interfaces(table);
  std::vector<std::string> lost;
  for (const Port& port : table.ports) {
    const bool used =
        port.state == PortState::Active && is_roce(port) && port.gids && list.selects(port.hca, port.number);
    if (used && !serves(interfaces, port, *index)) lost.push_back(port.hca + new_place(port));
  }
  if (lost.empty()) return {};
  return "GID index " + std::to_string(*index) + " is gone from " + join_some(lost, kMostPortsNamed);
}

std::string inexact_list(const PodRecord& record, const NodeFabric& table) {
  const GivenContainer* container = record.main_container();
  if (!container || !record.status || record.node != table.name) return {};
  const Value* hcas = container->find(variable::kIbHca);
  if (!hcas || !hcas->value || hcas->state != State::Given || hcas->source == Source::Policy) return {};
  const NcclSelection selection = nccl_select(table, {{hcas->name, *hcas->value}}, kNewestNccl);
  const auto is_neighbour = [](const auto& fault) { return fault.first == NcclFault::Neighbour; };
  if (std::ranges::none_of(selection.faults, is_neighbour)) return {};
  const std::vector<std::string> taken = hcas_beyond(names_of_list(*hcas->value), selection);
  return "list " + *hcas->value + " takes " +
         (taken.empty() ? "further devices" : join_some(taken, kMostPortsNamed)) + ", too" +
         (taken.empty() ? " once they are up" : "");
}

}  // namespace nccl_env
