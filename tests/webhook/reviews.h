// SPDX-License-Identifier: Apache-2.0
// Reviews of one pod and its Binding, and what becomes of their objects.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "nccl_env/core/engines/nccl/conf.h"

namespace nccl_env::tests {

using Json = nlohmann::json;

// Host network, one container that asks for rdma/hca.
inline Json pod_review(const std::string& name_space = "ml") {
  Json review = Json::parse(R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "b1", "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"}, "name": "p", "operation": "CREATE",
    "dryRun": false, "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {
      "hostNetwork": true, "containers": [
        {"name": "c", "image": "example.com/x", "resources": {"limits": {"rdma/hca": "1"}}}]}}}})");
  review["request"]["namespace"] = review["request"]["object"]["metadata"]["namespace"] = name_space;
  return review;
}

// NCCL_IB_HCA in the text that a Binding brings to hostNetwork pods; "" where it brings none.
inline std::string bound_list(const Json& annotations) {
  if (!annotations.is_object()) return {};
  const ConfText text = read_conf(annotations.value("hostnetwork.nccl-env.io/nccl.conf", ""));
  const auto list = text.values.find("NCCL_IB_HCA");
  return list == text.values.end() ? std::string() : list->second;
}

inline Json binding_review(const std::string& node = "node-a", const std::string& uid = "pod-uid") {
  Json review = Json::parse(R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "b2", "kind": {"group": "", "version": "v1", "kind": "Binding"},
    "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "binding", "name": "p",
    "namespace": "ml", "operation": "CREATE", "dryRun": false, "object": {"kind": "Binding",
      "apiVersion": "v1", "metadata": {"name": "p", "namespace": "ml"}, "target": {"kind": "Node"}}}})");
  review["request"]["object"]["metadata"]["uid"] = uid;
  review["request"]["object"]["target"]["name"] = node;
  return review;
}

inline std::string base64_decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    const auto value = digits.find(c);
    if (value == std::string::npos) break;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

inline Json variable_entry(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

// The object of a review after the response's patch.
inline Json patched(const Json& review, const Json& response) {
  const Json& object = review["request"]["object"];
  if (!response.contains("patch")) return object;
  return object.patch(Json::parse(base64_decoded(response["patch"])));
}

}  // namespace nccl_env::tests
