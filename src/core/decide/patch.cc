// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/decide/patch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "decide/match.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/text/columns.h"
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

using Wanted = std::vector<std::pair<std::string_view, std::string_view>>;  // ascending by name

void append_object(std::string& out, const Wanted& annotations) {
  out += '{';
  for (const auto& [key, value] : annotations) {
    if (out.back() != '{') out += ',';
    append_string(out, key);
    out += ':';
    append_string(out, value);
  }
  out += '}';
}

// Sets `wanted` and removes our other keys.
void patch_annotations(PatchText& patch, bool has_metadata, bool has_annotations,
                       const std::vector<Annotation>& present, Wanted wanted) {
  for (const auto& [name, value] : present) {
    const auto found = std::find_if(wanted.begin(), wanted.end(),
                                    [&name = name](const auto& entry) { return entry.first == name; });
    if (found == wanted.end()) {
      if (is_own_key(name)) patch.remove(annotation_path(name));
    } else if (found->second == value) {
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
    for (const auto& [name, value] : wanted) {
      patch.add(annotation_path(name), [&text = value](std::string& out) { append_string(out, text); });
    }
  }
}

void append_env_entry(std::string& out, const Value& planned) {
  out += "{\"name\":";
  append_string(out, planned.name);
  if (planned.source == Source::Policy) {
    out += ",\"value\":";
    append_string(out, *planned.value);
  } else {
    out += ",\"valueFrom\":{\"fileKeyRef\":{\"volumeName\":";
    append_string(out, conf_file::kVolume);
    out += ",\"path\":";
    append_string(out, conf_file::kEnvName);
    out += ",\"key\":";
    append_string(out, planned.name);
    out += ",\"optional\":true}}";
  }
  out += '}';
}

// From so many on, a list is written anew instead of removing one entry after the other.
constexpr std::size_t kManyStale = 16;

// Writes a list of which some entries are stale: what stays, in its order, and behind it `added`, which is
// JSON.
void replace_list(PatchText& patch, std::string_view path, const ListSource& list,
                  const std::vector<std::size_t>& stale, std::string_view added) {
  std::string items = "[" + list.items_without(stale);
  if (items.size() > 1 && !added.empty()) items += ',';
  patch.replace_item(path, items.append(added).append("]"));
}

// Writes the plan's variables that the list does not hold yet, with a comma between two.
std::string new_env_entries(const ContainerPlan& plan) {
  std::string out;
  for (const Value& planned : plan.set) {
    if (!planned.in_env || planned.state == State::Present) continue;
    if (!out.empty()) out += ',';
    append_env_entry(out, planned);
  }
  return out;
}

void patch_env(PatchText& patch, const Container& container, const ContainerPlan& plan,
               const std::string& place) {
  const std::string env = path_of({place, "/env"});
  if (plan.stale.size() > kManyStale)
    return replace_list(patch, env, container.env_source, plan.stale, new_env_entries(plan));
  patch.remove_items(env, plan.stale);
  if (container.has_env) {
    const std::string last = path_of({env, "/-"});
    for (const Value& planned : plan.set) {
      if (!planned.in_env || planned.state == State::Present) continue;
      patch.add(last, [&](std::string& out) { append_env_entry(out, planned); });
    }
    return;
  }
  const std::string entries = new_env_entries(plan);
  if (!entries.empty()) patch.add_item(env, "[" + entries + "]");
}

void append_mount(std::string& out, const FileMount& file) {
  out += "{\"name\":";
  append_string(out, conf_file::kVolume);
  out += ",\"mountPath\":";
  append_string(out, file.path);
  out += ",\"subPath\":";
  append_string(out, file.file);
  out += ",\"readOnly\":true}";
}

// Mounts as JSON, with a comma between two.
std::string mounts_json(const std::vector<FileMount>& files) {
  std::string out;
  for (const FileMount& file : files) {
    if (!out.empty()) out += ',';
    append_mount(out, file);
  }
  return out;
}

void patch_mounts(PatchText& patch, const Container& container, const ContainerPlan& plan,
                  const std::string& place) {
  std::string mounts = path_of({place, "/volumeMounts"});
  if (plan.stale_mounts.size() > kManyStale) {
    return replace_list(patch, mounts, container.mounts_source, plan.stale_mounts,
                        mounts_json(plan.missing_mounts));
  }
  patch.remove_items(mounts, plan.stale_mounts);
  if (plan.missing_mounts.empty()) return;
  if (!container.has_mounts) return patch.add_item(mounts, "[" + mounts_json(plan.missing_mounts) + "]");
  mounts += "/-";
  for (const FileMount& file : plan.missing_mounts)
    patch.add(mounts, [&](std::string& out) { append_mount(out, file); });
}

void patch_container(PatchText& patch, const Container& container, const ContainerPlan& plan) {
  const std::string place =
      path_of({container.kind == ContainerKind::Init ? "/spec/initContainers/" : "/spec/containers/",
               std::to_string(container.index)});
  patch_env(patch, container, plan, place);
  patch_mounts(patch, container, plan, place);
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
  if (plan.inject) wanted.emplace_back(key::kStatus, plan.status);
  if (plan.inject && binding) {
    wanted.insert(wanted.end(), binding->annotations.begin(), binding->annotations.end());
    std::sort(wanted.begin(), wanted.end());
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
                    Wanted(plan.annotations.begin(), plan.annotations.end()));
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
void append_shown(std::string& out, std::string_view text) {
  is_printable_ascii(text) ? append_string(out, text) : append_string(out, printable(text));
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
  if (!response.audit.empty()) out += '}';
  out += "}}";
  return out;
}

}  // namespace nccl_env
