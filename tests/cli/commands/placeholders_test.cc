// SPDX-License-Identifier: Apache-2.0
#include "commands/pod_preview.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nccl_env::placeholders_test {
namespace {

using Json = nlohmann::json;

TEST(Placeholders, AreFoundInNamesKeysAndQuantities) {
  EXPECT_EQ(cli::placeholder_in({{"metadata", {{"namespace", "${TEAM}"}}}}), "${TEAM}");
  EXPECT_EQ(cli::placeholder_in({{"limits", {{"${RESOURCE}", 1}}}}), "${RESOURCE}");
  EXPECT_EQ(cli::placeholder_in({{"image", "a:{{ .Values.tag }}"}}), "{{ .Values.tag }}");
  EXPECT_EQ(cli::placeholder_in(Json::array({"a", "${B"})), "${B");
  EXPECT_EQ(cli::placeholder_in({{"name", "a$b"}, {"count", 7}}), "");
}

TEST(Placeholders, WhatAShellExpandsIsNone) {
  EXPECT_EQ(cli::placeholder_in({{"args", {"echo ${HOME}"}}, {"env", {{{"value", "${X}"}}}}}), "");
  EXPECT_EQ(cli::placeholder_in({{"args", {"{{ .cmd }}"}}}), "{{ .cmd }}");
}

}  // namespace
}  // namespace nccl_env::placeholders_test
