// SPDX-License-Identifier: Apache-2.0
// The matchers that many tests name, for `using namespace nccl_env::tests`.
#pragma once

#include <gmock/gmock.h>

namespace nccl_env::tests {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

}  // namespace nccl_env::tests
