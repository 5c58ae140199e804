// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/text/json_cost.h"

#include <gtest/gtest.h>

#include <string>

namespace nccl_env::json_cost_test {
namespace {

std::string list_of(const std::string& item, int count) {
  std::string list = "[" + item;
  for (int i = 1; i < count; ++i) list += ", " + item;
  return list + "]";
}

TEST(JsonCost, TakesAnyNumberOfPlainNumbersAndAFewOthers) {
  for (const char* plain :
       {"0", "-0", "007", "-9223372036854775808", "18446744073709551615", "0.30000000000000004", "8080"})
    EXPECT_FALSE(holds_costly_numbers(list_of(plain, 10000))) << plain;
  for (const std::string& other :
       {std::string("1e5"), std::string("-1E+5"), std::string("1e999"), std::string("-0e0"),
        std::string("1.7976931348623157e308"), std::string("12791764027086161391e287"), std::string(21, '1'),
        std::string(400, '0'), "0." + std::string(22, '0')}) {
    EXPECT_FALSE(holds_costly_numbers(list_of(other, kMostOtherNumbers))) << other;
    EXPECT_TRUE(holds_costly_numbers(list_of(other, kMostOtherNumbers + 1))) << other;
  }
}

TEST(JsonCost, FindsThemWhereverTheyStand) {
  for (const char* item : {R"({"a":1e5})", R"({"a" :	1e5})", R"(["x",1e5])", "[[-1e5]]", "[0e1,00e1]"}) {
    // At every place of a block.
    for (std::size_t blanks = 0; blanks < 70; ++blanks)
      EXPECT_TRUE(holds_costly_numbers(list_of(std::string(blanks, ' ') + item, kMostOtherNumbers + 1)))
          << item << blanks;
  }
}

TEST(JsonCost, DoesNotCountWhatStandsInStrings) {
  EXPECT_FALSE(holds_costly_numbers(list_of(R"("sleep 1e5, 1e5, [1e5:1e5")", 10000)));
  EXPECT_FALSE(holds_costly_numbers(list_of(R"("\" 1e5, \\")", 10000)));
  EXPECT_TRUE(holds_costly_numbers(R"(["\\", )" + list_of("1e5", kMostOtherNumbers + 1) + "]"));
}

TEST(JsonCost, TakesTextThatIsNotJson) {
  for (const std::string& text :
       {std::string(), std::string("\""), std::string("\"\\"), std::string(1000, 'e')})
    EXPECT_FALSE(holds_costly_numbers(text)) << text;
  EXPECT_FALSE(holds_costly_numbers(std::string(1 << 20, '1'))) << "one long number";
}

}  // namespace
}  // namespace nccl_env::json_cost_test
