// SPDX-License-Identifier: Apache-2.0
#include "fabric/untested_nodes.h"

#include "support/matchers.h"

namespace nccl_env::cli::untested_nodes_test {
namespace {

using Json = nlohmann::json;

Json pod_in(const Json& status, const Json& spec) {
  Json pod{{"metadata", {{"name", "t-1"}}}, {"spec", spec}, {"status", status}};
  pod["spec"]["containers"].push_back({{"name", "fabric-test"}});
  return pod;
}
Json unbound(const std::string& said, const Json& spec = Json::object()) {
  const Json condition{{"type", "PodScheduled"}, {"status", "False"}, {"message", said}};
  return pod_in({{"phase", "Pending"}, {"conditions", Json::array({condition})}}, spec);
}
Json bound(const std::string& phase, const std::string& state, const Json& more = Json::object()) {
  const Json container{{"name", "fabric-test"}, {"state", {{state, more}}}};
  return pod_in({{"phase", phase}, {"containerStatuses", Json::array({container})}}, {{"nodeName", "b"}});
}

// Node a came, and b did not, for a reason that its pod shows.
std::string why(const std::vector<Json>& pods, const std::string& refusal = "") {
  Proof proof;
  proof.members.push_back({0, "a", {}});
  const auto found = untested_nodes({"a", "b"}, proof, pods, refusal);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(0).node, "b");
  return std::string(to_string(found.at(0).why)) + ": " + found.at(0).detail;
}

std::string without_stop(std::string sentence) {
  EXPECT_EQ(sentence.back(), '.');
  sentence.pop_back();
  return sentence;
}

TEST(UntestedNodes, TakenDevicesAndClaimsAreBusyAndNothingElseIs) {
  const std::string devices = "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) didn't match.",
                    claims = "0/2 nodes are available: 2 cannot allocate all claims.",
                    cpu = "0/2 nodes are available: 2 Insufficient cpu. preemption: a/b";
  EXPECT_EQ(why({unbound(devices)}), without_stop("busy: " + devices));
  EXPECT_EQ(why({unbound(claims)}), without_stop("busy: " + claims));
  EXPECT_EQ(why({unbound(cpu)}), "held: " + cpu);
}

TEST(UntestedNodes, WhoeverKeepsAPodAwayIsNamed) {
  const std::string taint = "0/2 nodes are available: 1 node(s) had untolerated taint {a: b}.";
  EXPECT_EQ(why({unbound(taint)}), without_stop("held: " + taint));
  EXPECT_EQ(why({unbound("blocked", {{"schedulingGates", Json::array({{{"name", "queue"}}})}})}),
            "held: scheduling gate queue");
  EXPECT_EQ(why({}, "Error creating: exceeded quota: q"), "held: Error creating: exceeded quota: q");
  EXPECT_EQ(why({}), "held: the Job made no pod for it");
}

TEST(UntestedNodes, ABoundPodTellsByItsContainer) {
  EXPECT_EQ(why({bound("Pending", "waiting", {{"reason", "ErrImagePull"}, {"message", "no such image"}})}),
            "no image: ErrImagePull: no such image");
  EXPECT_EQ(why({bound("Pending", "waiting", {{"reason", "ContainerCreating"}})}),
            "not started: ContainerCreating");
  EXPECT_EQ(why({bound("Failed", "terminated", {{"exitCode", 2}, {"message", "no such command"}})}),
            "not started: container fabric-test has failed (exit code 2): no such command");
  EXPECT_EQ(why({bound("Succeeded", "terminated", {{"exitCode", 0}})}),
            "not started: its pod ended before it was heard");
  EXPECT_EQ(why({bound("Running", "running")}), "not started: its pod runs and did not reach member 0");
}

TEST(UntestedNodes, WhoeverCameIsTested) {
  Proof proof;
  proof.members.push_back({0, "b", {}});
  EXPECT_TRUE(untested_nodes({"b"}, proof, {bound("Running", "running")}, "").empty());
}

}  // namespace
}  // namespace nccl_env::cli::untested_nodes_test
