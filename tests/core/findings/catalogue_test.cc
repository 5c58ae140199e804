// SPDX-License-Identifier: Apache-2.0
// The catalogue: each code has its words, and the page that it names has the code.
#include "nccl_env/core/findings/catalogue.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "support/places.h"

namespace nccl_env::catalogue_test {
namespace {

using ::testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(tests::in_source("/" + path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Catalogue, EachCodeHasItsWordsAndItsPageNamesIt) {
  std::set<std::string_view> names;
  for (const Code code : all_codes()) {
    const Named& words = words_of(code);
    EXPECT_TRUE(names.insert(words.name).second) << words.name;
    EXPECT_TRUE(words.meaning.ends_with(".")) << words.name;
    EXPECT_TRUE(words.remedy.empty() || words.remedy.ends_with(".")) << words.name;
    const std::string page(words.document);
    EXPECT_THAT(read(page), HasSubstr("`" + std::string(words.name) + "`")) << page;
  }
}

}  // namespace
}  // namespace nccl_env::catalogue_test
