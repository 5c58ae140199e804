// SPDX-License-Identifier: Apache-2.0
// Reading a policy from the text of its spec, and what its findings are expected to be.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"
#include "support/golden.h"

namespace nccl_env {

inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << line_of(finding);
}

inline nlohmann::json object_with(const std::string& spec_text) {
  nlohmann::json spec = nlohmann::json::parse(spec_text);
  if (!spec.contains("match")) spec["match"] = {{"hostDevices", true}};
  return {{"apiVersion", "nccl-env.io/v1alpha1"},
          {"kind", "NcclPolicy"},
          {"metadata", {{"name", "p"}}},
          {"spec", spec}};
}

inline PolicyReading read(const std::string& spec, bool allow_code_paths = false) {
  return read_policy(object_with(spec), {.allow_code_paths = allow_code_paths});
}

inline auto finding(Severity severity, const std::string& path) {
  return testing::AllOf(testing::Field(&Finding::severity, severity),
                        testing::Field(&Finding::subject, testing::Field(&Subject::path, path)));
}

inline auto error(const std::string& path) {
  return finding(Severity::Error, path);
}

inline auto warning(const std::string& path) {
  return finding(Severity::Warning, path);
}

// The findings on a policy, whose sentences stand in the golden.
inline std::vector<Finding> findings_of(const nlohmann::json& object) {
  std::vector<Finding> findings = read_policy(object, {}).findings;
  const bool usual = object.contains("spec") && object == object_with(object["spec"].dump());
  std::string title = usual ? object["spec"].dump() : object.dump(), text;
  if (title.size() > 400) title = title.substr(0, 60) + "... of " + std::to_string(title.size()) + " bytes";
  for (const Finding& some : findings) text += line_of(some) + "\n";
  tests::expect_golden(title, text);
  return findings;
}

inline void expect_finding(Severity severity, const std::string& spec, const std::string& path) {
  EXPECT_EQ(read(spec).policy.has_value(), severity == Severity::Warning) << spec;
  EXPECT_THAT(findings_of(object_with(spec)), testing::ElementsAre(finding(severity, path))) << spec;
}
inline void expect_error(const std::string& spec, const std::string& path) {
  expect_finding(Severity::Error, spec, path);
}
inline void expect_warning(const std::string& spec, const std::string& path) {
  expect_finding(Severity::Warning, spec, path);
}

inline void expect_clean(const std::string& spec) {
  const auto reading = read(spec);
  EXPECT_TRUE(reading.policy) << spec;
  EXPECT_THAT(reading.findings, testing::IsEmpty()) << spec;
}

}  // namespace nccl_env
