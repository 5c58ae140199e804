// SPDX-License-Identifier: Apache-2.0
// The catalogue: each code has its words, and the page that it names has the code.
#include "nccl_env/core/findings/catalogue.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "support/places.h"

namespace nccl_env::catalogue_test {
namespace {

TEST(Catalogue, EachCodeHasItsWordsAndItsPageNamesIt) {
  std::set<std::string_view> names;
  for (const Code code : all_codes()) {
    const Named& words = words_of(code);
    EXPECT_TRUE(names.insert(words.name).second) << words.name;
    EXPECT_EQ(parse_code(words.name), code);
    EXPECT_TRUE(words.meaning.ends_with(".")) << words.name;
    EXPECT_TRUE(words.remedy.empty() || words.remedy.ends_with(".")) << words.name;
    std::ifstream file(tests::in_source("/" + std::string(words.document)));
    std::stringstream page;
    page << file.rdbuf();
    EXPECT_NE(page.str().find("`" + std::string(words.name) + "`"), std::string::npos)
        << words.document << " has nothing of " << words.name;
  }
  EXPECT_FALSE(parse_code("NoSuchCode"));
}

}  // namespace
}  // namespace nccl_env::catalogue_test
