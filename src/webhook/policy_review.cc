// SPDX-License-Identifier: Apache-2.0
#include "policy_review.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::webhook {
namespace {

constexpr int kUnprocessable = 422;

// An upper bound on the number of values in the text: each value but the first follows one of these
// characters. Characters within strings count, too.
std::size_t most_values(std::string_view text) {
  return 1 + static_cast<std::size_t>(std::count_if(text.begin(), text.end(),
                                                    [](char c) { return c == ',' || c == '[' || c == '{'; }));
}

}  // namespace

Result<std::string> answer_policy_review(std::string_view text, const PolicyOptions& options) {
  if (most_values(text) > kMaxPolicyValues)
    return Error{"holds more than " + std::to_string(kMaxPolicyValues) + " values, or commas"};
  const auto documents = parse_documents(text, "review.json");
  if (!documents) return documents.error();
  static const nlohmann::json kNone;
  const nlohmann::json& review = documents->empty() ? kNone : documents->front();
  if (member(review, "kind") != "AdmissionReview" || member(review, "apiVersion") != "admission.k8s.io/v1")
    return Error{"must be an AdmissionReview of admission.k8s.io/v1"};
  const nlohmann::json& request = member(review, "request");
  const nlohmann::json& uid = member(request, "uid");
  if (!uid.is_string() || uid.get_ref<const std::string&>().empty())
    return Error{"request.uid: must be a non-empty string"};
  AdmissionResponse response;
  response.uid = uid.get_ref<const std::string&>();  // a view into the document
  const nlohmann::json& object = member(request, "object");
  if (member(object, "kind") != "NcclPolicy") return render_response(response);
  for (const Finding& finding : read_policy(object, options).findings) {
    if (finding.severity == Severity::Warning) {
      response.warnings.push_back(line_of(finding));
      continue;
    }
    response.allowed = false;
    response.code = kUnprocessable;
    response.message += (response.message.empty() ? "" : "; ") + line_of(finding);
  }
  return render_response(response);
}

}  // namespace nccl_env::webhook
