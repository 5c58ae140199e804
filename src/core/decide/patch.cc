// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/patch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "decide/conf_delivery.h"
#include "nccl_env/core/decide/compiled_policy.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/match.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/json_text.h"

namespace nccl_env {
namespace {

using json::append_string;
using json::pointer_token;

// Operations, written one after the other into one text.
class PatchText {
 public:
  void remove(std::string_view path) {
    begin("remove", path);
    text_ += '}';
  }
  void remove_items(const std::string& list, const std::vector<std::size_t>& ascending) {
    for (auto at = ascending.rbegin(); at != ascending.rend(); ++at) remove(list + "/" + std::to_string(*at));
  }
  // `append_value` appends JSON to the string that it is given. On a key that exists, add replaces.
  template <class Append>
  void add(std::string_view path, Append append_value) {
    begin("add", path);
    text_ += ",\"value\":";
    append_value(text_);
    text_ += '}';
  }
  // Here and below, `json` is JSON as it is.
  void replace_item(std::string_view path, std::string_view json) {
    begin("replace", path);
    text_.append(",\"value\":").append(json) += '}';
  }
  void add_item(std::string_view path, std::string_view json) {
    add(path, [&](std::string& out) { out += json; });
  }
  Patch take() {
    if (text_.size() + 1 > kMaxPatchBytes || operations_ > kMaxPatchOperations) return {{}, true};
    if (!text_.empty()) text_ += ']';
    return {std::move(text_), false};
  }

 private:
  void begin(std::string_view operation, std::string_view path) {
    ++operations_;
    if (text_.empty()) text_.reserve(2048);  // ten variables and a status
    text_ += text_.empty() ? "[{\"op\":\"" : ",{\"op\":\"";
    text_ += operation;
    text_ += "\",\"path\":";
    append_string(text_, path);
  }
  std::string text_;
  std::size_t operations_ = 0;
};

// A path in room for the longest of ours, so that it is made once.
std::string path_of(std::initializer_list<std::string_view> parts) {
  std::string path;
  path.reserve(128);
  for (const std::string_view part : parts) path += part;
  return path;
}

std::string annotation_path(std::string_view key) {
  return path_of({"/metadata/annotations/", pointer_token(key)});
}

struct WantedAnnotation {
  std::string_view key;
  std::string_view value;
  std::string_view escaped = {};  // as EscapedText has it; "": not known
};
using Wanted = std::vector<WantedAnnotation>;  // ascending by key

void append_value(std::string& out, const WantedAnnotation& wanted) {
  if (wanted.escaped.empty()) return append_string(out, wanted.value);
  out += '"';
  out.append(wanted.escaped) += '"';
}

void append_object(std::string& out, const Wanted& annotations) {
  out += '{';
  for (const WantedAnnotation& wanted : annotations) {
    if (out.back() != '{') out += ',';
    append_string(out, wanted.key);
    out += ':';
    append_value(out, wanted);
  }
  out += '}';
}

// Sets `wanted` and removes our other keys.
void patch_annotations(PatchText& patch, bool has_metadata, bool has_annotations,
                       const std::vector<Annotation>& present, Wanted wanted) {
  for (const auto& [name, value] : present) {
    const auto found = std::find_if(wanted.begin(), wanted.end(),
                                    [&name = name](const auto& entry) { return entry.key == name; });
    if (found == wanted.end()) {
      if (is_own_key(name)) patch.remove(annotation_path(name));
    } else if (found->value == value) {
      wanted.erase(found);
    }
  }
  if (wanted.empty()) return;
  const auto append_all = [&](std::string& out) { append_object(out, wanted); };
  if (!has_metadata) {
    patch.add("/metadata", [&](std::string& out) {
      out += "{\"annotations\":";
      append_all(out);
      out += '}';
    });
  } else if (!has_annotations) {
    patch.add("/metadata/annotations", append_all);
  } else {
    for (const WantedAnnotation& one : wanted)
      patch.add(annotation_path(one.key), [&](std::string& out) { append_value(out, one); });
  }
}

// From so many on, a list is written anew instead of removing one entry after the other.
constexpr std::size_t kManyStale = 16;

Wanted wanted_by(const BindingPlan& plan) {
  Wanted wanted;
  wanted.reserve(plan.annotations.size() + 1);
  for (const auto& [key, value] : plan.annotations) wanted.push_back({key, value});
  return wanted;
}

std::vector<std::string> mount_items(const ContainerPlan& plan) {
  std::vector<std::string> items;
  items.reserve(plan.missing_mounts.size());
  for (const FileMount& file : plan.missing_mounts) {
    std::string& out = items.emplace_back();
    out.reserve(128);
    append_string(out += "{\"name\":", conf_file::kVolume);
    append_string(out += ",\"mountPath\":", file.path);
    append_string(out += ",\"subPath\":", file.file);
    out += ",\"readOnly\":true}";
  }
  return items;
}

// Takes the items at `stale` out of a list, and puts `added`, JSON, behind the others.
void patch_items(PatchText& patch, std::string list, bool exists, const ListSource& source,
                 const std::vector<std::size_t>& stale, const std::vector<std::string>& added) {
  if (stale.size() > kManyStale) {
    std::string items = "[" + source.items_without(stale);
    if (items.size() > 1 && !added.empty()) items += ',';
    return patch.replace_item(list, items.append(join(added, ",")).append("]"));
  }
  patch.remove_items(list, stale);
  if (!exists && !added.empty())
    return patch.add(list, [&](std::string& out) {
      for (const std::string& item : added) (out += &item == added.data() ? '[' : ',') += item;
      out += ']';
    });
  list += "/-";
  for (const std::string& item : added) patch.add_item(list, item);
}

void patch_container(PatchText& patch, const Container& container, const ContainerPlan& plan) {
  const std::string place =
      path_of({container.kind == ContainerKind::Init ? "/spec/initContainers/" : "/spec/containers/",
               std::to_string(container.index)});
  const std::vector<std::string> own = plan.given ? std::vector<std::string>() : env_entries(plan);
  patch_items(patch, path_of({place, "/env"}), container.has_env, container.env_source, plan.stale,
              plan.given ? plan.given->entries : own);
  patch_items(patch, path_of({place, "/volumeMounts"}), container.has_mounts, container.mounts_source,
              plan.stale_mounts, mount_items(plan));
}

void patch_list(PatchText& patch, std::string_view list, bool exists, const ListChange& change) {
  const std::string place = path_of({list, "/", std::to_string(change.index)});
  switch (change.kind) {
    case ListChange::Kind::None:
      return;
    case ListChange::Kind::Remove:
      return patch.remove(place);
    case ListChange::Kind::Replace:
      return patch.replace_item(place, change.item);
    case ListChange::Kind::Add:
      if (exists) return patch.add_item(place, change.item);
      patch.add_item(list, "[" + change.item + "]");
  }
}

// Two digits for each 12 bits: half the steps of one digit for 6.
constexpr auto kBase64Pairs = [] {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kAlphabet[i >> 6], kAlphabet[i & 63]};
  return pairs;
}();

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t start = out.size();
  out.resize(start + bytes.size() / 6 * 8 + 16);
  char* to = out.data() + start;
  const auto put_six = [&to](const char* from) {  // reads eight
    std::uint64_t bits;
    std::memcpy(&bits, from, sizeof bits);
    bits = __builtin_bswap64(bits);
    const auto put = [&](unsigned shift) {
      std::memcpy(to, kBase64Pairs[bits >> shift & 4095].data(), 2);
      to += 2;
    };
    put(52);
    put(40);
    put(28);
    put(16);
  };
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes.size(); at += 6) put_six(bytes.data() + at);
  std::array<char, 16> rest{};
  bytes.copy(rest.data(), rest.size(), at);
  put_six(rest.data());
  put_six(rest.data() + 6);
  out.resize(start + (bytes.size() + 2) / 3 * 4);
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  out.replace(out.size() - missing, missing, missing, '=');
}

}  // namespace

Patch render_pod_patch(const Pod& pod, const Plan& plan, const BindingPlan* binding) {
  PatchText patch;
  Wanted wanted;  // none if not injected: annotations that a copied manifest brings are another pod's
  if (plan.inject && binding) wanted = wanted_by(*binding);
  if (plan.inject) {
    const auto behind = std::find_if(wanted.begin(), wanted.end(),
                                     [](const WantedAnnotation& one) { return one.key > key::kStatus; });
    wanted.insert(behind, {key::kStatus, plan.status, plan.escaped_status});
  }
  if (plan.inject || !is_mirror(pod))
    patch_annotations(patch, pod.has_metadata, pod.has_annotations, pod.annotations, std::move(wanted));
  for (const ContainerPlan& container : plan.inject ? plan.containers : plan.cleared) {
    patch_container(patch, pod.containers[container.position], container);
  }
  patch_list(patch, "/spec/volumes", pod.has_volumes, plan.volume);
  // Comes last, because it moves the places of the init containers behind it.
  patch_list(patch, "/spec/initContainers", pod.has_init, plan.resolver);
  return patch.take();
}

std::string patch_excess() {
  return "Its patch would have more than " + std::to_string(kMaxPatchOperations) + " operations or " +
         std::to_string(kMaxPatchBytes >> 10) + " KiB.";
}

Plan within_patch_bounds(const Pod& pod, Plan plan) {
  if (!plan.inject || !render_pod_patch(pod, plan, nullptr).too_large) return plan;
  Plan alone;
  alone.policy = std::move(plan.policy);
  alone.generation = plan.generation;
  alone.reason = Reason::BudgetExceeded;
  alone.detail = patch_excess();
  return alone;
}

Patch render_binding_patch(const Binding& binding, const BindingPlan& plan) {
  PatchText patch;
  patch_annotations(patch, binding.has_metadata, binding.has_annotations, binding.annotations,
                    wanted_by(plan));
  return patch.take();
}

std::string encoded_binding_patch(const BindingPlan& plan) {
  Binding usual;
  usual.has_metadata = true;
  std::string encoded;
  append_base64(encoded, render_binding_patch(usual, plan).text);
  return encoded;
}

namespace {

// For texts that a terminal shows, and that hold names which nobody has checked yet.
void append_shown(std::string& out, std::string_view text, std::string_view escaped = {}) {
  if (!is_printable_ascii(text)) return append_string(out, printable(text));
  append_value(out, {{}, text, escaped});
}

}  // namespace

std::string encoded_node(const BindingPlan& plan) {
  std::string out;
  append_shown(out, plan.annotations.find(key::kNode)->second);
  return out;
}

std::string render_response(const AdmissionResponse& response) {
  std::string out;
  out.reserve(2048 + response.encoded_patch.size() +
              response.patch.size() * 4 / 3);  // with a status of 1 KB among the audit annotations
  out += "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":";
  append_string(out, response.uid);
  out += response.allowed ? ",\"allowed\":true" : ",\"allowed\":false";
  if (!response.allowed) {
    out += ",\"status\":{\"status\":\"Failure\",\"code\":" + std::to_string(response.code) + ",\"message\":";
    append_string(out, response.message);
    out += '}';
  }
  if (!response.patch.empty() || !response.encoded_patch.empty()) {
    out += ",\"patchType\":\"JSONPatch\",\"patch\":\"";
    append_base64(out, response.patch);
    out.append(response.encoded_patch) += '"';
  }
  for (std::size_t i = 0; i < response.warnings.size(); ++i) {
    out += i == 0 ? ",\"warnings\":[" : ",";
    append_shown(out, response.warnings[i]);
  }
  if (!response.warnings.empty()) out += ']';
  for (std::size_t i = 0; i < response.audit.size(); ++i) {
    out += i == 0 ? ",\"auditAnnotations\":{" : ",";
    append_string(out, response.audit[i].first);
    out += ':';
    append_shown(out, response.audit[i].second);
  }
  if (!response.node_in_json.empty()) out.append(",\"node\":").append(response.node_in_json);
  if (!response.status.empty()) {
    out += ",\"status\":";
    append_shown(out, response.status, response.escaped_status);
  }
  if (!response.audit.empty()) out += '}';
  out += "}}";
  return out;
}

}  // namespace nccl_env
