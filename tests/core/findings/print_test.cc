// SPDX-License-Identifier: Apache-2.0
// The forms of a finding, once for all that find something.
#include "nccl_env/core/findings/print.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/golden.h"

namespace nccl_env::print_test {
namespace {

Finding down(const std::string& node, std::vector<std::string> ports) {
  return {Code::PortDown, Severity::Error, of_node(node, std::move(ports)),
          "Down; Active on 7 of 8 nodes of its pool"};
}

TEST(Print, JsonHasTheSameKeysForEachFinding) {
  tests::expect_golden(to_json(down("gpu-1", {"mlx5_3"})).dump(1));
  const auto field = to_json(Finding{Code::PolicyField, Severity::Warning, {.path = "spec.env.X"}, "is odd"});
  EXPECT_EQ(field["subject"]["path"], "spec.env.X");
  EXPECT_TRUE(field["remedy"].is_null());
  EXPECT_EQ(to_json(Finding{Code::Foreign, Severity::Error, {}, "s", "its own remedy"})["remedy"],
            "its own remedy");
}

TEST(Print, ASectionHasACodeEqualSentencesOnceAndEqualEvidenceOfSeveralNodesInALine) {
  tests::expect_golden(
      render_sections({down("gpu-1", {"mlx5_1"}), down("gpu-1", {"mlx5_2"}), down("gpu-9", {"mlx5_4"})}));
  std::vector<Finding> findings;
  for (const char* node : {"gpu-01", "gpu-02", "gpu-03", "gpu-10"})
    findings.push_back(down(node, {"mlx5_3"}));
  findings.push_back(down("gpu-11", {"mlx5_4"}));
  findings.push_back(down("gpu-12", {"mlx5_4"}));
  findings.back().remedy = "Its own.";
  tests::expect_golden(render_sections(findings));
}

TEST(Print, OfVeryManyLinesTheOthersAreCounted) {
  std::vector<Finding> findings;
  for (int node = 0; node < 40; ++node) {
    findings.push_back(down("gpu-" + std::to_string(node), {"mlx5_3"}));
    findings.back().sentence += std::to_string(node);
  }
  EXPECT_NE(render_sections(findings).find("and 16 further lines: -o json has all"), std::string::npos);
}

TEST(Print, ALineBeginsWithThePlace) {
  EXPECT_EQ(line_of({Code::PolicyField, Severity::Error, {.path = "spec.hca"}, "is missing"}),
            "spec.hca: is missing");
  EXPECT_EQ(
      line_of({Code::ListingLine, Severity::Error, {.kind = "File", .name = "a.txt", .path = "7"}, "no"}),
      "a.txt:7: no");
  EXPECT_EQ(line_of({Code::ListingLine, Severity::Error, {.kind = "File", .name = "a.txt"}, "no"}),
            "a.txt: no");
  EXPECT_EQ(line_of({Code::ListingLine, Severity::Error, {}, "no"}), "no");
}

TEST(Findings, TheMostUrgentComesFirst) {
  std::vector<Finding> findings{down("gpu-10", {}), down("gpu-9", {}), down("gpu-9", {"mlx5_10"}),
                                down("gpu-9", {"mlx5_9"})};
  findings.push_back({Code::ObjectRefused, Severity::Info, {}, "later"});
  std::sort(findings.begin(), findings.end(), more_urgent);
  std::vector<std::string> places;
  for (const Finding& finding : findings)
    places.push_back(finding.subject.name + (finding.subject.parts.empty() ? "" : finding.subject.parts[0]));
  EXPECT_THAT(places, ::testing::ElementsAre("gpu-9", "gpu-9mlx5_9", "gpu-9mlx5_10", "gpu-10", ""));
  EXPECT_EQ(count(findings, Severity::Error), 4u);
  EXPECT_FALSE(is_good(findings));
  EXPECT_TRUE(is_good({findings.back()}));
}

TEST(Findings, BeyondTheFirstHundredAreAnError) {
  Findings findings(Code::PolicyField);
  for (std::size_t i = 0; i < Findings::kMost; ++i) findings.warning("spec.x", "w");
  EXPECT_FALSE(findings.is_full());
  EXPECT_FALSE(findings.has_errors());
  for (int i = 0; i < 3; ++i) findings.warning("spec.x", "w");
  EXPECT_TRUE(findings.is_full());
  EXPECT_TRUE(findings.has_errors());
  const std::vector<Finding> all = findings.take({.kind = "NcclPolicy", .name = "p"});
  EXPECT_EQ(all.size(), Findings::kMost + 1);
  EXPECT_EQ(line_of(all.back()), "more findings are not shown");
  EXPECT_EQ(all.front().subject.name, "p");
}

}  // namespace
}  // namespace nccl_env::print_test
