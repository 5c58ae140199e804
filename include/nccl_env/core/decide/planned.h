// SPDX-License-Identifier: Apache-2.0
// The words in which decisions are told; plan.h draws which decision makes which of them. A Plan owns its
// words and refers to nothing.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/text/timestamp.h"

namespace nccl_env {

// A file of ours at one place of a container.
struct FileMount {
  std::string path;
  std::string_view file;  // in the volume

  auto operator<=>(const FileMount&) const = default;
};

// Values that copies share until one of them is edited.
class SharedValues {
 public:
  SharedValues() = default;
  SharedValues(std::vector<Value> values)
      : values_(std::make_shared<std::vector<Value>>(std::move(values))) {}

  operator const std::vector<Value>&() const { return get(); }
  [[nodiscard]] auto begin() const { return get().begin(); }
  [[nodiscard]] auto end() const { return get().end(); }
  [[nodiscard]] std::size_t size() const { return get().size(); }
  [[nodiscard]] bool empty() const { return get().empty(); }

  std::vector<Value>& edit() {
    if (!values_ || values_.use_count() > 1) values_ = std::make_shared<std::vector<Value>>(get());
    return *values_;
  }

 private:
  [[nodiscard]] const std::vector<Value>& get() const {
    static const std::vector<Value> kNone;
    return values_ ? *values_ : kNone;
  }

  std::shared_ptr<std::vector<Value>> values_;
};

struct Given;

struct ContainerPlan {
  std::size_t position = 0;  // in Pod::containers
  bool in_scope = false;     // false: only cleaned of entries of ours that do not belong there
  SharedValues set;          // and nccl.conf itself, where it is mounted
  SharedValues omitted;
  std::shared_ptr<const Given> given;  // the two as text where it gets all, else null
  std::vector<std::size_t> stale;      // positions in its env of entries of ours that this plan does not want
  bool mounts_conf = false;            // nccl.conf is mounted in it, at all of conf_file::kPaths
  bool names_conf = false;             // at all of kNamedPaths instead, and NCCL_CONF_FILE names it
  std::vector<const Engine*> engine_files;  // engines whose file is mounted in it
  std::vector<FileMount> missing_mounts;    // those of all these places at which nothing is mounted yet
  std::vector<std::size_t> stale_mounts;    // positions in its volumeMounts, as `stale`
};

// A text, and the same as it stands between the quotes of a JSON string.
struct EscapedText {
  std::string text;
  std::string escaped;

  EscapedText() = default;
  explicit EscapedText(std::string_view of) { append(of); }
  void append(std::string_view part);
  void append(const EscapedText& part) {
    text += part.text;
    escaped += part.escaped;
  }
};

// How node values reach the pod.
enum class Form { Binding, Constants, ContainerStart };
std::string_view to_string(Form form);

// Change to one item of a list in the pod's spec.
struct ListChange {
  enum class Kind { None, Add, Replace, Remove } kind = Kind::None;
  std::size_t index = 0;  // Add: the item that it is put before; the length of the list: it comes last
  std::string item;       // JSON: of Add and Replace
};

inline constexpr std::size_t kMostWarnings = 3;

// The plan for a pod at CREATE. It depends only on the pod, the policy, the options and the requests of the
// pod's claims, which do not change. So pods of equal templates get equal plans.
struct Plan {
  bool inject = false;
  std::optional<Reason> reason;  // why not; also DryRun, where `containers` holds what would be set
  std::string detail;
  std::string policy;
  std::int64_t generation = 0;
  std::string value_hash;  // the policy's
  Exposure exposure = Exposure::PodOwned;
  bool no_rail = false;   // as in PodMatch: on a RoCE fabric the pod reaches nothing
  std::string few_rails;  // a sentence where its networks bring fewer rails than are expected; else ""
  Form form = Form::Binding;
  std::optional<Reason> fallback;  // why nccl.conf takes the place of the policy's EnvFile
  std::vector<ContainerPlan> containers;
  SharedValues file;  // what nccl.conf is to hold: constants (Policy), the rest (Node or Pod)
  // Not injected: `cleared`, `volume` and `resolver` take away what an earlier review of ours added.
  std::vector<ContainerPlan> cleared;
  ListChange volume;                  // of conf_file::kVolume in spec.volumes
  ListChange resolver;                // of conf_file::kResolver in spec.initContainers
  std::vector<std::string> warnings;  // at most kMostWarnings
  std::bitset<kMostWarnings> judged;  // those of them that a finding of the pod's explanation says, too
  std::string status;                 // text of the annotation; "" if not injected, except with DryRun
  std::string escaped_status;         // as EscapedText has it; "" where the status is
};

// Returns the variable of NCCL's from which this one of another engine is made; else the name itself.
std::string_view followed(std::string_view variable);

// Values of a node for its pods of one exposure.
struct NodeValues {
  std::string node;
  std::map<std::string, std::string, std::less<>> set;  // variable -> value, never empty
  // Variables of other engines. Where one is not here, the reason is that of the variable of NCCL's which it
  // follows (followed()), unless `omitted` names it.
  std::map<std::string, std::string, std::less<>> engines;
  std::vector<EnginePort> ports;  // of the list, where the node gives it
  // NCCL_IB_HCA without its '=', where that names the same ports: for env, whose other readers know no '='.
  std::optional<std::string> plain_hcas;
  bool only_ipv6 = false;      // of all RoCE ports, listed or not: the family is right with any list
  std::vector<Value> omitted;  // variables the policy wants and the node cannot give
  std::map<std::string, std::string, std::less<>> why;  // of varying constants: the variant that gives it
  std::optional<Value> deny;                            // with the first reason for which Deny holds pods
  std::vector<std::string> notes;                       // sentences for people
  std::optional<Value> short_list;                      // why the list that is set lacks ports of the fabric
  std::optional<Timestamp> valid_until;  // the answer may change then, table and policy unchanged

  void leave_out(Value value);
  void refuse(const Value& value);  // for its reason, if Deny holds pods for that
  // Returns the value, also of another engine's variable; null if there is none.
  [[nodiscard]] const std::string* find(std::string_view variable) const;
  // Returns why there is none; null if nothing was wanted.
  [[nodiscard]] const Value* omission(std::string_view variable) const;
  // Returns the value as EnvFile has it; "" if there is none.
  [[nodiscard]] std::string_view env_text(std::string_view variable) const;
};

// The init container that writes nccl.conf in a pod with devices that only the pod sees: the agent's image,
// and the quantities that are both its requests and its limits. They are in Kubernetes' form and have been
// checked. "" stands for the quantity of the container that it serves, so that a LimitRange, quota or QoS
// class that accepts that container accepts this one, too.
struct Resolver {
  std::string image;
  std::string cpu;
  std::string memory;
  std::string ephemeral_storage;
};

}  // namespace nccl_env
