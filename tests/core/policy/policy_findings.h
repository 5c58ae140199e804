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

inline auto error(const std::string& path) {
  return testing::AllOf(testing::Field(&Finding::severity, Severity::Error),
                        testing::Field(&Finding::subject, testing::Field(&Subject::path, path)));
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

// Specs of one field, with each of the values.
inline std::vector<std::string> each(const std::string& field, const std::vector<std::string>& values) {
  std::vector<std::string> specs;
  for (const std::string& value : values) specs.push_back("{\"" + field + "\": " + value + "}");
  return specs;
}

// Each spec has one finding of the severity; the golden holds its place and its words.
inline void expect_finding(Severity severity, const std::vector<std::string>& specs) {
  for (const std::string& spec : specs) {
    EXPECT_EQ(read(spec).policy.has_value(), severity == Severity::Warning) << spec;
    EXPECT_THAT(findings_of(object_with(spec)),
                testing::ElementsAre(testing::Field(&Finding::severity, severity)))
        << spec;
  }
}
inline void refuses(const std::vector<std::string>& specs) {
  expect_finding(Severity::Error, specs);
}
inline void warns_of(const std::vector<std::string>& specs) {
  expect_finding(Severity::Warning, specs);
}

inline void takes(const std::vector<std::string>& specs) {
  for (const std::string& spec : specs) {
    const auto reading = read(spec);
    EXPECT_TRUE(reading.policy) << spec;
    EXPECT_THAT(reading.findings, testing::IsEmpty()) << spec;
  }
}

}  // namespace nccl_env
