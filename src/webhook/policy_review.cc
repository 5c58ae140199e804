// SPDX-License-Identifier: Apache-2.0
#include "policy_review.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/decide/patch.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::app {
namespace {

constexpr int kUnprocessable = 422;

}  // namespace

Result<std::string> answer_policy_review(std::string_view text, const PolicyOptions& options) {
  const auto review = nlohmann::json::parse(text, nullptr, false);
  if (review.is_discarded()) return Error{"not JSON"};
  if (!review.is_object() || review.value("kind", nlohmann::json()) != "AdmissionReview" ||
      review.value("apiVersion", nlohmann::json()) != "admission.k8s.io/v1") {
    return Error{"must be an AdmissionReview of admission.k8s.io/v1"};
  }
  const nlohmann::json request = review.value("request", nlohmann::json());
  const nlohmann::json uid = request.is_object() ? request.value("uid", nlohmann::json()) : nlohmann::json();
  if (!uid.is_string() || uid.get_ref<const std::string&>().empty())
    return Error{"request.uid: must be a non-empty string"};
  AdmissionResponse response;
  response.uid = uid.get_ref<const std::string&>();
  const nlohmann::json object = request.value("object", nlohmann::json());
  if (!object.is_object() || object.value("kind", nlohmann::json()) != "NcclPolicy")
    return render_response(response);
  for (const PolicyFinding& finding : read_policy(object, options).findings) {
    if (finding.severity == PolicyFinding::Severity::Warning) {
      response.warnings.push_back(finding.path + ": " + finding.message);
      continue;
    }
    response.allowed = false;
    response.code = kUnprocessable;
    response.message += (response.message.empty() ? "" : "; ") + finding.path + ": " + finding.message;
  }
  return render_response(response);
}

}  // namespace nccl_env::app
