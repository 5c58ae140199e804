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

std::string page_of(const std::string& items) {
  return R"({"apiVersion":"v1","items":[)" + items +
         R"(],"metadata":{"resourceVersion":"7","continue":"n"}})";
}

TEST(ListPage, GivesEachObjectAsItsText) {
  std::vector<std::string> seen;
  const auto take = [&](const ApiObject& object) {
    seen.push_back(std::string(object.name) + " " + std::string(object.resource_version) + " " +
                   std::string(object.text));
  };
  const std::string first =
      R"({"metadata":{"labels":{"name":"other"},"name":"a\u0062","resourceVersion":"1"},"x":[{"metadata":1}]})";
  const std::string second = R"({"x":"}\"]","metadata":{"resourceVersion":"2","name":"b"}})";
  const auto page = read_list_page(page_of(first + "," + second), take);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->next, "n");
  EXPECT_THAT(seen, ::testing::ElementsAre("ab 1 " + first, "b 2 " + second));
}

TEST(ListPage, RefusesWhatIsNotAListOfObjects) {
  const auto ignore = [](const ApiObject&) {};
  const std::string object = R"({"metadata":{"name":"a","resourceVersion":"1"}})";
  for (const std::string& items : {std::string("7"), std::string("[]"), std::string("{}"), object + object,
                                   object + ",", R"({"metadata":{"name":"a"}})" + std::string()})
    EXPECT_FALSE(read_list_page(page_of(items), ignore)) << items;
  const std::string whole = page_of(object);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_list_page(whole.substr(0, size), ignore)) << size;
  EXPECT_FALSE(read_list_page(R"({"metadata":{"resourceVersion":"7"}})", ignore));
  EXPECT_FALSE(read_list_page(std::string(1 << 20, '['), ignore));
  EXPECT_FALSE(read_list_page(R"({"items":)" + std::string(1 << 20, '['), ignore));
  EXPECT_FALSE(read_list_page("{\"items\":[{\"\xff\":1}]}", ignore)) << "UTF-8 alone";
}

TEST(ListPage, JunkAtAnyPlaceIsRefusedAndEndsTheReading) {
  const std::string object = R"({"metadata":{"name":"a","resourceVersion":"1"}})";
  const std::string whole = page_of(object), event = R"({"type":"ADDED","object":)" + object + "}";
  for (const char* junk :
       {"u", "{", "]", ",", "\"", "\\", "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}) {
    for (std::size_t at = 0; at < whole.size(); ++at)
      (void)read_list_page(std::string(whole).insert(at, junk), [](const ApiObject&) {});
    for (std::size_t at = 0; at < event.size(); ++at)
      (void)read_watch_event(std::string(event).insert(at, junk), [](const WatchEvent&) {});
  }
  EXPECT_FALSE(
      read_list_page(page_of(R"({"metadata":{"name":"a",u"resourceVersion":"1"}})"), [](const auto&) {}));
  EXPECT_FALSE(read_watch_event(
      R"({"type":"ADDED","object":{"metadata":{"name":"a",u"resourceVersion":"1"}}})", [](const auto&) {}));
}

TEST_F(KubeClient, ListedObjectsAreBounded) {
  std::size_t lists = 60;
  serve([&](ScriptedConnection& connection, const ScriptedRequest&) {
    connection.reply(200, R"({"items":[{"metadata":{"name":"a","resourceVersion":"1"},"x":)" +
                              std::string(lists, '[') + std::string(lists, ']') +
                              R"(}],"metadata":{"resourceVersion":"1"}})");
  });
  connect();
  const auto list = [&] { return list_all(*client, "/api/v1/pods", [](const nlohmann::json&) {}); };
  EXPECT_TRUE(list().ok());
  lists = 70;
  const Status refused = list();
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("more than 64 levels"));
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
