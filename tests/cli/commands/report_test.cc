// SPDX-License-Identifier: Apache-2.0
// nccl-env report: sources, the file, exit codes. What the page shows: tests/report.
#include "cli/cli_inputs.h"

namespace nccl_env::report_test {
namespace {

using namespace nccl_env::tests;

std::string content(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Report : public Cli {
 protected:
  const std::string page = path("report.html");

  [[nodiscard]] CliResult run(std::vector<std::string> more) const {
    more.insert(more.begin(), "report");
    more.insert(more.end(), {"--at", "2026-11-20T08:00:00Z"});
    return run_cli(more);
  }
};

TEST_F(Report, WritesOnePageThatLoadsNothing) {
  const CliResult result = run({table, "-o", page});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  const std::string html = content(page);
  EXPECT_THAT(html,
              AllOf(StartsWith("<!DOCTYPE html>"), EndsWith("</html>\n"), HasSubstr("default-src 'none'"),
                    HasSubstr("\"gpu-1\""), HasSubstr("2026-11-20T08:00:00Z")));
  for (const char* from :
       {"http:", "https:", "@import", "url(", "innerHTML", "@data@", "@text@", "@csp@", "@style@"})
    EXPECT_THAT(html, Not(HasSubstr(from)));
}

TEST_F(Report, TheFindingsDoNotFailItAndAreTextWhereNoScriptRuns) {
  write("odd.yaml", named(kTable, "state: Active", "state: Down"));
  EXPECT_EQ(run_cli({"doctor", path("odd.yaml")}).code, 1);
  ASSERT_EQ(run({path("odd.yaml"), "--title", "<b>&prod", "-o", page}).code, 0);
  EXPECT_THAT(content(page), AllOf(HasSubstr("<pre>&lt;b&gt;&amp;prod\n2026-11-20T08:00:00Z\n1 node, "),
                                   HasSubstr("\n  Do: "), HasSubstr("\"title\":\"\\u003cb>&prod\"")));
}

TEST_F(Report, ARefusedInputLeavesTheOldPage) {
  write("report.html", "old");
  write("bad.yaml", "a: [");
  EXPECT_EQ(run({path("bad.yaml"), "-o", page}).code, 4);
  EXPECT_EQ(content(page), "old");
  std::filesystem::create_directories(path("none"));
  EXPECT_EQ(run({"--store", "dir:" + path("none"), "-o", page}).code, 3);
  EXPECT_EQ(content(page), "old");
  EXPECT_EQ(run({table, "-o", page}).code, 0);
  EXPECT_THAT(content(page), HasSubstr("<!DOCTYPE"));
}

TEST_F(Report, AManifestThatIsRefusedIsTold) {
  std::filesystem::create_directories(path("store"));
  write("store/a.yaml", kTable);
  write("store/b.yaml", "b: [");
  const CliResult result = run({"--store", "dir:" + path("store"), "-o", page});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("b.yaml"));
  EXPECT_THAT(content(page), HasSubstr("ObjectRefused"));
}

TEST_F(Report, OnlyARegularFileIsReplacedAndALinkStaysOne) {
  const CliResult folder = run({table, "-o", path("")});
  EXPECT_EQ(folder.code, 4);
  EXPECT_THAT(folder.err, HasSubstr("not a regular file"));
  EXPECT_EQ(run({table, "-o", "/dev/null"}).code, 4);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(run({table, "-o", path("no/such/folder.html")}).code, 4);
  write("real.html", "old");
  std::filesystem::create_symlink(path("real.html"), page);
  ASSERT_EQ(run({table, "-o", page}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(page));
  EXPECT_THAT(content(path("real.html")), StartsWith("<!DOCTYPE"));
}

TEST_F(Report, WrongUsageIsCode2) {
  EXPECT_EQ(run({table}).code, 2);  // where to
  EXPECT_EQ(run({table, "--store", "dir:" + path(""), "-o", page}).code, 2);
  EXPECT_EQ(run({table, "--max-table-age", "3", "-o", page}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(page));
}

}  // namespace
}  // namespace nccl_env::report_test
