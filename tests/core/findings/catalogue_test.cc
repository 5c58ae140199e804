// SPDX-License-Identifier: Apache-2.0
// The catalogue: each code has its words, and the page that it names has the code.
#include "nccl_env/core/findings/catalogue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/places.h"

namespace nccl_env::catalogue_test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(tests::in_source("/" + path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the page, and the section behind its "#", if any.
std::pair<std::string, std::string> split(std::string_view document) {
  const std::size_t mark = document.find('#');
  return {std::string(document.substr(0, mark)),
          mark == std::string_view::npos ? "" : std::string(document.substr(mark + 1))};
}

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

TEST(Catalogue, EachCodeHasItsWordsAndItsPageNamesIt) {
  std::set<std::string_view> names;
  for (const Code code : all_codes()) {
    const Named& words = words_of(code);
    EXPECT_TRUE(names.insert(words.name).second) << words.name;
    EXPECT_EQ(parse_code(words.name), code);
    EXPECT_TRUE(words.meaning.ends_with(".")) << words.name;
    EXPECT_TRUE(words.remedy.empty() || words.remedy.ends_with(".")) << words.name;
    const auto [page, section] = split(words.document);
    const std::string name(words.name);
    EXPECT_THAT(read(page), HasSubstr(section.empty() ? "`" + name + "`" : "\n## " + name + "\n")) << page;
    if (!section.empty()) {
      EXPECT_TRUE(std::ranges::equal(section, name, {}, {}, lower)) << section;
    }
  }
  EXPECT_FALSE(parse_code("NoSuchCode"));
}

TEST(Catalogue, HasTheAlertsOfTheRulesInTheirOrder) {
  const std::string rules = read("manifests/components/monitoring/rules.yaml");
  const std::regex alert("- alert: (\\w+)");
  std::vector<std::string> there;
  for (std::sregex_iterator found(rules.begin(), rules.end(), alert), end; found != end; ++found)
    there.push_back((*found)[1]);
  std::vector<std::string> known;
  for (const Code code : all_codes()) {
    if (words_of(code).document.starts_with("docs/operate/runbooks.md")) known.emplace_back(to_string(code));
  }
  EXPECT_THAT(known, ElementsAreArray(there));
}

}  // namespace
}  // namespace nccl_env::catalogue_test
