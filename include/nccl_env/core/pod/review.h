// SPDX-License-Identifier: Apache-2.0
// AdmissionReview requests (admission.k8s.io/v1) reduced to what decisions need. Everything is bounded
// and type-checked; a field that decisions do not read is not looked at.
//
//   bytes ----> [ ReviewParser ] ----> [ Review ] ----> [ Pod ] ----> [ Container ]* ----> [ EnvEntry ]*
//               owns the document           |              +----> annotations ----> [ networks ]
//                                           |              +----> [ PodClaim ]* ----> [ claims ]: classes
//                                           +----> [ Binding ]
//
// All texts are views into the parser's document, until it parses the next one. What outlives a review is
// copied where it is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/pod/list_source.h"
#include "nccl_env/result.h"

namespace nccl_env {

// Every string_view below points into the document that was parsed: it is valid until the next call of
// the same ReviewParser, or until the parser is destroyed.

using Annotation = std::pair<std::string_view, std::string_view>;

struct EnvEntry {
  std::string_view name;
  std::string_view value;       // of `value`; "" where there is none
  bool has_source = false;      // `valueFrom` present
  std::string_view field_path;  // of `valueFrom.fieldRef`; "" for any other source
  std::string_view file_key;    // of `valueFrom.fileKeyRef`, if it names our file of EnvFile; else ""
  bool lost_source = false;     // `valueFrom` has no source at all: a client of older types dropped it

  // True for a value that stands in the manifest, not one by valueFrom or $(…).
  [[nodiscard]] bool is_literal() const { return !has_source && value.find("$(") == std::string_view::npos; }
};

struct VolumeMount {
  std::string_view volume;
  std::string_view mount_path;
  std::string_view sub_path;  // this and read_only: only of a volume of ours (conf_file::kVolume)
  bool read_only = false;
};

// One entry of a container's resources.claims.
struct ClaimUse {
  std::string_view claim;    // a PodClaim's name
  std::string_view request;  // one request of it; "": all
};

enum class ContainerKind {
  Main,
  Init
};  // a native sidecar is an init container; ephemeral ones are never read

// Quantities of a container, as its manifest says them ("500m"); "" for nothing.
struct Compute {
  std::string cpu;
  std::string memory;
  std::string ephemeral_storage;
};

struct Container {
  std::string_view name;
  std::string_view called = "The container";  // at the beginning of sentences; a process has no container
  std::string_view image;
  ContainerKind kind = ContainerKind::Main;
  int index = 0;         // in its list of the pod's spec
  bool has_env = false;  // the `env` key exists and is a list (it may be empty)
  std::vector<EnvEntry> env;
  ListSource env_source;                            // if has_env
  std::vector<std::string_view> env_from_prefixes;  // one per envFrom entry; "" without a prefix
  std::vector<std::string_view> resources;          // names with a slash and a quantity above zero, each once
  std::vector<std::string_view> zero_resources;     // with a quantity of zero; the first few
  bool has_mounts = false;                          // `volumeMounts` exists and is a list
  std::vector<VolumeMount> mounts;
  ListSource mounts_source;  // if has_mounts
  Compute requests;
  Compute limits;
  bool has_compute = false;   // requests or is limited to some cpu or memory: what QoS classes look at
  bool always_pulls = false;  // imagePullPolicy is Always
  std::vector<ClaimUse> claims;
  bool privileged = false;
  bool locks_memory = false;  // capabilities.add holds IPC_LOCK or ALL
  bool is_non_root = false;   // runs as another user than root, for whom added capabilities are not effective
  bool starts_ranks = false;  // command or args name mpirun or mpiexec
  // command and args, where one of them holds "NCCL_", "sshd" or an engine's device; else empty
  std::vector<std::string_view> arguments;
};

// An init container with the name of ours (conf_file::kResolver). Its env and mounts are in Pod::containers.
struct OwnContainer {
  std::size_t position = 0;  // in Pod::containers
  std::string_view image;
  std::vector<std::string_view> args;
};

struct VolumeItem {
  std::string_view path;
  std::string_view field_path;  // of its fieldRef; "" where it has none
};

// A volume with the name of ours (conf_file::kVolume).
struct OwnVolume {
  int index = 0;                  // in spec.volumes
  bool empty_dir = false;         // `emptyDir` present
  std::vector<VolumeItem> items;  // of `downwardAPI`; the first few

  [[nodiscard]] const VolumeItem* item_at(std::string_view path) const;  // null: none
};

// A Kubernetes quantity ("64Mi", "1e9", "0.5Gi"); nullopt if it is none.
std::optional<double> parse_quantity(std::string_view text);

struct HostPathVolume {
  std::string_view name;
  std::string_view path;
};

// An emptyDir with medium Memory.
struct MemoryVolume {
  std::string_view name;
  std::optional<double> size_limit;  // bytes
};

// One entry of spec.resourceClaims; one of the two object names is given.
struct PodClaim {
  std::string_view name;
  std::string_view resource_claim;
  std::string_view claim_template;
};

struct Pod {
  std::string_view name;        // "" where generateName is used
  std::string_view name_space;  // the review's, or metadata.namespace; "" if neither says
  std::string_view generate_name;
  std::string_view uid;            // absent at CREATE
  std::string_view node_name;      // spec.nodeName at CREATE; "" if none
  std::string_view runtime_class;  // spec.runtimeClassName; "" if none
  bool host_network = false;
  bool runs_as_root = false;   // spec.securityContext.runAsUser is 0
  bool is_non_root = false;    // spec.securityContext names another user than root, or runAsNonRoot
  bool has_resources = false;  // spec.resources: limits of the whole pod
  bool misplaces_env = false;  // spec.env, which is no field of a pod's
  std::vector<std::string_view> misplaced;  // names in spec.resources that only containers can ask for
  bool has_volumes = false;                 // spec.volumes exists and is a list
  std::size_t volume_count = 0;
  bool has_init = false;  // spec.initContainers exists and is a list
  bool host_ipc = false;
  bool has_metadata = false;     // `metadata` exists
  bool has_annotations = false;  // `metadata.annotations` exists and is an object
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  std::vector<Annotation> annotations;
  std::vector<HostPathVolume> host_paths;
  std::vector<MemoryVolume> memory_volumes;
  std::vector<PodClaim> claims;
  std::optional<OwnVolume> own_volume;        // the first of that name
  std::optional<OwnContainer> own_container;  // the first of that name
  std::vector<Container> containers;          // init containers first, then main ones, each in its order
  // Which limit (limits.h) the pod exceeds, as a sentence; then only names and uid above are filled in.
  std::string excess;

  [[nodiscard]] std::optional<std::string_view> annotation(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const;
};

struct Binding {
  std::string_view pod_uid;  // metadata.uid; "" if the binder did not send it
  std::string_view node;     // target.name
  bool has_metadata = false;
  bool has_annotations = false;
  std::vector<Annotation> annotations;
  std::string excess;  // as a Pod's; then only the uid above is filled in
};

struct Review {
  // Other: a resource that is not our business (a misdirected hook); answered with "allowed", unpatched.
  enum class Kind { Pod, Binding, Other } kind = Kind::Other;
  std::string_view uid;
  std::string_view name;        // request.name; absent at CREATE for generated names
  std::string_view name_space;  // request.namespace
  bool create = true;           // operation is CREATE; anything else is answered with "allowed", unpatched
  bool dry_run = false;
  Pod pod;          // Kind::Pod
  Binding binding;  // Kind::Binding: pods/binding and the legacy bindings resource
};

// Bytes that must be readable behind the end of a document (simdjson reads in blocks).
inline constexpr std::size_t kJsonPadding = 64;
// kube-apiserver bounds the object at 3 MiB; the review around it adds the old object and options.
inline constexpr std::size_t kMaxReviewBytes = 8u << 20;

// Reads reviews; keeps its buffers from one to the next until trim(). One per thread.
class ReviewParser {
 public:
  ReviewParser();
  ~ReviewParser();
  ReviewParser(ReviewParser&&) noexcept;
  ReviewParser& operator=(ReviewParser&&) noexcept;

  // If `padded` is false, `json` is copied and needs no padding; if true, kJsonPadding bytes behind `json`
  // are readable. Errors name the path of the offending field. A pod or Binding beyond the limits is not an
  // error: its `excess` says so.
  Result<Review> parse_review(std::string_view json, bool padded = false);
  // A bare Pod manifest or pod template (metadata + spec), as if it were created in `name_space`.
  Result<Pod> parse_pod(std::string_view json);
  // Frees the memory that a document over 256 KiB took. Views into the last document are not valid any more.
  void trim();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nccl_env
