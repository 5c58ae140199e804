// SPDX-License-Identifier: Apache-2.0
// Reading a policy from the text of its spec, and what its findings are expected to be.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/policy.h"
#include "nccl_env/core/policy/reader.h"

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

inline auto finding(Severity severity, const std::string& path, const std::string& part) {
  return testing::AllOf(testing::Field(&Finding::severity, severity),
                        testing::Field(&Finding::subject, testing::Field(&Subject::path, path)),
                        testing::Field(&Finding::sentence, testing::HasSubstr(part)));
}

inline auto error(const std::string& path, const std::string& part = "") {
  return finding(Severity::Error, path, part);
}

inline auto warning(const std::string& path, const std::string& part = "") {
  return finding(Severity::Warning, path, part);
}

inline void expect_error(const std::string& spec, const std::string& path, const std::string& part = "") {
  const auto reading = read(spec);
  EXPECT_FALSE(reading.policy) << spec;
  EXPECT_THAT(reading.findings, testing::ElementsAre(error(path, part))) << spec;
}

inline void expect_warning(const std::string& spec, const std::string& path, const std::string& part = "") {
  const auto reading = read(spec);
  EXPECT_TRUE(reading.policy) << spec;
  EXPECT_THAT(reading.findings, testing::ElementsAre(warning(path, part))) << spec;
}

inline void expect_clean(const std::string& spec) {
  const auto reading = read(spec);
  EXPECT_TRUE(reading.policy) << spec;
  EXPECT_THAT(reading.findings, testing::IsEmpty()) << spec;
}

}  // namespace nccl_env
