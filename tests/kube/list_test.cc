// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/list.h"

#include <nlohmann/json.hpp>

#include "kube/client_fixture.h"

namespace nccl_env::kube::list_test {
namespace {

using ::testing::HasSubstr;

std::string page(const std::string& next) {
  return R"({"items":[],"metadata":{"resourceVersion":"1","continue":")" + next + R"("}})";
}

TEST(ListPage, DepthIsBounded) {
  int items = 0;
  const auto count = [&](const nlohmann::json& /*object*/) { ++items; };
  const auto object = [](std::size_t lists) {
    return R"({"items":[{"metadata":{"name":"a","resourceVersion":"1"},"x":)" + std::string(lists, '[') +
           std::string(lists, ']') + R"(}],"metadata":{"resourceVersion":"1"}})";
  };
  EXPECT_TRUE(read_list_page(object(60), count).ok());
  EXPECT_EQ(items, 1);
  EXPECT_EQ(read_list_page(object(70), count).error().message, "the answer is nested deeper than 64 levels");
  EXPECT_THAT(read_list_page(std::string(1 << 20, '['), count).error().message, HasSubstr("nested deeper"));
}

TEST_F(KubeClient, AListWithoutEndIsAnError) {
  int pages = 0;
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.reply(200, page("p" + std::to_string(++pages)));
  });
  connect();
  const Status listed = list_all(*client, "/api/v1/pods", [](const nlohmann::json&) {});
  ASSERT_FALSE(listed.ok());
  EXPECT_THAT(listed.error().message, HasSubstr("more than 2000 pages"));
  EXPECT_EQ(pages, 2000);
}

}  // namespace
}  // namespace nccl_env::kube::list_test
