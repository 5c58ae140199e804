// SPDX-License-Identifier: Apache-2.0
// A pod of the cluster, reduced to what explain says about it: what each container was given, where the pod
// is, whose it is.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/pod/review.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/judge/explain/given_file.h"
#include "nccl_env/result.h"

namespace nccl_env {

struct GivenContainer {
  std::string name;
  bool init = false;
  bool in_status = false;              // the status names it
  bool env_from = false;               // it may have variables that are not seen here
  bool reads_file = false;             // nccl.conf of ours is mounted: PodRecord::file
  bool names_file = false;             // at a path of ours, which its NCCL_CONF_FILE names
  std::vector<Value> values;           // in the order of its env; of two entries of one name the last
  std::vector<Value> command;          // that its command sets for certain, and others than ours
  std::vector<Value> file;             // the lines of nccl.conf, and those that the status promises, by name
  std::vector<Value> engine_lines;     // the same of the files of other engines
  TextsByName omitted;                 // by the status: variable -> reason
  TextsByName decided;                 // of them, what of the user's decides about each
  std::vector<std::string> lost;       // by the status it has them, and neither env nor
                                       // file of it is there
  std::vector<Value> replaced;         // came into env after the webhook gave them by file
  std::vector<std::string> resources;  // extended resources that it requests

  // Takes values that commands set; without those that are ours as well.
  void take_command(std::vector<Value> values);

  // The value that NCCL takes: for each variable the command beats the env, and that the file.
  [[nodiscard]] const Value* find(std::string_view variable) const;
  [[nodiscard]] const Value* find_in_env(std::string_view variable) const;
  // Returns what the container has without its command; null for nothing.
  [[nodiscard]] const Value* find_given(std::string_view variable) const;
  // The values that count: each variable once.
  [[nodiscard]] std::vector<const Value*> effective() const;
};

// The annotation nccl-env.io/status, written at CREATE; `form` is what the pod's spec shows of it.
struct StatusNote {
  std::string policy;
  std::int64_t generation = 0;
  std::optional<Exposure> exposure;
  std::string form;
  std::string fallback;  // why nccl.conf takes the place of EnvFile: a reason's name; "" where it does not
};

// The annotation nccl-env.io/node, written at Binding.
struct NodeNote {
  std::string node;
  std::string table;  // time of the table; "" if it had none
  std::string boot;   // of its node, when that table was written; "" if it is not known
  std::string policy;
  std::int64_t generation = 0;
  std::string reason;  // why no policy gave values: a reason's name; "" where one did
  TextsByName host;    // why a variable is left out: a reason's name
  TextsByName sub_interface;
  TextsByName own_network;  // of the socket interface alone, for pods with a network of their own
  std::string env_file;     // why nothing that comes by EnvFile is seen: a reason's name; "" if it is
};

struct PodOwner {
  std::string kind;
  std::string name;
  bool batch = false;  // of Kubernetes' own group of Jobs; other groups have a kind Job, too
};

struct PodRecord {
  std::string name_space;
  std::string name;
  std::string node;   // "": not bound
  std::string phase;  // Pending, Running, …; "" if the pod does not say
  std::optional<Timestamp> created;
  bool ending = false;  // it is being deleted
  // "container c is in CrashLoopBackOff (restarts: 7, exit code 139)", "container c has failed (OOMKilled,
  // exit code 137)"; "" if nothing is wrong with them.
  std::string trouble;
  bool has_log = false;  // a container of the user's has run
  std::string starting;  // of a pod in phase Pending, what a container waits for: "ContainerCreating"
  bool host_network = false;
  bool no_index = false;              // it reads the text without an index
  std::vector<std::string> networks;  // secondary ones that it asks for: "ml/rail-0"
  std::string unscheduled;            // what the scheduler says of a pod that it could not place
  std::vector<std::string> gates;     // scheduling gates
  TextsByName labels;
  TextsByName annotations;       // none of nccl-env's
  std::vector<PodOwner> owners;  // the controller first
  std::optional<StatusNote> status;
  std::optional<NodeNote> bound;
  std::vector<std::string> unreadable;  // our annotations whose text nccl-env did not write
  std::vector<GivenContainer> containers;
  std::optional<GivenFile> file;  // absent where no container reads one of ours
  // A clause that tells to whom the Foreign values belong: "they are node n1's, and the pod is on n2"; "" if
  // there are none.
  std::string foreign;

  // True for a status of another version, or one that nccl-env never writes.
  [[nodiscard]] bool has_unreadable_status() const;
  // True if by its status the pod finds the node's values itself, so that none of them is missing at Binding.
  [[nodiscard]] bool starts_itself() const;
  // "train-0 -n ml", for a command that people copy; "NAME" where the name is none that an API server gives.
  [[nodiscard]] std::string argument() const;
  // Says where to read on about its trouble.
  [[nodiscard]] std::string trouble_remedy() const;
  [[nodiscard]] bool is_finished() const;  // it has succeeded or failed
  // True if a container reads an annotation that Binding writes, by its env or by a file.
  [[nodiscard]] bool reads_node() const;
  // Returns the container that runs NCCL, as far as the pod tells: those that the status names come first,
  // then main containers before init containers, then those that request an extended resource. Returns
  // nullptr for a pod without containers.
  [[nodiscard]] const GivenContainer* main_container() const;
  // Why Binding gave no value for this variable: a reason's name, "" if it says nothing.
  [[nodiscard]] std::string reason_at_binding(std::string_view variable) const;
  // Says why this value is missing: a reason's name from the Binding or from the init container, whichever
  // should have given the value; "" if it says nothing.
  [[nodiscard]] std::string reason_missing(const Value& value) const;
};

// `object` is a Pod as the API server gives it, which is untrusted; `pod` was read from the same text. A pod
// that admission makes of a template may have no name.
PodRecord read_pod_record(const Pod& pod, const nlohmann::json& object);

// Returns what the pod's commands set for certain on all ranks of its object: `mpirun -x`.
std::vector<Value> given_to_ranks(const Pod& pod);
// Gives them to the containers that serve ranks.
void give_to_ranks(const Pod& pod, const std::vector<Value>& given, PodRecord& into);

// Returns the values that were injected into one container or into all (""), by container and name, and
// beside them its users' own (State::Users). `object` is the pod as the API server gives it. Fails for a pod
// without the status annotation, unless it has values that are not its own.
Result<std::vector<Value>> injected_values(const Pod& pod, std::string_view container,
                                           const nlohmann::json& object);

// Returns a clause such as "GID index 3 is gone from mlx5_1 (25.11.1.2 has 5 since 2026-…)". It names the
// Active ports of the pod's list on which its node's table has no usable row at the index that the Binding
// gave. Returns "" if there is no such port, if the list or the index is not known, if the index did not come
// from the node, or if the table is another node's.
std::string lost_index(const PodRecord& record, const NodeFabric& table);
// Returns a clause such as "list mlx5_1,mlx5_2 takes mlx5_10, too": devices of the node that the pod's list
// of ours takes without naming them, because it has no '=' and they were not there at the Binding. "" if
// there are none, or the table is another node's.
std::string inexact_list(const PodRecord& record, const NodeFabric& table);
inline constexpr const char* kInexactRemedy =
    "Create the pod anew once its job allows it: then its list begins with '='. Or take the further devices "
    "off "
    "the node.";

}  // namespace nccl_env
