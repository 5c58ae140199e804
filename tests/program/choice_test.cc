// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/choice.h"

#include <gtest/gtest.h>

namespace nccl_env::program::choice_test {
namespace {

TEST(Choice, ANearMissNamesTheWordThatItIsNear) {
  const CLI::Validator form = one_of({"text", "json", "yaml"});
  EXPECT_EQ(form("json"), "");
  EXPECT_EQ(form.get_description(), "{text,json,yaml}");
  for (const char* word : {"yml", "YML", "YAML", "Yaml", "yamll"})
    EXPECT_EQ(form(word), std::string(word) + " not in {text,json,yaml}: do you mean yaml?");
  EXPECT_EQ(form("JSON"), "JSON not in {text,json,yaml}: do you mean json?");
  EXPECT_EQ(form("txt"), "txt not in {text,json,yaml}: do you mean text?");
  for (const char* word : {"", "x", "xml", "wide"})
    EXPECT_EQ(form(word), std::string(word) + " not in {text,json,yaml}");
}

}  // namespace
}  // namespace nccl_env::program::choice_test
