// SPDX-License-Identifier: Apache-2.0
// The env of one container: the entries that are ours, and what the user's own entries rule out. Ours come
// from an earlier review (reinvocation, or a copied manifest): references to our file, and what the status
// annotation lists: literals that still have our value, and references to the file that another webhook
// emptied.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/decide/status.h"
#include "nccl_env/core/decide/value.h"
#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

class OwnEntries {
 public:
  explicit OwnEntries(const Pod& pod);

  // `literals` are the values that this plan would set as literals, by name.
  using Literals = std::vector<std::pair<std::string_view, std::string_view>>;
  [[nodiscard]] bool owns(const Container& container, const EnvEntry& entry, const Literals& literals) const {
    if (is_first_ && entry.file_key.empty()) return false;  // nearly all entries of nearly all pods
    return owns_listed(container, entry, literals);
  }
  // True if the status lists nothing, so that no literal is ours.
  [[nodiscard]] bool is_first() const { return is_first_; }
  // True if a reference to our file came back without its source, now or in an earlier review of this pod.
  [[nodiscard]] bool lost_reference(const Pod& pod) const;

 private:
  [[nodiscard]] bool owns_listed(const Container& container, const EnvEntry& entry,
                                 const Literals& literals) const;
  [[nodiscard]] bool is_lost(const Container& container, const EnvEntry& entry) const;

  StatusNames listed_;
  bool is_first_;
};

// True for a fileKeyRef to our file.
bool is_own_reference(const EnvEntry& entry);

// A variable of the container's env, or a part of its command, by which somebody has decided about a group.
struct Rival {
  std::string_view name;
  bool in_command = false;
};
// The first one of these entries of its env, else of its command.
std::optional<Rival> find_rival(const EngineGroup& group, const std::vector<const EnvEntry*>& entries,
                                const std::vector<std::string_view>& arguments);

// Why the container may have a list of HCAs of its own that nobody sees here, and so an index is not given
// beside it by a file: its command may set NCCL_IB_HCA, or its envFrom or its own file could hold it. ""
// where none does.
std::string possible_list(const Container& container, const OwnEntries& own);

// Follows on why a container gets no nccl.conf, for a value that comes by it alone.
inline constexpr std::string_view kFileStaysAway =
    " So the webhook's nccl.conf, which alone would give it, stays away.";

// Variables that the user's own env of one container rules out. Refers to its constructor's arguments.
class UserEnv {
 public:
  UserEnv(const Container& container, const OwnEntries& own, const OwnEntries::Literals& literals);

  // The entries of its user's that NCCL or another engine may read, or whose names are nearly such.
  [[nodiscard]] const std::vector<const EnvEntry*>& entries() const { return noted_; }

  // Why the user's env, or a configuration file of the user's, keeps us from this variable. `constant`: its
  // value is the policy's, whatever ports there are.
  [[nodiscard]] std::optional<Value> objection(std::string_view name, bool constant) const;
  // Whether a file of ours may still be written, since it overrides nothing that the user may have elsewhere.
  static bool leaves_room_for_file(Reason reason);

  // True if nothing of the user's is in the way of a variable that NCCL or an engine may read.
  [[nodiscard]] bool is_free() const { return is_free_; }
  // True if the user pins an index: then NCCL reads nothing else of the GID group.
  [[nodiscard]] bool pins_index() const;
  // True if an index in a file of ours harms nothing although the container's env is to have none.
  [[nodiscard]] bool takes_index_by_file() const { return pins_index() || has_mooncake_index_; }

  // Where the user has a configuration file: its mount, or NCCL_CONF_FILE; "" if nowhere.
  [[nodiscard]] std::string_view conf() const { return conf_; }

 private:
  [[nodiscard]] const EnvEntry* last(std::string_view name) const;
  [[nodiscard]] bool may_set_list() const;
  [[nodiscard]] std::optional<Value> objection_of_group(std::string_view name) const;
  [[nodiscard]] bool is_vllms(std::string_view name) const;
  [[nodiscard]] const EnvEntry* find_group_member() const;
  [[nodiscard]] std::string_view find_disabling() const;
  [[nodiscard]] bool may_come_from_source(std::string_view name, bool constant) const;

  const Container& container_;
  const OwnEntries& own_;
  const OwnEntries::Literals& literals_;
  std::vector<const EnvEntry*> noted_;
  std::string_view conf_;
  std::string_view disabled_by_;            // the variable that keeps NCCL from verbs; "" if none does
  const EnvEntry* group_member_ = nullptr;  // what decides the GID; null if the user leaves it to us
  const EnvEntry* vllm_ = nullptr;          // names variables that vLLM writes
  // Mooncake's own; its TENT engine lets NCCL_IB_GID_INDEX in the environment override it.
  bool has_mooncake_index_ = false;
  bool recovers_ports_ = false;
  bool is_free_ = false;
  mutable std::optional<bool> sets_list_;  // by its command, which is read once
};

}  // namespace nccl_env
