// SPDX-License-Identifier: Apache-2.0
// A bug report as a text: written and read again, and refused where it is cut, edited or hostile.
#include "cluster/bundle.h"

#include <gmock/gmock.h>

namespace nccl_env::bundle_test {
namespace {

using namespace nccl_env::cli;
using ::testing::HasSubstr;

Bundle sample() {
  Bundle bundle;
  bundle.at = *parse_timestamp("2026-11-20T08:00:00Z");
  bundle.program = "0.1.0";
  bundle.server = "context here, https://10.0.0.1";
  bundle.name_space = "ml";
  bundle.commands = {"doctor"};
  bundle.answers = {{"/api/v1/namespaces/ml", {200, R"({"metadata":{"name":"ml"}})"}},
                    {"/api/v1/namespaces/ml/pods?limit=500", {403, R"({"message":"no"})"}},
                    {"/version", {0, R"("refused")"}}};
  return bundle;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(BundleText, IsReadAsItWasWritten) {
  const std::string text = render_bundle(sample());
  const auto read = parse_bundle(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(render_bundle(*read), text);
  BundleServer server(*read);
  EXPECT_EQ(server.call({"GET", "/api/v1/namespaces/ml", "", ""})->body, R"({"metadata":{"name":"ml"}})");
  EXPECT_EQ(server.call({"GET", "/api/v1/namespaces/ml/pods?limit=500", "", ""})->status, 403);
  EXPECT_EQ(server.call({"GET", "/version", "", ""}).error().message, "refused");
  EXPECT_FALSE(server.call({"GET", "/api", "", ""}));
  EXPECT_FALSE(server.call({"POST", "/version", "", ""}));
  EXPECT_EQ(server.server(), "context here, https://10.0.0.1");
  EXPECT_EQ(*server.name_space(), "ml");
}

TEST(BundleText, ManyFindingsAreReadAsTheyWereWritten) {
  Bundle bundle = sample();
  for (int i = 0; i < 2000; ++i) bundle.findings.push_back({{"sentence", std::string(100, 'x')}});
  const auto read = parse_bundle(render_bundle(bundle));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->findings, bundle.findings);
}

TEST(BundleText, CutAnywhereItIsRefused) {
  const std::string text = render_bundle(sample());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_bundle(text.substr(0, size))) << text.substr(0, size);
}

TEST(BundleText, EditedItIsRefused) {
  const std::string text = render_bundle(sample());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"nccl-env bug report", "another report"},
                                                        {R"("format":1)", R"("format":2)"},
                                                        {"2026-11-20", "yesterday"},
                                                        {R"("namespace":"ml")", R"("namespace":"../x")"},
                                                        {R"("commands")", R"("more":1,"commands")"},
                                                        {R"("/version")", R"("version")"},
                                                        {R"("/version")", "\"/ver\\nsion\""},
                                                        {R"("/version")", "\"/api/v1/namespaces/ml\""},
                                                        {R"("status":403)", R"("status":"403")"},
                                                        {R"("status":403)", R"("status":99999)"},
                                                        {R"("status":403)", R"("status":403,"more":1)"},
                                                        {R"("findings":[])", R"("findings":{})"},
                                                        {R"("findings":[])", R"("findings":[],"more":1)"},
                                                        {R"("end":3)", R"("end":2)"}}) {
    EXPECT_FALSE(parse_bundle(replaced(text, from, to))) << to;
  }
  EXPECT_FALSE(parse_bundle(text + "\n"));
  EXPECT_FALSE(parse_bundle(text + text));
  EXPECT_THAT(parse_bundle(std::string(kMaxBundle + 1, '\n')).error().message,
              HasSubstr("larger than 64 MiB"));
}

TEST(BundleText, AnyByteIsReadOrRefused) {
  const std::string text = render_bundle(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'"', '\n'}) {
      std::string changed = text;
      changed[at] = c;
      const auto read = parse_bundle(changed);
      EXPECT_TRUE(!read || parse_bundle(render_bundle(*read))) << changed;
    }
  }
  EXPECT_FALSE(parse_bundle(std::string(60'000, '[') + "\n"));
}

}  // namespace
}  // namespace nccl_env::bundle_test
