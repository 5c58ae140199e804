// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/pod/claims.h"

#include "core/builders.h"
#include "core/pods.h"
#include "support/golden.h"
#include "support/matchers.h"

namespace nccl_env::tests::claims_test {
namespace {

using ::testing::Field;

DeviceRequests read(const std::string& text) {
  const auto requests = parse_device_requests(text);
  if (!requests) throw std::runtime_error(requests.error().message);
  return *requests;
}

std::string refused(const std::string& text) {
  const auto requests = parse_device_requests(text);
  return requests ? "accepted" : requests.error().message;
}

TEST(DeviceRequests, AreReadInEveryVersion) {
  const DeviceRequests v1 = read(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec":
    {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "mrdma.google.com", "count": 8}},
      {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "x"},
                                         {"name": "b", "deviceClassName": "y"}]}]}}})");
  EXPECT_THAT(v1, ElementsAre(AllOf(Field(&DeviceRequest::name, "nic"),
                                    Field(&DeviceRequest::classes, ElementsAre("mrdma.google.com"))),
                              AllOf(Field(&DeviceRequest::name, "any"),
                                    Field(&DeviceRequest::classes, ElementsAre("x", "y")))));
  const DeviceRequests beta =
      read(R"({"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaimTemplate", "spec": {"metadata":
    {"labels": {}}, "spec": {"devices": {"requests": [{"name": "nic", "deviceClassName": "rdma"}]}}}})");
  EXPECT_THAT(beta, ElementsAre(Field(&DeviceRequest::classes, ElementsAre("rdma"))));
}

TEST(DeviceRequests, AClaimWithoutDevicesAsksForNone) {
  EXPECT_THAT(read(R"({"kind": "ResourceClaim", "spec": {}})"), IsEmpty());
  EXPECT_THAT(read(R"({"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": {}}}})"), IsEmpty());
}

TEST(DeviceRequests, WhatIsNoClaimIsRefusedByItsPath) {
  for (
      const char* text :
      {"{", "[]", R"({"kind": "Pod", "spec": {}})", R"({"kind": "ResourceClaim"})",
       R"({"kind": "ResourceClaim", "spec": {"devices": {"requests": [{"exactly": {"deviceClassName": 7}}]}}})"})
    expect_golden(text, refused(text));
  Json many{{"kind", "ResourceClaim"}};
  for (int i = 0; i < 33; ++i)
    many["spec"]["devices"]["requests"].push_back({{"name", "r"}, {"exactly", {{"deviceClassName", "x"}}}});
  expect_golden("33 requests", refused(many.dump()));
  expect_golden("100000 of [", refused(std::string(100000, '[')));
}

NcclPolicy for_class(const std::string& name) {
  NcclPolicy policy;
  policy.name = "p";
  policy.device_classes = {name};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

Json claiming(const std::string& container_name, const std::string& claim, const std::string& request = "") {
  Json made = container(container_name, {}, "");
  Json use{{"name", claim}};
  if (!request.empty()) use["request"] = request;
  made["resources"]["claims"].push_back(use);
  return made;
}

Json with_template(Json pod) {
  pod["spec"]["resourceClaims"] = {{{"name", "net"}, {"resourceClaimTemplateName", "nics"}}};
  return pod;
}

PodClaims known(DeviceRequests requests) {
  return {{{std::make_shared<const DeviceRequests>(std::move(requests)), {}}}};
}

const PodClaims kUnknown{{{nullptr, "ResourceClaimTemplate ml/nics does not exist"}}};
const DeviceRequests kGpuAndNic{{"gpu", {"gpu.nvidia.com"}}, {"nic", {"mrdma.google.com"}}};

Admitted claimed(const Json& pod, const NcclPolicy& policy, const PodClaims& claims) {
  return admit(with_template(pod), policy, nullptr, {}, &claims);
}

TEST(Claims, AClassesNameAsAnExtendedResourceIsAClaim) {
  const NcclPolicy policy = for_class("rdma.nvidia.com");
  const auto asked = [&](const std::string& name) {
    return admit(pod({container("c", {}, "deviceclass.resource.kubernetes.io/" + name)}, false), policy).plan;
  };
  EXPECT_TRUE(asked("rdma.nvidia.com").inject);
  EXPECT_EQ(asked("rdma.nvidia.com").exposure, Exposure::PodOwned);
  EXPECT_EQ(asked("gpu.nvidia.com").reason, Reason::NotRdma);
}

TEST(Claims, AContainerThatNamesAMatchingClaimHasDevicesOfItsOwn) {
  const NcclPolicy policy = for_class("mrdma.google.com");
  const PodClaims claims = known(kGpuAndNic);
  const Admitted admitted =
      claimed(pod({claiming("c", "net"), container("side", {}, "")}, false), policy, claims);
  EXPECT_TRUE(admitted.plan.inject);
  EXPECT_EQ(admitted.plan.exposure, Exposure::PodOwned);
  EXPECT_EQ(reason_of(admitted.plan, "NCCL_IB_HCA"), "PodOwnsDevices");
  EXPECT_EQ(environment(admitted.pod, 0)["NCCL_IB_TIMEOUT"], "22");
  EXPECT_THAT(environment(admitted.pod, 1), IsEmpty());
  EXPECT_EQ(claimed(admitted.pod, policy, claims).patch, "");
}

TEST(Claims, OnlyTheRequestThatAContainerNamesCounts) {
  const Json before = pod({claiming("a", "net", "gpu"), claiming("b", "net", "nic")}, false);
  const PodClaims claims = known(kGpuAndNic);
  const NcclPolicy policy = for_class("mrdma.google.com");
  const Admitted admitted = claimed(before, policy, claims);
  EXPECT_THAT(environment(admitted.pod, 0), IsEmpty());
  EXPECT_EQ(environment(admitted.pod, 1)["NCCL_IB_TIMEOUT"], "22");
  EXPECT_EQ(claimed(before, for_class("another"), claims).plan.reason, Reason::NotRdma);
  // A claim that no container names is nobody's, nor is it looked up.
  const Json other = with_template(pod({container("c", {}, "")}, false));
  EXPECT_EQ(claimed(other, policy, claims).plan.reason, Reason::NotRdma);
  EXPECT_EQ(admit(other, policy).plan.reason, Reason::NotRdma);
}

TEST(Claims, EfaIsNotReachedThroughVerbsAndAComputeDomainIsNoDevice) {
  const Json before = pod({claiming("c", "net")}, false);
  const PodClaims efa = known({{"efa", {"efa.networking.k8s.aws"}}, {"nic", {"rdma"}}});
  const Admitted skipped = claimed(before, for_class("rdma"), efa);
  EXPECT_EQ(skipped.plan.reason, Reason::NotVerbs);
  expect_golden(skipped.plan.detail);
  const std::string channel = "compute-domain-default-channel.nvidia.com";
  EXPECT_EQ(claimed(before, for_class(channel), known({{"channel", {channel}}})).plan.reason,
            Reason::NotRdma);
}

TEST(Claims, OneThatIsNotKnownLeavesThePodAloneAndSaysSo) {
  const Json before = with_template(pod({claiming("c", "net")}, false));
  const Admitted admitted = admit(before, for_class("rdma"), nullptr, {}, &kUnknown);
  EXPECT_EQ(admitted.plan.reason, Reason::ClaimUnknown);
  EXPECT_EQ(admitted.patch, "");
  ASSERT_EQ(admitted.plan.warnings.size(), 1U);
  expect_golden("not there", admitted.plan.warnings[0]);
  expect_golden("not looked up", admit(before, for_class("rdma")).plan.detail);
  EXPECT_EQ(admit(before, policy_for("rdma/hca")).plan.reason, Reason::NotRdma) << "it has no device classes";
}

TEST(Claims, OneThatIsNotKnownBesideAMatchLeavesTheNodesValuesOut) {
  NcclPolicy policy = for_class("rdma");
  policy.resources = {{"rdma/hca", Exposure::SubInterface}};
  Json requesting = claiming("c", "net");
  requesting["resources"]["limits"] = {{"rdma/hca", "1"}};
  const Admitted admitted =
      admit(equipped(with_template(pod({requesting}, false))), policy, nullptr, {}, &kUnknown);
  EXPECT_EQ(admitted.plan.exposure, Exposure::PodOwned);
  ASSERT_EQ(admitted.plan.warnings.size(), 1U);
  expect_golden(admitted.plan.warnings[0]);
  const Admitted on_host = admit(equipped(with_template(pod({requesting}))), policy, nullptr, {}, &kUnknown);
  EXPECT_EQ(on_host.plan.exposure, Exposure::Host);
}

TEST(Claims, NameTheirObjectInThePodsNamespace) {
  EXPECT_EQ(describe(claim_ref({"net", "", "nics"}, "ml")), "ResourceClaimTemplate ml/nics");
  EXPECT_EQ(describe(claim_ref({"net", "shared", ""}, "ml")), "ResourceClaim ml/shared");
  EXPECT_EQ(describe(claim_ref({"net", "shared", ""}, "")), "ResourceClaim shared");
  EXPECT_EQ(describe(claim_ref({"net", "../\x1b[31m", ""}, "ml")), "ResourceClaim with an impossible name");
  EXPECT_EQ(describe(claim_ref({"net", "", ""}, "ml")), "ResourceClaim with an impossible name");
}

}  // namespace
}  // namespace nccl_env::tests::claims_test
