// SPDX-License-Identifier: Apache-2.0
// JSON patches (RFC 6902) and the admission response, emitted directly as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/core/decide/binding.h"
#include "nccl_env/core/decide/plan.h"

namespace nccl_env {

// The patch that carries out a plan on the pod it was made for: "" if nothing changes. Applies to exactly
// that object: parents that are absent are added whole, keys are escaped (RFC 6901).
// `binding` is given for a pod created with spec.nodeName.
std::string render_pod_patch(const Pod& pod, const Plan& plan, const BindingPlan* binding);
// The same for a Binding: touches annotations only.
std::string render_binding_patch(const Binding& binding, const BindingPlan& plan);

struct AdmissionResponse {
  std::string_view uid;
  bool allowed = true;
  int code = 0;         // of a refusal, e.g. 403
  std::string message;  // of a refusal
  std::string patch;    // RFC 6902 text; "" for none
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> audit;  // annotation name without prefix -> value
};
// The AdmissionReview document, patch in base64.
std::string render_response(const AdmissionResponse& response);

}  // namespace nccl_env
