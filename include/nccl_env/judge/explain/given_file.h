// SPDX-License-Identifier: Apache-2.0
// The files that a pod's containers read, as the pod shows them: an annotation's text, or the termination
// message of the init container that wrote them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/engines/engine.h"
#include "nccl_env/core/pod/review.h"

namespace nccl_env {

using TextsByName = std::map<std::string, std::string, std::less<>>;
// "" where there is none.
inline std::string find_text(const TextsByName& texts, std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// Reasons of the kubelet for a container that does not run (pkg/kubelet/images/types.go,
// pkg/kubelet/container/sync_result.go, pkg/kubelet/kuberuntime).
inline constexpr std::string_view kCrashes = "CrashLoopBackOff";
inline bool lacks_image(std::string_view reason) {
  constexpr std::array<std::string_view, 6> kReasons{"ErrImagePull",      "ImagePullBackOff",
                                                     "ErrImageNeverPull", "InvalidImageName",
                                                     "ImageInspectError", "RegistryUnavailable"};
  return std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}
inline bool is_stuck(std::string_view reason) {
  constexpr std::array<std::string_view, 4> kReasons{"CreateContainerError", "CreateContainerConfigError",
                                                     "RunContainerError", kCrashes};
  return lacks_image(reason) || std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

// nccl.conf, where a volume of ours holds it. One for all containers that read it.
struct GivenFile {
  enum class State {
    Known,
    Missing,  // the annotation of its text is empty or not there, and so is the file
    Waiting,  // the init container that writes it has not ended
    Failed,   // the init container ended with an error, or wrote no lines
    Foreign,  // nccl-env did not write the text, or the init container said nothing
  };
  bool at_start = false;  // written inside the pod; else the text of an annotation
  State state = State::Missing;
  bool stuck = false;  // Waiting, Failed: the pod does not start, and will not by itself
  // Waiting: a reason of the kubelet, or ""; Failed: what happened; Foreign: "" if there is a text
  std::string detail;
  TextsByName lines;
  TextsByName reasons;  // for values that the init container did not find: variable -> reason
  TextsByName details;  // for the same values: variable -> sentence
  bool cut = false;     // the init container said more than the kubelet keeps
  std::optional<std::int64_t> memory_lock = {};  // the limit that it had, in bytes; -1: none
  bool crashes = false;                          // Waiting: it is started again and again

  // True once the init container has said all that it wrote.
  [[nodiscard]] bool is_written() const;
  // True if all that it holds is known, also if that is nothing.
  [[nodiscard]] bool is_known() const { return is_written() && state != State::Foreign; }
};

// Returns nothing where no container reads a file of ours. `object` is the pod as the API server gives it,
// which is untrusted. A template has no status, so a file that is written inside the pod counts as not
// written yet.
std::optional<GivenFile> read_given_file(const Pod& pod, const nlohmann::json& object);
// Returns the file of another engine. `conf` is what read_given_file gave for the pod: all that the init
// container wrote.
GivenFile read_engine_file(const Pod& pod, const Engine& engine, const std::optional<GivenFile>& conf);

// True if our nccl.conf is mounted there.
bool mounts_file_at(const Container& container, std::string_view path);
// True if NCCL reads it: at its own place, or where NCCL_CONF_FILE names it.
bool mounts_given_file(const Container& container);

}  // namespace nccl_env
