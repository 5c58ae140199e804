// SPDX-License-Identifier: Apache-2.0
#include "check/removal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nccl_env::removal_test {
namespace {

using Json = nlohmann::json;

const std::string kReference = "metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']";

Json pod_with(const std::string& field_path) {
  return {{"metadata", {{"name", "p"}, {"namespace", "ml"}, {"resourceVersion", "1"}}},
          {"spec",
           {{"containers",
             {{{"name", "c"},
               {"env", {{{"name", "V"}, {"valueFrom", {{"fieldRef", {{"fieldPath", field_path}}}}}}}}}}}}}};
}

TEST(WaitingPods, AreThoseWhoseValuesComeAtTheirBinding) {
  EXPECT_TRUE(cli::waits_for_binding(pod_with(kReference)));
  EXPECT_TRUE(
      cli::waits_for_binding(pod_with("metadata.annotations['subinterface.nccl-env.io/NCCL_IB_HCA']")));
  EXPECT_FALSE(cli::waits_for_binding(pod_with("metadata.annotations['example.com/NCCL_IB_HCA']")));
  EXPECT_FALSE(cli::waits_for_binding(pod_with("status.hostIP")));
  EXPECT_FALSE(cli::waits_for_binding(pod_with("metadata.annotations['']")));
  Json bound = pod_with(kReference);
  bound["spec"]["nodeName"] = "gpu-1";
  EXPECT_FALSE(cli::waits_for_binding(bound));
  Json evicted = pod_with(kReference);
  evicted["status"]["phase"] = "Failed";
  EXPECT_FALSE(cli::waits_for_binding(evicted));
}

TEST(WaitingPods, AFileOfOursIsAReference) {
  Json pod{{"spec", {{"containers", Json::array()}}}};
  const Json item{{"path", "nccl.conf"},
                  {"fieldRef", {{"fieldPath", "metadata.annotations['host.nccl-env.io/nccl.conf']"}}}};
  pod["spec"]["volumes"] = {{{"name", "v"}, {"downwardAPI", {{"items", {item}}}}}};
  EXPECT_TRUE(cli::waits_for_binding(pod));
  pod["spec"]["volumes"] = {
      {{"name", "v"}, {"projected", {{"sources", {{{"downwardAPI", {{"items", {item}}}}}}}}}}};
  EXPECT_TRUE(cli::waits_for_binding(pod));
}

TEST(WaitingPods, APodThatFindsItsValuesItselfDoesNot) {
  Json pod{{"spec", {{"containers", Json::array()}}}};
  pod["metadata"]["annotations"]["nccl-env.io/status"] = R"({"v":1,"form":"ContainerStart"})";
  pod["spec"]["volumes"] = {{{"name", "nccl-env-conf"}, {"emptyDir", {{"sizeLimit", "1Mi"}}}}};
  EXPECT_FALSE(cli::waits_for_binding(pod));
}

TEST(WaitingPods, JunkWaitsForNothing) {
  std::string nest;
  for (int i = 0; i < 500; ++i) nest += "[";
  const Json deep{{"spec", Json::parse(nest + std::string(500, ']'))}};
  for (const Json& junk : {Json(), Json(1), Json::array(), Json{{"spec", 1}}, deep})
    EXPECT_FALSE(cli::waits_for_binding(junk));
}

}  // namespace
}  // namespace nccl_env::removal_test
