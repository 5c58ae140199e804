// SPDX-License-Identifier: Apache-2.0
// The schema of a CustomResourceDefinition, as the API server applies it: what it refuses, what it fills in.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace nccl_env::tests {

// openAPIV3Schema of manifests/base/crds/NAME.yaml.
nlohmann::json crd_schema(const std::string& name);

// "spec.mode: …" for everything in `value` that the schema does not allow, fields that it does not have among
// them. Rules in CEL are not run; the end-to-end tests have a real API server for them.
std::vector<std::string> violations(const nlohmann::json& schema, const nlohmann::json& value,
                                    const std::string& path = "");

// The value with the schema's defaults.
nlohmann::json with_defaults(const nlohmann::json& schema, nlohmann::json value);

// The object with `value` at this place.
nlohmann::json put(nlohmann::json object, const nlohmann::json::json_pointer& at, nlohmann::json value);

using Words = std::set<std::string>;

}  // namespace nccl_env::tests
