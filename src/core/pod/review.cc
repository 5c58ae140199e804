// SPDX-License-Identifier: Apache-2.0
// Reads reviews, pods and Bindings. Long, because each field of a pod that decides has its reader here, and
// all count on one Reading.
#include "nccl_env/core/pod/review.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/pod/limits.h"
#include "nccl_env/core/text/strict.h"
#include "text/json_fields.h"

namespace nccl_env {

namespace {

using json::each_item;
using json::Element;
using json::Path;
using json::pick;
using Keys = std::string_view;

// One reading of an object, and how much of each limit it has used. Beyond a limit nothing more is read.
class Reading : public json::Failure {
 public:
  void take(Part part, std::size_t count = 1) {
    if (!usage_.take(part, count)) exceed([part] { return excess_of(part); });
  }
  // Names: kMaxNameBytes; paths: kMaxPathBytes.
  void check_length(std::string_view text, std::size_t most) {
    if (text.size() <= most) return;
    exceed([&] { return "It holds a name or path of more than " + std::to_string(most) + " bytes."; });
  }
  // A node's name is looked up and kept, and stands in annotations.
  void check_node(std::string_view name) {
    if (is_dns_subdomain(name)) return;
    exceed([] { return std::string("It names a node with a name that no node can have."); });
  }
  [[nodiscard]] const std::string& excess() const { return excess_; }

 private:
  template <class Sentence>
  void exceed(Sentence sentence) {
    if (!stopped()) excess_ = sentence();
    stop();
  }

  Usage usage_;
  std::string excess_;
};

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr double kKibi = 1024;
constexpr Suffix kSuffixes[] = {{"", 1},
                                {"m", 1e-3},
                                {"k", 1e3},
                                {"M", 1e6},
                                {"G", 1e9},
                                {"T", 1e12},
                                {"P", 1e15},
                                {"E", 1e18},
                                {"Ki", kKibi},
                                {"Mi", kKibi* kKibi},
                                {"Gi", kKibi* kKibi* kKibi},
                                {"Ti", kKibi* kKibi* kKibi* kKibi},
                                {"Pi", kKibi* kKibi* kKibi* kKibi* kKibi},
                                {"Ei", kKibi* kKibi* kKibi* kKibi* kKibi* kKibi}};

}  // namespace

std::optional<double> parse_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.find_first_not_of("+-.0123456789eEmkMGTPKi") != std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& known : kSuffixes) {
    if (suffix == known.text) return number * known.factor;
  }
  return std::nullopt;
}

namespace {

void read_claim_uses(std::optional<Element> list, const Path& path, Container& container, Reading& reading) {
  each_item(list, path, reading, [&](Element item, const Path& here) {
    const auto [name, request] = pick(item, here, std::array<Keys, 2>{"name", "request"}, reading);
    reading.take(Part::ClaimUses);
    container.claims.push_back(
        {json::text(name, here.field("name"), reading), json::text(request, here.field("request"), reading)});
  });
}

void read_pod_claims(std::optional<Element> list, const Path& path, Pod& pod, Reading& reading) {
  each_item(list, path, reading, [&](Element item, const Path& here) {
    const auto [name, claim, claim_template] = pick(
        item, here, std::array<Keys, 3>{"name", "resourceClaimName", "resourceClaimTemplateName"}, reading);
    reading.take(Part::Claims);
    pod.claims.push_back({json::text(name, here.field("name"), reading),
                          json::text(claim, here.field("resourceClaimName"), reading),
                          json::text(claim_template, here.field("resourceClaimTemplateName"), reading)});
  });
}

// The user that a security context names; nothing where the image says it.
struct User {
  std::optional<bool> root;
};

User read_user(Element context, const Path& path, Reading& reading) {
  const auto [user, non_root] =
      pick(context, path, std::array<Keys, 2>{"runAsUser", "runAsNonRoot"}, reading);
  if (!user)
    return {json::boolean(non_root, path.field("runAsNonRoot"), reading) ? std::optional(false)
                                                                         : std::nullopt};
  std::int64_t number = -1;
  if (user->get(number) != simdjson::SUCCESS) reading.add(path.field("runAsUser"), "must be an integer");
  return {number == 0};
}

void read_security(Element context, const Path& path, Container& container, Reading& reading) {
  const auto [privileged, capabilities] =
      pick(context, path, std::array<Keys, 2>{"privileged", "capabilities"}, reading);
  container.is_non_root = !read_user(context, path, reading).root.value_or(!container.is_non_root);
  container.privileged = json::boolean(privileged, path.field("privileged"), reading);
  if (!capabilities) return;
  const Path at = path.field("capabilities");
  const auto [add] = pick(*capabilities, at, std::array<Keys, 1>{"add"}, reading);
  each_item(add, at.field("add"), reading, [&](Element item, const Path& here) {
    const std::string_view name = json::text(item, here, reading);
    container.locks_memory = container.locks_memory || name == "IPC_LOCK" || name == "ALL";
  });
}

// True if the word holds mpirun or mpiexec. One search serves both: every pod's words come by here.
bool names_mpirun(std::string_view word) {
  for (std::size_t at = word.find("mpi"); at != word.npos; at = word.find("mpi", at + 3)) {
    const std::string_view rest = word.substr(at + 3);
    if (rest.starts_with("run") || rest.starts_with("exec")) return true;
  }
  return false;
}

struct TextList {
  std::optional<json::Element> list;
  const json::Path& path;
};

// True for a word of a launcher's command, or of a rank that sshd or slurmd starts: hardly any others name
// these, the service of ssh, NCCL variables or files. Other commands are not kept.
bool may_matter(std::string_view word) {
  constexpr std::string_view kParts[] = {"NCCL_",      "sshd",      "slurmd",   "service ssh",
                                         "init.d/ssh", "nixl_ep",   "hydra",    "deepspeed",
                                         "horovod",    "ray start", "--nnodes", "ccl.conf"};
  return word == "ray" || word.ends_with("/ray") ||
         std::any_of(std::begin(kParts), std::end(kParts),
                     [&](auto part) { return word.find(part) != std::string_view::npos; });
}

void read_arguments(const std::array<TextList, 2>& command_and_args, Container& container, Reading& reading) {
  bool matters = false;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, reading, [&](Element item, const Path& here) {
      const std::string_view word = json::text(item, here, reading);
      matters = matters || may_matter(word);
      container.starts_ranks = container.starts_ranks || names_mpirun(word);
    });
  }
  if (!matters) return;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, reading, [&](Element item, const Path& here) {
      reading.take(Part::Words);
      container.arguments.push_back(json::text(item, here, reading));
    });
  }
}

void read_empty_dir(std::string_view volume, Element source, const Path& path, Pod& pod, Reading& reading) {
  const auto [medium, limit] = pick(source, path, std::array<Keys, 2>{"medium", "sizeLimit"}, reading);
  if (json::text(medium, path.field("medium"), reading) != "Memory") return;
  MemoryVolume& memory = pod.memory_volumes.emplace_back();
  memory.name = volume;
  double bytes = 0;
  if (limit && limit->is_number()) {
    if (limit->get(bytes) == simdjson::SUCCESS) memory.size_limit = bytes;
  } else if (limit) {
    memory.size_limit = parse_quantity(json::text(limit, path.field("sizeLimit"), reading));
  }
}

using json::each_field;

// A Kubernetes quantity above zero. "0", "0k" and "0.0" are not requested; a number counts as it is.
bool is_positive(Element value, const Path& path, Reading& reading) {
  double number = 0;
  if (value.is_number()) return value.get(number) == simdjson::SUCCESS && number > 0;
  const std::string_view quantity = json::text(value, path, reading);
  if (quantity.starts_with('-')) return false;
  const std::string_view digits = quantity.substr(0, quantity.find_first_not_of("+.0123456789"));
  return digits.find_first_of("123456789") != std::string_view::npos;
}

// The API server sends strings. People also write numbers; a fraction among these is not kept.
void take_quantity(Element value, const Path& path, std::string& into, Reading& reading) {
  std::int64_t number = 0;
  if (!value.is_number()) {
    into = json::text(value, path, reading);
  } else if (value.get(number) == simdjson::SUCCESS) {
    into = std::to_string(number);
  }
}

std::string* member_of(Compute& compute, std::string_view name) {
  if (name == "cpu") return &compute.cpu;
  if (name == "memory") return &compute.memory;
  return name == "ephemeral-storage" ? &compute.ephemeral_storage : nullptr;
}

constexpr std::size_t kMostItems = 8;  // more than we write or tell

void read_resources(std::optional<Element> list, const Path& path, Compute& compute, Container& container,
                    Reading& reading) {
  each_field(list, path, reading, [&](std::string_view name, Element quantity, const Path& here) {
    if (quantity.is_null()) return;
    if (std::string* member = member_of(compute, name)) {
      const bool some = is_positive(quantity, here, reading);
      container.has_compute = container.has_compute || (some && name != "ephemeral-storage");
      return take_quantity(quantity, here, *member, reading);
    }
    if (name.find('/') == std::string_view::npos) return;
    if (!is_positive(quantity, here, reading)) {
      if (container.zero_resources.size() < kMostItems) container.zero_resources.push_back(name);
      return;
    }
    reading.take(Part::Resources);
    auto& known = container.resources;
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  });
}

// Returns the key of a reference to our file, "" for one to any other.
std::string_view read_file_key(Element item, const Path& path, Reading& reading) {
  const auto [volume, file, key] =
      pick(item, path, std::array<Keys, 3>{"volumeName", "path", "key"}, reading);
  const bool ours = json::text(volume, path.field("volumeName"), reading) == conf_file::kVolume &&
                    json::text(file, path.field("path"), reading) == conf_file::kEnvName;
  const std::string_view text = json::text(key, path.field("key"), reading);
  return ours ? text : std::string_view();
}

void read_env_entry(Element item, const Path& path, Container& container, Reading& reading) {
  const auto [name, value, source] =
      pick(item, path, std::array<Keys, 3>{"name", "value", "valueFrom"}, reading);
  reading.take(Part::EnvEntries);
  EnvEntry& entry = container.env.emplace_back();  // in place: a copy right after the write would stall
  entry.name = json::text(name, path.field("name"), reading);
  entry.value = json::text(value, path.field("value"), reading);
  entry.has_source = source.has_value();
  if (source) {
    const Path at = path.field("valueFrom");
    const auto [field, file] = pick(*source, at, std::array<Keys, 2>{"fieldRef", "fileKeyRef"}, reading);
    if (field) {
      const Path ref = at.field("fieldRef");
      const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, reading);
      entry.field_path = json::text(field_path, ref.field("fieldPath"), reading);
    }
    if (file) entry.file_key = read_file_key(*file, at.field("fileKeyRef"), reading);
    simdjson::dom::object sources;
    entry.lost_source = source->get(sources) == simdjson::SUCCESS && sources.begin() == sources.end();
  }
}

void read_env_from(Element item, const Path& path, Container& container, Reading& reading) {
  const auto [prefix] = pick(item, path, std::array<Keys, 1>{"prefix"}, reading);
  reading.take(Part::EnvSources);
  container.env_from_prefixes.push_back(json::text(prefix, path.field("prefix"), reading));
}

void read_mount(Element item, const Path& path, Container& container, Reading& reading) {
  const auto [name, mount] = pick(item, path, std::array<Keys, 2>{"name", "mountPath"}, reading);
  reading.take(Part::Mounts);
  VolumeMount& entry = container.mounts.emplace_back();
  entry.volume = json::text(name, path.field("name"), reading);
  entry.mount_path = json::text(mount, path.field("mountPath"), reading);
  reading.check_length(entry.mount_path, kMaxPathBytes);
  if (entry.volume != conf_file::kVolume) return;
  const auto [sub_path, read_only] = pick(item, path, std::array<Keys, 2>{"subPath", "readOnly"}, reading);
  entry.sub_path = json::text(sub_path, path.field("subPath"), reading);
  entry.read_only = json::boolean(read_only, path.field("readOnly"), reading);
}

Container read_container(Element item, const Path& path, ContainerKind kind, bool pod_is_non_root,
                         Reading& reading) {
  Container container;
  container.is_non_root = pod_is_non_root;
  reading.take(Part::Containers);
  container.kind = kind;
  container.index = path.index;
  const auto [name, image, env, env_from, resources, mounts, command, args, security, pull] =
      pick(item, path,
           std::array<Keys, 10>{"name", "image", "env", "envFrom", "resources", "volumeMounts", "command",
                                "args", "securityContext", "imagePullPolicy"},
           reading);
  container.image = json::text(image, path.field("image"), reading);
  container.always_pulls = json::text(pull, path.field("imagePullPolicy"), reading) == "Always";
  container.name = json::text(name, path.field("name"), reading);
  reading.check_length(container.name, kMaxNameBytes);
  container.has_env = env.has_value();
  if (env) container.env_source = ListSource::of(*env);
  container.env.reserve(json::items_to_reserve(env));
  each_item(env, path.field("env"), reading,
            [&](Element entry, const Path& here) { read_env_entry(entry, here, container, reading); });
  each_item(env_from, path.field("envFrom"), reading,
            [&](Element entry, const Path& here) { read_env_from(entry, here, container, reading); });
  container.has_mounts = mounts.has_value();
  if (mounts) container.mounts_source = ListSource::of(*mounts);
  container.mounts.reserve(json::items_to_reserve(mounts));
  each_item(mounts, path.field("volumeMounts"), reading,
            [&](Element entry, const Path& here) { read_mount(entry, here, container, reading); });
  if (resources) {
    const Path at = path.field("resources");
    const auto [limits, requests, claims] =
        pick(*resources, at, std::array<Keys, 3>{"limits", "requests", "claims"}, reading);
    read_resources(limits, at.field("limits"), container.limits, container, reading);
    read_resources(requests, at.field("requests"), container.requests, container, reading);
    read_claim_uses(claims, at.field("claims"), container, reading);
  }
  if (security) read_security(*security, path.field("securityContext"), container, reading);
  const Path at_command = path.field("command"), at_args = path.field("args");
  read_arguments({{{command, at_command}, {args, at_args}}}, container, reading);
  return container;
}

void read_downward_items(Element source, const Path& path, OwnVolume& volume, Reading& reading) {
  const auto [items] = pick(source, path, std::array<Keys, 1>{"items"}, reading);
  const Path at = path.field("items");
  each_item(items, at, reading, [&](Element item, const Path& here) {
    if (volume.items.size() == kMostItems) return;
    const auto [file, field] = pick(item, here, std::array<Keys, 2>{"path", "fieldRef"}, reading);
    VolumeItem& kept =
        volume.items.emplace_back(VolumeItem{json::text(file, here.field("path"), reading), {}});
    if (!field) return;
    const Path ref = here.field("fieldRef");
    const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, reading);
    kept.field_path = json::text(field_path, ref.field("fieldPath"), reading);
  });
}

void read_own_volume(Element item, const Path& path, Pod& pod, Reading& reading) {
  const auto [empty_dir, downward] =
      pick(item, path, std::array<Keys, 2>{"emptyDir", "downwardAPI"}, reading);
  OwnVolume volume;
  volume.index = path.index;
  volume.empty_dir = empty_dir.has_value();
  if (downward) read_downward_items(*downward, path.field("downwardAPI"), volume, reading);
  if (!pod.own_volume) pod.own_volume = volume;
}

void read_volume(Element item, const Path& path, Pod& pod, Reading& reading) {
  const auto [name, host_path, empty_dir] =
      pick(item, path, std::array<Keys, 3>{"name", "hostPath", "emptyDir"}, reading);
  if (empty_dir) {
    read_empty_dir(json::text(name, path.field("name"), reading), *empty_dir, path.field("emptyDir"), pod,
                   reading);
  }
  if (name && json::text(name, path.field("name"), reading) == conf_file::kVolume)
    read_own_volume(item, path, pod, reading);
  if (!host_path) return;
  const Path at = path.field("hostPath");
  const auto [where] = pick(*host_path, at, std::array<Keys, 1>{"path"}, reading);
  pod.host_paths.push_back(
      {json::text(name, path.field("name"), reading), json::text(where, at.field("path"), reading)});
}

void read_own_container(Element item, const Path& path, Pod& pod, Reading& reading) {
  const auto [image, args] = pick(item, path, std::array<Keys, 2>{"image", "args"}, reading);
  OwnContainer container;
  container.position = pod.containers.size();
  container.image = json::text(image, path.field("image"), reading);
  each_item(args, path.field("args"), reading, [&](Element word, const Path& here) {
    reading.take(Part::Words);
    container.args.push_back(json::text(word, here, reading));
  });
  if (!pod.own_container) pod.own_container = std::move(container);
}

// Resources of the whole pod may be cpu, memory and hugepages alone; the API server refuses others there.
void read_pod_resources(Element resources, const Path& path, Pod& pod, Reading& reading) {
  const auto [limits, requests] = pick(resources, path, std::array<Keys, 2>{"limits", "requests"}, reading);
  const auto note = [&](std::string_view name, Element, const Path&) {
    if (name.find('/') == std::string_view::npos) return;
    reading.take(Part::Resources);
    if (std::find(pod.misplaced.begin(), pod.misplaced.end(), name) == pod.misplaced.end())
      pod.misplaced.push_back(name);
  };
  each_field(limits, path.field("limits"), reading, note);
  each_field(requests, path.field("requests"), reading, note);
}

void read_spec(Element spec, const Path& path, Pod& pod, Reading& reading) {
  const auto [node, runtime, host_network, host_ipc, volumes, claims, init, main, security, resources, env] =
      pick(spec, path,
           std::array<Keys, 11>{"nodeName", "runtimeClassName", "hostNetwork", "hostIPC", "volumes",
                                "resourceClaims", "initContainers", "containers", "securityContext",
                                "resources", "env"},
           reading);
  pod.misplaces_env = env.has_value();
  pod.runtime_class = json::text(runtime, path.field("runtimeClassName"), reading);
  if (security) {
    const User user = read_user(*security, path.field("securityContext"), reading);
    pod.runs_as_root = user.root.value_or(false);
    pod.is_non_root = !user.root.value_or(true);
  }
  pod.has_resources = resources.has_value();
  if (resources) read_pod_resources(*resources, path.field("resources"), pod, reading);
  pod.has_volumes = volumes.has_value();
  pod.has_init = init.has_value();
  pod.node_name = json::text(node, path.field("nodeName"), reading);
  if (!pod.node_name.empty()) reading.check_node(pod.node_name);
  pod.host_network = json::boolean(host_network, path.field("hostNetwork"), reading);
  pod.host_ipc = json::boolean(host_ipc, path.field("hostIPC"), reading);
  each_item(volumes, path.field("volumes"), reading, [&](Element item, const Path& here) {
    reading.take(Part::Volumes);
    read_volume(item, here, pod, reading);
    ++pod.volume_count;
  });
  read_pod_claims(claims, path.field("resourceClaims"), pod, reading);
  pod.containers.reserve(json::items_to_reserve(init) + json::items_to_reserve(main));
  each_item(init, path.field("initContainers"), reading, [&](Element item, const Path& here) {
    Container container = read_container(item, here, ContainerKind::Init, pod.is_non_root, reading);
    if (container.name == conf_file::kResolver) read_own_container(item, here, pod, reading);
    pod.containers.push_back(std::move(container));
  });
  each_item(main, path.field("containers"), reading, [&](Element item, const Path& here) {
    pod.containers.push_back(read_container(item, here, ContainerKind::Main, pod.is_non_root, reading));
  });
}

using Strings = std::vector<std::pair<std::string_view, std::string_view>>;

// A key of ours may stand once only: readers disagree on which of two counts.
void read_strings(std::optional<Element> map, const Path& path, Part part, Strings& into, Reading& reading) {
  into.reserve(json::fields_to_reserve(map));
  std::vector<std::string_view> ours;  // Part::OwnKeys at most
  each_field(map, path, reading, [&](std::string_view name, Element value, const Path& here) {
    reading.take(part);
    if (name.find("nccl-env.io/") != std::string_view::npos) {
      reading.take(Part::OwnKeys);
      if (std::find(ours.begin(), ours.end(), name) != ours.end()) reading.add(here, "stands twice");
      ours.push_back(name);
    }
    const std::string_view text = value.is_null() ? std::string_view() : json::text(value, here, reading);
    if (part == Part::Annotations) reading.take(Part::AnnotationBytes, name.size() + text.size());
    into.emplace_back(name, text);
  });
}

// Returns only what identifies the pod.
Pod left_alone(const Pod& pod, std::string excess) {
  Pod rest;
  rest.name = pod.name;
  rest.name_space = pod.name_space;
  rest.generate_name = pod.generate_name;
  rest.uid = pod.uid;
  rest.excess = std::move(excess);
  return rest;
}

Pod read_pod(Element object, const Path& path, Reading& reading) {
  Pod pod;
  const auto [metadata, spec] = pick(object, path, std::array<Keys, 2>{"metadata", "spec"}, reading);
  if (metadata) {
    pod.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [name, generate, name_space, uid, labels, annotations] = pick(
        *metadata, at,
        std::array<Keys, 6>{"name", "generateName", "namespace", "uid", "labels", "annotations"}, reading);
    pod.name = json::text(name, at.field("name"), reading);
    pod.name_space = json::text(name_space, at.field("namespace"), reading);
    pod.generate_name = json::text(generate, at.field("generateName"), reading);
    pod.uid = json::text(uid, at.field("uid"), reading);
    pod.has_annotations = annotations.has_value();
    read_strings(labels, at.field("labels"), Part::Labels, pod.labels, reading);
    read_strings(annotations, at.field("annotations"), Part::Annotations, pod.annotations, reading);
  }
  if (spec && !reading.stopped()) read_spec(*spec, path.field("spec"), pod, reading);
  if (!reading.excess().empty()) [[unlikely]]
    return left_alone(pod, reading.excess());
  return pod;
}

Binding read_binding(Element object, const Path& path, Reading& reading) {
  Binding binding;
  const auto [metadata, target] = pick(object, path, std::array<Keys, 2>{"metadata", "target"}, reading);
  if (metadata) {
    binding.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [uid, annotations] = pick(*metadata, at, std::array<Keys, 2>{"uid", "annotations"}, reading);
    binding.pod_uid = json::text(uid, at.field("uid"), reading);
    binding.has_annotations = annotations.has_value();
    read_strings(annotations, at.field("annotations"), Part::Annotations, binding.annotations, reading);
  }
  if (target) {
    const Path at = path.field("target");
    const auto [name] = pick(*target, at, std::array<Keys, 1>{"name"}, reading);
    binding.node = json::text(name, at.field("name"), reading);
  }
  if (binding.node.empty()) {
    reading.add(path.field("target.name"), "must name a node");
  } else {
    reading.check_node(binding.node);
  }
  if (reading.excess().empty()) return binding;
  Binding rest;
  rest.pod_uid = binding.pod_uid;
  rest.excess = reading.excess();
  return rest;
}

Review::Kind kind_of(std::string_view group, std::string_view resource, std::string_view sub_resource) {
  if (!group.empty()) return Review::Kind::Other;
  if (resource == "pods" && sub_resource.empty()) return Review::Kind::Pod;
  if (resource == "pods" && sub_resource == "binding") return Review::Kind::Binding;
  if (resource == "bindings" && sub_resource.empty()) return Review::Kind::Binding;
  return Review::Kind::Other;
}

// `too_large`: the object has been left out.
void read_request(Element request, const Path& path, bool too_large, Reading& reading, Review& review) {
  const auto [uid, resource, sub_resource, name, name_space, operation, object, dry_run] =
      pick(request, path,
           std::array<Keys, 8>{"uid", "resource", "subResource", "name", "namespace", "operation", "object",
                               "dryRun"},
           reading);
  review.uid = json::text(uid, path.field("uid"), reading);
  if (review.uid.empty()) reading.add(path.field("uid"), "must be a non-empty string");
  review.name = json::text(name, path.field("name"), reading);
  review.name_space = json::text(name_space, path.field("namespace"), reading);
  review.create = json::text(operation, path.field("operation"), reading) == "CREATE";
  review.dry_run = json::boolean(dry_run, path.field("dryRun"), reading);
  if (!resource) {
    return reading.add(path.field("resource"), "must be an object");
  }
  const Path at = path.field("resource");
  const auto [group, plural] = pick(*resource, at, std::array<Keys, 2>{"group", "resource"}, reading);
  review.kind = kind_of(json::text(group, at.field("group"), reading),
                        json::text(plural, at.field("resource"), reading),
                        json::text(sub_resource, path.field("subResource"), reading));
  if (review.kind == Review::Kind::Other || !review.create) return;
  if (!object && too_large) {
    std::string& excess = review.kind == Review::Kind::Pod ? review.pod.excess : review.binding.excess;
    excess = "It is larger than 1.5 MiB.";
    review.pod.name_space = review.name_space;
  } else if (!object) {
    reading.add(path.field("object"), "must be an object");
  } else if (review.kind == Review::Kind::Pod) {
    review.pod = read_pod(*object, path.field("object"), reading);
    review.pod.name_space = review.name_space;
  } else {
    review.binding = read_binding(*object, path.field("object"), reading);
  }
}

}  // namespace

const VolumeItem* OwnVolume::item_at(std::string_view path) const {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const VolumeItem& item) { return item.path == path; });
  return found == items.end() ? nullptr : &*found;
}

std::optional<std::string_view> Pod::annotation(std::string_view key) const {
  for (const auto& [known, value] : annotations) {
    if (known == key) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Pod::label(std::string_view key) const {
  for (const auto& [known, value] : labels) {
    if (known == key) return value;
  }
  return std::nullopt;
}

// A parser's buffers are 14 times its largest document: buffers that no honest pod needs are not kept.
constexpr std::size_t kKeptDocument = 256u << 10;

// Returns what stands between the brackets of a pod's managedFields, as a view of `text`; "" if that is not
// known. The API server writes them last in the metadata; they are a third to a half of a review, and nobody
// reads them. The first ']' behind their beginning has to be followed by the spec: in valid JSON it stands
// outside of strings. Where it is the end of a list inside, the rest has a bracket too many, and is no JSON.
std::string_view managed_fields(std::string_view text) {
  constexpr std::string_view kBegin = "\"managedFields\":[", kEnd = "]},\"spec\":{";
  const void* begin = ::memmem(text.data(), text.size(), kBegin.data(), kBegin.size());
  if (!begin) return {};
  text.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(begin) - text.data()) + kBegin.size());
  const std::size_t end = text.find(']');
  return end != text.npos && text.substr(end).starts_with(kEnd) ? text.substr(0, end) : std::string_view();
}

struct ReviewParser::State {
  simdjson::dom::parser parser{kMaxReviewBytes};
  std::string shortened;

  // As parse(), but what stands in managedFields is not looked at where it can be left out.
  Result<Element> parse_review(std::string_view text, bool padded) {
    constexpr std::size_t kWorthIt = 512;
    const bool may_be =
        text.size() > 4 * kWorthIt && text.size() <= kKeptDocument;  // no Binding of a scheduler
    const std::string_view hole = may_be ? managed_fields(text) : std::string_view();
    if (hole.size() < kWorthIt) return parse(text, padded);
    const auto before = static_cast<std::size_t>(hole.data() - text.data());
    const std::size_t rest = text.size() - hole.size();
    shortened.reserve(rest + kJsonPadding);
    shortened.assign(text.substr(0, before)).append(text.substr(before + hole.size()));
    const Result<Element> root = parse({shortened.data(), rest}, shortened.capacity() >= rest + kJsonPadding);
    return root ? root : parse(text, padded);
  }

  Result<Element> parse(std::string_view text, bool padded) {
    if (text.size() > kMaxReviewBytes) return Error{"the document is larger than 8 MiB"};
    trim();
    return json::parse(parser, text, padded);
  }
  void trim() {
    if (parser.capacity() > kKeptDocument) parser = simdjson::dom::parser(kMaxReviewBytes);
  }
};

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

ReviewParser::ReviewParser() : state_(std::make_unique<State>()) {}
ReviewParser::~ReviewParser() = default;
ReviewParser::ReviewParser(ReviewParser&&) noexcept = default;
ReviewParser& ReviewParser::operator=(ReviewParser&&) noexcept = default;

void ReviewParser::trim() {
  state_->trim();
}

Result<Review> ReviewParser::parse_review(std::string_view text, bool padded) {
  const bool too_large = text.size() > kMaxWholeReview && text.size() <= kMaxReviewBytes;
  std::string rest;
  if (too_large) {
    rest = without_objects(text);
    if (rest.empty()) return Error{"the document is larger than 1.5 MiB, and not because of its object"};
    text = rest;
    padded = false;
  }
  const Result<Element> root = state_->parse_review(text, padded);
  if (!root) return root.error();
  Reading reading;
  const Path top;
  const auto [version, kind, request] =
      pick(*root, top, std::array<Keys, 3>{"apiVersion", "kind", "request"}, reading);
  if (json::text(version, top.field("apiVersion"), reading) != "admission.k8s.io/v1") {
    reading.add(top.field("apiVersion"), "must be admission.k8s.io/v1");
  }
  if (json::text(kind, top.field("kind"), reading) != "AdmissionReview") {
    reading.add(top.field("kind"), "must be AdmissionReview");
  }
  if (!request) reading.add(top.field("request"), "must be an object");
  if (reading.failed()) return reading.error();
  Result<Review> review = Review();
  read_request(*request, top.field("request"), too_large, reading, *review);
  if (reading.failed()) review = reading.error();
  return review;
}

Result<Pod> ReviewParser::parse_pod(std::string_view text) {
  const Result<Element> root = state_->parse(text, false);
  if (!root) return root.error();
  Reading reading;
  Pod pod = read_pod(*root, Path{}, reading);
  if (reading.failed()) return reading.error();
  return pod;
}

}  // namespace nccl_env
