// SPDX-License-Identifier: Apache-2.0
// The parts of answers that a bug report keeps.
#include "cluster/bundle.h"

#include <regex>
#include <set>

#include "cli/cli_run.h"
#include "nccl_env/base/file.h"

namespace nccl_env::kept_fields_test {
namespace {

using namespace nccl_env::cli;
using namespace nccl_env::tests;

TEST(KeptFields, APathNamesItsKind) {
  EXPECT_EQ(kind_at("/version"), "version");
  EXPECT_EQ(kind_at("/api/v1/namespaces?limit=5"), "namespaces");
  EXPECT_EQ(kind_at("/api/v1/namespaces/ml"), "namespaces");
  EXPECT_EQ(kind_at("/api/v1/namespaces/ml/pods?limit=5"), "pods");
  EXPECT_EQ(kind_at("/api/v1/namespaces/ml/pods/log"), "pods");
  EXPECT_EQ(kind_at("/api/v1/namespaces/ml/pods/x/log"), "log");
  EXPECT_EQ(kind_at("/api/v1/namespaces/ml/secrets/x"), "secrets");
  EXPECT_EQ(kind_at("/apis/nccl-env.io/v1alpha1/nodefabrics/gpu-1"), "nodefabrics");
  EXPECT_EQ(kind_at("/apis/apps/v1/namespaces/x/daemonsets/y"), "daemonsets");
  for (const char* odd : {"", "/", "/api", "/apis/x/y", "?"})
    EXPECT_EQ(kept_text(odd, {200, "{}"}), "null") << odd;
}

TEST(KeptFields, OtherKindsShapesAndTextsLeaveNothing) {
  EXPECT_EQ(kept_text("/api/v1/namespaces/ml/secrets/x", {200, R"({"data":{"a":"b"}})"}), "null");
  EXPECT_EQ(kept_text("/api/v1/namespaces/ml", {200, "not JSON"}), "null");
  EXPECT_EQ(kept_text("/api/v1/namespaces/ml", {403, R"({"message":"m","details":{"x":1}})"}),
            R"({"message":"m"})");
  EXPECT_EQ(kept_text("/api/v1/namespaces/ml/pods/x",
                      {200, R"({"metadata":7,"spec":[],"status":{"phase":"Running"}})"}),
            R"({"status":{"phase":"Running"}})");
  EXPECT_EQ(kept_text("/api/v1/pods?limit=5", {200, R"({"items":[{"metadata":{"name":"not-ours"}}]})"}),
            R"({"items":[]})");
}

std::string source_text(const std::string& file) {
  return read_file(source_file(file), 1 << 20).value();
}

// A report answers for a pod as the cluster does only with all that the reader of pods takes from it. Whoever
// makes it read a further field adds it to the forms of bundle.cc, or says here why a report has none.
TEST(KeptFields, HoldEachFieldThatTheReaderOfPodsTakes) {
  const std::set<std::string> of_a_review{"dryRun", "group",       "object", "operation",
                                          "target", "subResource", "uid",    "resource"};
  const std::set<std::string> below_a_kept_one{"request", "medium", "sizeLimit"};
  const std::set<std::string> secret{"command"};
  const std::string reader = source_text("src/core/pod/review.cc");
  const std::string forms = source_text("src/cli/cluster/bundle.cc");
  const std::regex picked(R"re(std::array<Keys, \d+>\{([^}]*)\})re"), name(R"re("(\w+)")re");
  std::set<std::string> read;
  for (std::sregex_iterator list(reader.begin(), reader.end(), picked), end; list != end; ++list) {
    const std::string names = (*list)[1];
    for (std::sregex_iterator each(names.begin(), names.end(), name); each != end; ++each)
      read.insert((*each)[1]);
  }
  EXPECT_GE(read.size(), 50u) << "the reader names what it takes by std::array<Keys, N>";
  for (const std::string& field : read) {
    if (of_a_review.contains(field) || below_a_kept_one.contains(field) || secret.contains(field)) continue;
    EXPECT_THAT(forms, HasSubstr('"' + field + '"')) << field;
  }
}

}  // namespace
}  // namespace nccl_env::kept_fields_test
