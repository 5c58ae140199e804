// SPDX-License-Identifier: Apache-2.0
// JSON patches (RFC 6902) and the admission response, emitted directly as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env {

// Limits of a patch. For each operation on an item, kube-apiserver's library copies the item's list,
// which takes it 4.5 s for 20 000 operations; the API server limits the patches of clients, not those of
// webhooks. 25 variables in each of 40 containers are 1 000 operations; 256 KiB is what all annotations of a
// pod may have.
inline constexpr std::size_t kMaxPatchOperations = 1000;
inline constexpr std::size_t kMaxPatchBytes = 256u << 10;

struct Patch {
  std::string text;        // RFC 6902; "" if nothing changes, or if it is too large
  bool too_large = false;  // for the two bounds above
};

// The patch that carries out a plan on the pod it was made for. Applies to exactly that object: parents that
// are absent are added whole, keys are escaped (RFC 6901), a list with many entries to remove is written
// anew. Reads the document that the pod was read from. `binding` is given for a pod created with
// spec.nodeName. A pod that is not injected loses annotations of ours, and nothing else.
Patch render_pod_patch(const Pod& pod, const Plan& plan, const BindingPlan* binding);
// "Its patch would have more than 1000 operations or 256 KiB."
std::string patch_excess();
// Returns the plan, or a skip with BudgetExceeded if its patch is too large. The webhook answers with the
// result.
Plan within_patch_bounds(const Pod& pod, Plan plan);
// The patch for a Binding: it touches annotations only.
Patch render_binding_patch(const Binding& binding, const BindingPlan& plan);

// The same in base64 for a Binding with metadata and without annotations, as schedulers send them; "" where
// it is too large.
std::string encoded_binding_patch(const BindingPlan& plan);
// The audit annotation that says what the node gives, as JSON.
std::string encoded_node(const BindingPlan& plan);

struct AdmissionResponse {
  std::string_view uid;
  bool allowed = true;
  int code = 0;                         // of a refusal, e.g. 403
  std::string message;                  // of a refusal
  std::string patch;                    // RFC 6902 text; "" for none
  std::string_view encoded_patch = {};  // in place of `patch`: in base64 already
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string_view, std::string_view>>
      audit;                           // annotation name without prefix -> value
  std::string_view node_in_json = {};  // the annotation "node" behind them, as encoded_node() returns it
  std::string_view status = {};        // behind those; of a pod, as its plan has it
  std::string_view escaped_status = {};
};
// The AdmissionReview document, patch in base64.
std::string render_response(const AdmissionResponse& response);

}  // namespace nccl_env
