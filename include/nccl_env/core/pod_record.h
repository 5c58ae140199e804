// SPDX-License-Identifier: Apache-2.0
// A pod of the cluster, reduced to what explain tells of it: what each container was given, where the pod is,
// whose it is. Everything is of the pod's own text, and that is as hostile as any other.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/base/result.h"
#include "nccl_env/core/policy.h"
#include "nccl_env/core/review.h"

namespace nccl_env {

// A variable of NCCL or its like, as a container has it.
struct GivenValue {
  enum class From {
    User,
    Policy,  // a constant that the status lists
    Node,    // a fieldRef to an annotation that Binding writes
  };
  enum class State {
    Known,
    Missing,    // its annotation is not there: the container reads ""
    Elsewhere,  // the user's valueFrom, or $(…): not in the pod
  };
  std::string name;
  std::string value;  // as the kubelet resolves it; "" unless Known
  From from = From::User;
  State state = State::Known;
};
std::string_view to_string(GivenValue::From from);  // User, Policy, Node

struct GivenContainer {
  std::string name;
  bool init = false;
  bool in_status = false;          // the status names it
  bool env_from = false;           // it may have variables that are not seen here
  std::vector<GivenValue> values;  // in the order of its env; of two entries of one name the last
  std::map<std::string, std::string, std::less<>> omitted;  // by the status: variable -> reason
  std::vector<std::string> resources;                       // extended resources that it requests

  [[nodiscard]] const GivenValue* find(std::string_view variable) const;
};

// The annotation nccl-env.io/status, written at CREATE.
struct StatusNote {
  std::string policy;
  std::int64_t generation = 0;
  std::optional<Exposure> exposure;
  std::string form;
};

// The annotation nccl-env.io/node, written at Binding.
struct NodeNote {
  std::string node;
  std::string table;  // time of the table; "" if it had none
  std::string policy;
  std::int64_t generation = 0;
  using Omitted = std::map<std::string, std::string, std::less<>>;  // variable -> reason
  Omitted host;
  Omitted sub_interface;
};

struct PodOwner {
  std::string kind;
  std::string name;
};

struct PodRecord {
  std::string name_space;
  std::string name;
  std::string node;     // "": not bound
  std::string phase;    // Pending, Running, …; "" if the pod does not say
  bool ending = false;  // it is being deleted
  bool host_network = false;
  std::string unscheduled;         // what the scheduler says of a pod that it could not place
  std::vector<std::string> gates;  // scheduling gates
  std::map<std::string, std::string, std::less<>> labels;
  std::map<std::string, std::string, std::less<>> annotations;  // none of nccl-env's
  std::vector<PodOwner> owners;                                 // the controller first
  std::optional<StatusNote> status;
  std::optional<NodeNote> bound;
  std::vector<std::string> unreadable;  // annotations of ours whose text is none of ours
  std::vector<GivenContainer> containers;

  // A container reads an annotation that Binding writes.
  [[nodiscard]] bool reads_node() const;
  // The one that runs NCCL, as far as the pod tells: of those that the status names the first that requests
  // an extended resource, before others, main ones before init containers; nullptr for a pod without any.
  [[nodiscard]] const GivenContainer* main_container() const;
  // Why Binding gave no value for this variable: a reason's name, "" if it says nothing.
  [[nodiscard]] std::string reason_at_binding(std::string_view variable) const;
};

// `pod` is of the same text as `object`, a Pod as the API server gives it. Fails for one without a name.
Result<PodRecord> read_pod_record(const Pod& pod, const nlohmann::json& object);

}  // namespace nccl_env
