// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/described/kinds.h"

#include <gtest/gtest.h>

namespace nccl_env::kinds_test {

struct Sample {
  int number = 0;
  std::optional<bool> flag;
  std::optional<bool> other;
  std::optional<std::string> text;
};
struct Twice {
  int number = 0;
  std::optional<bool> flag;
  std::optional<bool> other;
};

}  // namespace nccl_env::kinds_test

namespace nccl_env::described {

using kinds_test::Sample;
using kinds_test::Twice;

template <>
inline constexpr auto fields_of<Sample> = std::tuple{Field{"number", &Sample::number, Int{1, 9}, "A number."},
                                                     Field{"flag", &Sample::flag, Bool{}, "A flag."},
                                                     Field{"other", &Sample::other, Bool{}, "Another."}};
template <>
inline constexpr auto fields_of<Twice> = std::tuple{
    Field{"number", &Twice::number, Int{1, 9}, "A number."}, Field{"flag", &Twice::flag, Bool{}, "A flag."},
    Field{"other", &Twice::flag, Bool{}, "Another, of the same member."}};

}  // namespace nccl_env::described

namespace nccl_env::kinds_test {
namespace {

TEST(Described, AMemberThatIsForgottenOrStandsTwiceIsNoticed) {
  EXPECT_FALSE(described::is_described_once<Sample>());
  EXPECT_TRUE(described::is_described_once<Sample>(1)) << "the text stands elsewhere";
  EXPECT_FALSE(described::is_described_once<Sample>(2));
  EXPECT_EQ(described::count_members<Twice>(), 3U);
  EXPECT_FALSE(described::is_described_once<Twice>());
}

TEST(Described, FieldsStandInOrder) {
  std::string names;
  described::each_field<Sample>([&](const auto& field) { names.append(field.name).append(" "); });
  EXPECT_EQ(names, "number flag other ");
}

}  // namespace
}  // namespace nccl_env::kinds_test
