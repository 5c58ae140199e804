// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/review.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "nccl_env/core/nccl/conf.h"
#include "pod/json_reader.h"

namespace nccl_env {
namespace {

using json::each_item;
using json::Element;
using json::Failure;
using json::Path;
using json::pick;
using Keys = std::string_view;

// Far more than Kubernetes lets a claim or a node have.
constexpr std::size_t kMaxClaims = 256;

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

void read_claim_uses(std::optional<Element> list, const Path& path, Container& container, Failure& failure) {
  each_item(list, path, failure, [&](Element item, const Path& here) {
    const auto [name, request] = pick(item, here, std::array<Keys, 2>{"name", "request"}, failure);
    if (container.claims.size() == kMaxClaims) return failure.set(here, "too many claims");
    container.claims.push_back(
        {json::text(name, here.field("name"), failure), json::text(request, here.field("request"), failure)});
  });
}

void read_pod_claims(std::optional<Element> list, const Path& path, Pod& pod, Failure& failure) {
  each_item(list, path, failure, [&](Element item, const Path& here) {
    const auto [name, claim, claim_template] = pick(
        item, here, std::array<Keys, 3>{"name", "resourceClaimName", "resourceClaimTemplateName"}, failure);
    if (pod.claims.size() == kMaxClaims) return failure.set(here, "too many claims");
    pod.claims.push_back({json::text(name, here.field("name"), failure),
                          json::text(claim, here.field("resourceClaimName"), failure),
                          json::text(claim_template, here.field("resourceClaimTemplateName"), failure)});
  });
}

void read_security(Element context, const Path& path, Container& container, Failure& failure) {
  const auto [privileged, capabilities] =
      pick(context, path, std::array<Keys, 2>{"privileged", "capabilities"}, failure);
  container.privileged = json::boolean(privileged, path.field("privileged"), failure);
  if (!capabilities) return;
  const Path at = path.field("capabilities");
  const auto [add] = pick(*capabilities, at, std::array<Keys, 1>{"add"}, failure);
  each_item(add, at.field("add"), failure, [&](Element item, const Path& here) {
    const std::string_view name = json::text(item, here, failure);
    container.locks_memory = container.locks_memory || name == "IPC_LOCK" || name == "ALL";
  });
}

struct TextList {
  std::optional<json::Element> list;
  const json::Path& path;
};

// Keeps them only where a command can be a launcher's: hardly any other names NCCL variables.
void read_arguments(const std::array<TextList, 2>& command_and_args, Container& container, Failure& failure) {
  bool names_nccl = false;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, failure, [&](Element item, const Path& here) {
      names_nccl = names_nccl || json::text(item, here, failure).find("NCCL_") != std::string_view::npos;
    });
  }
  if (!names_nccl) return;
  for (const TextList& words : command_and_args) {
    each_item(words.list, words.path, failure, [&](Element item, const Path& here) {
      container.arguments.push_back(json::text(item, here, failure));
    });
  }
}

void read_empty_dir(std::string_view volume, Element source, const Path& path, Pod& pod, Failure& failure) {
  const auto [medium, limit] = pick(source, path, std::array<Keys, 2>{"medium", "sizeLimit"}, failure);
  if (json::text(medium, path.field("medium"), failure) != "Memory") return;
  MemoryVolume& memory = pod.memory_volumes.emplace_back();
  memory.name = volume;
  double bytes = 0;
  if (limit && limit->is_number()) {
    if (limit->get(bytes) == simdjson::SUCCESS) memory.size_limit = bytes;
  } else if (limit) {
    memory.size_limit = parse_quantity(json::text(limit, path.field("sizeLimit"), failure));
  }
}

using json::each_field;

// More than any container has; keeps the check for repeats from going quadratic on hostile input.
constexpr std::size_t kMaxResources = 256;

// A Kubernetes quantity above zero. "0", "0k" and "0.0" are not requested; a number counts as it is.
bool is_positive(Element value, const Path& path, Failure& failure) {
  double number = 0;
  if (value.is_number()) return value.get(number) == simdjson::SUCCESS && number > 0;
  const std::string_view quantity = json::text(value, path, failure);
  if (quantity.starts_with('-')) return false;
  const std::string_view digits = quantity.substr(0, quantity.find_first_not_of("+.0123456789"));
  return digits.find_first_of("123456789") != std::string_view::npos;
}

// The API server sends strings. People also write numbers; a fraction among these is not kept.
void take_quantity(Element value, const Path& path, std::string& into, Failure& failure) {
  std::int64_t number = 0;
  if (!value.is_number()) {
    into = json::text(value, path, failure);
  } else if (value.get(number) == simdjson::SUCCESS) {
    into = std::to_string(number);
  }
}

std::string* member_of(Compute& compute, std::string_view name) {
  if (name == "cpu") return &compute.cpu;
  if (name == "memory") return &compute.memory;
  return name == "ephemeral-storage" ? &compute.ephemeral_storage : nullptr;
}

void read_resources(std::optional<Element> list, const Path& path, Compute& compute, Container& container,
                    Failure& failure) {
  each_field(list, path, failure, [&](std::string_view name, Element quantity, const Path& here) {
    if (quantity.is_null()) return;
    if (std::string* member = member_of(compute, name)) {
      const bool some = is_positive(quantity, here, failure);
      container.has_compute = container.has_compute || (some && name != "ephemeral-storage");
      return take_quantity(quantity, here, *member, failure);
    }
    if (name.find('/') == std::string_view::npos) return;
    if (!is_positive(quantity, here, failure)) return;
    auto& known = container.resources;
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    if (known.size() == kMaxResources) return failure.set(here, "too many resources");
    known.push_back(name);
  });
}

void read_env_entry(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [name, value, source] =
      pick(item, path, std::array<Keys, 3>{"name", "value", "valueFrom"}, failure);
  EnvEntry& entry = container.env.emplace_back();  // in place: copied right after it is written, it stalls
  entry.name = json::text(name, path.field("name"), failure);
  entry.value = json::text(value, path.field("value"), failure);
  entry.has_source = source.has_value();
  if (source) {
    const Path at = path.field("valueFrom");
    const auto [field] = pick(*source, at, std::array<Keys, 1>{"fieldRef"}, failure);
    if (field) {
      const Path ref = at.field("fieldRef");
      const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, failure);
      entry.field_path = json::text(field_path, ref.field("fieldPath"), failure);
    }
  }
}

void read_env_from(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [prefix] = pick(item, path, std::array<Keys, 1>{"prefix"}, failure);
  container.env_from_prefixes.push_back(json::text(prefix, path.field("prefix"), failure));
}

void read_mount(Element item, const Path& path, Container& container, Failure& failure) {
  const auto [name, mount] = pick(item, path, std::array<Keys, 2>{"name", "mountPath"}, failure);
  VolumeMount& entry = container.mounts.emplace_back();
  entry.volume = json::text(name, path.field("name"), failure);
  entry.mount_path = json::text(mount, path.field("mountPath"), failure);
  if (entry.volume != conf_file::kVolume) return;
  const auto [sub_path, read_only] = pick(item, path, std::array<Keys, 2>{"subPath", "readOnly"}, failure);
  entry.sub_path = json::text(sub_path, path.field("subPath"), failure);
  entry.read_only = json::boolean(read_only, path.field("readOnly"), failure);
}

Container read_container(Element item, const Path& path, ContainerKind kind, Failure& failure) {
  Container container;
  container.kind = kind;
  container.index = path.index;
  const auto [name, env, env_from, resources, mounts, command, args, security, pull] =
      pick(item, path,
           std::array<Keys, 9>{"name", "env", "envFrom", "resources", "volumeMounts", "command", "args",
                               "securityContext", "imagePullPolicy"},
           failure);
  container.always_pulls = json::text(pull, path.field("imagePullPolicy"), failure) == "Always";
  container.name = json::text(name, path.field("name"), failure);
  container.has_env = env.has_value();
  container.env.reserve(json::items_to_reserve(env));
  each_item(env, path.field("env"), failure,
            [&](Element entry, const Path& here) { read_env_entry(entry, here, container, failure); });
  each_item(env_from, path.field("envFrom"), failure,
            [&](Element entry, const Path& here) { read_env_from(entry, here, container, failure); });
  container.has_mounts = mounts.has_value();
  container.mounts.reserve(json::items_to_reserve(mounts));
  each_item(mounts, path.field("volumeMounts"), failure,
            [&](Element entry, const Path& here) { read_mount(entry, here, container, failure); });
  if (resources) {
    const Path at = path.field("resources");
    const auto [limits, requests, claims] =
        pick(*resources, at, std::array<Keys, 3>{"limits", "requests", "claims"}, failure);
    read_resources(limits, at.field("limits"), container.limits, container, failure);
    read_resources(requests, at.field("requests"), container.requests, container, failure);
    read_claim_uses(claims, at.field("claims"), container, failure);
  }
  if (security) read_security(*security, path.field("securityContext"), container, failure);
  const Path at_command = path.field("command"), at_args = path.field("args");
  read_arguments({{{command, at_command}, {args, at_args}}}, container, failure);
  return container;
}

// One item that is a fieldRef, or nothing of it is kept: any other is not as we write it.
void read_downward_items(Element source, const Path& path, OwnVolume& volume, Failure& failure) {
  const auto [items] = pick(source, path, std::array<Keys, 1>{"items"}, failure);
  const Path at = path.field("items");
  int count = 0;
  each_item(items, at, failure, [&](Element item, const Path& here) {
    const auto [file, field] = pick(item, here, std::array<Keys, 2>{"path", "fieldRef"}, failure);
    volume.item_path = json::text(file, here.field("path"), failure);
    if (++count > 1 || !field) return void(volume.field_path = {});
    const Path ref = here.field("fieldRef");
    const auto [field_path] = pick(*field, ref, std::array<Keys, 1>{"fieldPath"}, failure);
    volume.field_path = json::text(field_path, ref.field("fieldPath"), failure);
  });
}

void read_own_volume(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [empty_dir, downward] =
      pick(item, path, std::array<Keys, 2>{"emptyDir", "downwardAPI"}, failure);
  OwnVolume volume;
  volume.index = path.index;
  volume.empty_dir = empty_dir.has_value();
  if (downward) read_downward_items(*downward, path.field("downwardAPI"), volume, failure);
  if (!pod.own_volume) pod.own_volume = volume;
}

void read_volume(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [name, host_path, empty_dir] =
      pick(item, path, std::array<Keys, 3>{"name", "hostPath", "emptyDir"}, failure);
  if (empty_dir) {
    read_empty_dir(json::text(name, path.field("name"), failure), *empty_dir, path.field("emptyDir"), pod,
                   failure);
  }
  if (name && json::text(name, path.field("name"), failure) == conf_file::kVolume)
    read_own_volume(item, path, pod, failure);
  if (!host_path) return;
  const Path at = path.field("hostPath");
  const auto [where] = pick(*host_path, at, std::array<Keys, 1>{"path"}, failure);
  pod.host_paths.push_back(
      {json::text(name, path.field("name"), failure), json::text(where, at.field("path"), failure)});
}

void read_own_container(Element item, const Path& path, Pod& pod, Failure& failure) {
  const auto [image, args] = pick(item, path, std::array<Keys, 2>{"image", "args"}, failure);
  OwnContainer container;
  container.position = pod.containers.size();
  container.image = json::text(image, path.field("image"), failure);
  each_item(args, path.field("args"), failure, [&](Element word, const Path& here) {
    container.args.push_back(json::text(word, here, failure));
  });
  if (!pod.own_container) pod.own_container = std::move(container);
}

bool is_root(Element security_context, const Path& path, Failure& failure) {
  const auto [user] = pick(security_context, path, std::array<Keys, 1>{"runAsUser"}, failure);
  std::int64_t number = -1;
  if (user && user->get(number) != simdjson::SUCCESS)
    failure.set(path.field("runAsUser"), "must be an integer");
  return number == 0;
}

void read_spec(Element spec, const Path& path, Pod& pod, Failure& failure) {
  const auto [node, host_network, host_ipc, volumes, claims, init, main, security, resources] =
      pick(spec, path,
           std::array<Keys, 9>{"nodeName", "hostNetwork", "hostIPC", "volumes", "resourceClaims",
                               "initContainers", "containers", "securityContext", "resources"},
           failure);
  if (security) pod.runs_as_root = is_root(*security, path.field("securityContext"), failure);
  pod.has_resources = resources.has_value();
  pod.has_volumes = volumes.has_value();
  pod.has_init = init.has_value();
  pod.node_name = json::text(node, path.field("nodeName"), failure);
  pod.host_network = json::boolean(host_network, path.field("hostNetwork"), failure);
  pod.host_ipc = json::boolean(host_ipc, path.field("hostIPC"), failure);
  each_item(volumes, path.field("volumes"), failure, [&](Element item, const Path& here) {
    read_volume(item, here, pod, failure);
    ++pod.volume_count;
  });
  read_pod_claims(claims, path.field("resourceClaims"), pod, failure);
  pod.containers.reserve(json::items_to_reserve(init) + json::items_to_reserve(main));
  each_item(init, path.field("initContainers"), failure, [&](Element item, const Path& here) {
    Container container = read_container(item, here, ContainerKind::Init, failure);
    if (container.name == conf_file::kResolver) read_own_container(item, here, pod, failure);
    pod.containers.push_back(std::move(container));
  });
  each_item(main, path.field("containers"), failure, [&](Element item, const Path& here) {
    pod.containers.push_back(read_container(item, here, ContainerKind::Main, failure));
  });
}

void read_strings(std::optional<Element> map, const Path& path,
                  std::vector<std::pair<std::string_view, std::string_view>>& into, Failure& failure) {
  into.reserve(json::fields_to_reserve(map));
  each_field(map, path, failure, [&](std::string_view name, Element value, const Path& here) {
    const bool ours = name.find("nccl-env.io/") != std::string_view::npos;
    const auto same = [&](const auto& entry) { return entry.first == name; };
    if (ours && std::any_of(into.begin(), into.end(), same)) return failure.set(here, "stands twice");
    if (value.is_null()) return void(into.emplace_back(name, std::string_view()));
    into.emplace_back(name, json::text(value, here, failure));
  });
}

Pod read_pod(Element object, const Path& path, Failure& failure) {
  Pod pod;
  const auto [metadata, spec] = pick(object, path, std::array<Keys, 2>{"metadata", "spec"}, failure);
  if (metadata) {
    pod.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [name, generate, name_space, uid, labels, annotations] = pick(
        *metadata, at,
        std::array<Keys, 6>{"name", "generateName", "namespace", "uid", "labels", "annotations"}, failure);
    pod.name = json::text(name, at.field("name"), failure);
    pod.name_space = json::text(name_space, at.field("namespace"), failure);
    pod.generate_name = json::text(generate, at.field("generateName"), failure);
    pod.uid = json::text(uid, at.field("uid"), failure);
    pod.has_annotations = annotations.has_value();
    read_strings(labels, at.field("labels"), pod.labels, failure);
    read_strings(annotations, at.field("annotations"), pod.annotations, failure);
  }
  if (spec) read_spec(*spec, path.field("spec"), pod, failure);
  return pod;
}

Binding read_binding(Element object, const Path& path, Failure& failure) {
  Binding binding;
  const auto [metadata, target] = pick(object, path, std::array<Keys, 2>{"metadata", "target"}, failure);
  if (metadata) {
    binding.has_metadata = true;
    const Path at = path.field("metadata");
    const auto [uid, annotations] = pick(*metadata, at, std::array<Keys, 2>{"uid", "annotations"}, failure);
    binding.pod_uid = json::text(uid, at.field("uid"), failure);
    binding.has_annotations = annotations.has_value();
    read_strings(annotations, at.field("annotations"), binding.annotations, failure);
  }
  if (target) {
    const Path at = path.field("target");
    const auto [name] = pick(*target, at, std::array<Keys, 1>{"name"}, failure);
    binding.node = json::text(name, at.field("name"), failure);
  }
  if (binding.node.empty()) failure.set(path.field("target.name"), "must name a node");
  return binding;
}

Review::Kind kind_of(std::string_view group, std::string_view resource, std::string_view sub_resource) {
  if (!group.empty()) return Review::Kind::Other;
  if (resource == "pods" && sub_resource.empty()) return Review::Kind::Pod;
  if (resource == "pods" && sub_resource == "binding") return Review::Kind::Binding;
  if (resource == "bindings" && sub_resource.empty()) return Review::Kind::Binding;
  return Review::Kind::Other;
}

Review read_request(Element request, const Path& path, Failure& failure) {
  Review review;
  const auto [uid, resource, sub_resource, name, name_space, operation, object, dry_run] =
      pick(request, path,
           std::array<Keys, 8>{"uid", "resource", "subResource", "name", "namespace", "operation", "object",
                               "dryRun"},
           failure);
  review.uid = json::text(uid, path.field("uid"), failure);
  if (review.uid.empty()) failure.set(path.field("uid"), "must be a non-empty string");
  review.name = json::text(name, path.field("name"), failure);
  review.name_space = json::text(name_space, path.field("namespace"), failure);
  review.create = json::text(operation, path.field("operation"), failure) == "CREATE";
  review.dry_run = json::boolean(dry_run, path.field("dryRun"), failure);
  if (!resource) {
    failure.set(path.field("resource"), "must be an object");
    return review;
  }
  const Path at = path.field("resource");
  const auto [group, plural] = pick(*resource, at, std::array<Keys, 2>{"group", "resource"}, failure);
  review.kind = kind_of(json::text(group, at.field("group"), failure),
                        json::text(plural, at.field("resource"), failure),
                        json::text(sub_resource, path.field("subResource"), failure));
  if (review.kind == Review::Kind::Other || !review.create) return review;
  if (!object) {
    failure.set(path.field("object"), "must be an object");
  } else if (review.kind == Review::Kind::Pod) {
    review.pod = read_pod(*object, path.field("object"), failure);
    review.pod.name_space = review.name_space;
  } else {
    review.binding = read_binding(*object, path.field("object"), failure);
  }
  return review;
}

}  // namespace

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

std::size_t Pod::annotation_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [known, value] : annotations) bytes += known.size() + value.size();
  return bytes;
}

struct ReviewParser::State {
  simdjson::dom::parser parser{kMaxReviewBytes};

  Result<Element> parse(std::string_view text, bool padded) {
    if (text.size() > kMaxReviewBytes) return Error{"the document is larger than 8 MiB"};
    Element root;
    const auto error = parser.parse(text.data(), text.size(), !padded).get(root);
    if (error != simdjson::SUCCESS) return Error{std::string("not JSON: ") + simdjson::error_message(error)};
    return root;
  }
};

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

ReviewParser::ReviewParser() : state_(std::make_unique<State>()) {}
ReviewParser::~ReviewParser() = default;
ReviewParser::ReviewParser(ReviewParser&&) noexcept = default;
ReviewParser& ReviewParser::operator=(ReviewParser&&) noexcept = default;

Result<Review> ReviewParser::parse_review(std::string_view text, bool padded) {
  const Result<Element> root = state_->parse(text, padded);
  if (!root) return root.error();
  Failure failure;
  const Path top;
  const auto [version, kind, request] =
      pick(*root, top, std::array<Keys, 3>{"apiVersion", "kind", "request"}, failure);
  if (json::text(version, top.field("apiVersion"), failure) != "admission.k8s.io/v1") {
    failure.set(top.field("apiVersion"), "must be admission.k8s.io/v1");
  }
  if (json::text(kind, top.field("kind"), failure) != "AdmissionReview") {
    failure.set(top.field("kind"), "must be AdmissionReview");
  }
  if (!request) failure.set(top.field("request"), "must be an object");
  if (failure.failed()) return failure.error();
  Review review = read_request(*request, top.field("request"), failure);
  if (failure.failed()) return failure.error();
  return review;
}

Result<Pod> ReviewParser::parse_pod(std::string_view text) {
  const Result<Element> root = state_->parse(text, false);
  if (!root) return root.error();
  Failure failure;
  Pod pod = read_pod(*root, Path{}, failure);
  if (failure.failed()) return failure.error();
  return pod;
}

}  // namespace nccl_env
