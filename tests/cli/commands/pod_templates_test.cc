// SPDX-License-Identifier: Apache-2.0
// Pods in manifests of kinds that nobody listed: whatever holds `containers`.
#include "commands/pod_preview.h"

#include <gmock/gmock.h>

#include "nccl_env/base/yaml.h"

namespace nccl_env::pod_templates_test {
namespace {

using cli::find_pod_templates;
using cli::objects_without_pods;
using cli::PodTemplate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

Json document(const std::string& yaml) {
  return parse_documents(yaml, "f.yaml").value().front();
}

std::vector<std::string> paths_in(const std::string& yaml) {
  std::vector<std::string> paths;
  for (const PodTemplate& found : find_pod_templates(document(yaml)))
    paths.push_back(found.object + " " + found.path);
  return paths;
}

TEST(PodTemplates, OfAnInferenceServiceStandWithoutASpec) {
  EXPECT_THAT(
      paths_in(R"(
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: llama}
spec:
  model: {uri: "hf://m"}
  template:
    containers: [{name: main, resources: {limits: {rdma/roce_gdr: 1}}}]
  worker:
    containers: [{name: main}]
  prefill: {template: {containers: [{name: main}]}}
)"),
      ElementsAre("LLMInferenceService/llama spec.prefill.template",
                  "LLMInferenceService/llama spec.template", "LLMInferenceService/llama spec.worker"));
}

TEST(PodTemplates, OfAServingRuntimeHaveTheAnnotationsInTheSpec) {
  const auto found = find_pod_templates(document(R"(
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: vllm, labels: {nccl-env.io/inject: "false"}}
spec:
  annotations: {k8s.v1.cni.cncf.io/networks: rail-0}
  containers: [{name: kserve-container}]
)"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].path, "spec");
  EXPECT_FALSE(found[0].pod["metadata"].contains("labels")) << "those of the runtime are not the pod's";
  EXPECT_EQ(found[0].pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "rail-0");
}

TEST(PodTemplates, OfASlinkyNodeSetAreFoundInBothItsForms) {
  EXPECT_THAT(paths_in(R"(
kind: NodeSet
metadata: {name: gpu}
spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: slurmd}]}}}
)"),
              ElementsAre("NodeSet/gpu spec.template"));
  EXPECT_THAT(
      paths_in("{kind: NodeSet, metadata: {name: gpu}, spec: {template: {containers: [{name: slurmd}]}}}"),
      ElementsAre("NodeSet/gpu spec.template"));
}

TEST(PodTemplates, OfADynamoGraphHaveTheirMainContainerFirst) {
  const auto found = find_pod_templates(document(R"(
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: disagg, namespace: ml}
spec:
  services:
    Frontend: {extraPodSpec: {containers: [{name: proxy}]}}
    Worker:
      extraPodSpec:
        mainContainer: {image: vllm, resources: {limits: {rdma/ib: 8}}}
        containers: [{name: sidecar}]
)"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].path, "spec.services.Worker.extraPodSpec");
  EXPECT_EQ(found[1].name_space, "ml");
  const Json& containers = found[1].pod["spec"]["containers"];
  ASSERT_THAT(containers, SizeIs(2));
  EXPECT_EQ(containers[0]["name"], "main");
  EXPECT_EQ(containers[1]["name"], "sidecar");
}

// ai-dynamo/dynamo, deploy/operator/api/v1alpha1: the operator makes a container of these.
TEST(PodTemplates, OfADynamoServiceHaveWhatStandsBesideItsSpec) {
  const auto found = find_pod_templates(document(R"(
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: disagg}
spec:
  services:
    decode:
      componentType: worker
      resources: {limits: {gpu: "8", cpu: "4", custom: {rdma/ib: "8"}}, requests: {gpu: "8"}, claims: [{name: nics}]}
      envs: [{name: NCCL_DEBUG, value: INFO}]
      envFromSecret: token
      sharedMemory: {size: 80Gi}
      extraPodMetadata: {annotations: {k8s.v1.cni.cncf.io/networks: roce}}
      extraPodSpec:
        hostNetwork: false
        mainContainer: {image: vllm, env: [{name: A, value: b}]}
    prefill: {componentType: worker, sharedMemory: {disabled: true}, resources: {limits: {gpu: "1", gpuType: amd.com/gpu}}}
)"));
  ASSERT_THAT(found, SizeIs(2));
  const Json& pod = found[0].pod;
  const Json& main = pod["spec"]["containers"][0];
  EXPECT_EQ(main["resources"]["limits"], Json({{"cpu", "4"}, {"nvidia.com/gpu", "8"}, {"rdma/ib", "8"}}));
  EXPECT_EQ(main["resources"]["requests"], Json({{"nvidia.com/gpu", "8"}}));
  EXPECT_EQ(main["resources"]["claims"][0]["name"], "nics");
  EXPECT_THAT(main["env"], SizeIs(2));
  EXPECT_EQ(main["envFrom"][0]["secretRef"]["name"], "token");
  EXPECT_EQ(main["volumeMounts"][0]["mountPath"], "/dev/shm");
  EXPECT_EQ(pod["spec"]["volumes"][0]["emptyDir"]["sizeLimit"], "80Gi");
  EXPECT_EQ(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "roce");
  const Json& bare = found[1].pod["spec"]["containers"][0];
  EXPECT_EQ(bare, Json({{"name", "main"}, {"resources", {{"limits", {{"amd.com/gpu", "1"}}}}}}));
}

TEST(PodTemplates, OfADynamoServiceWithFieldsOfOtherTypesAreReadAllTheSame) {
  const auto found = find_pod_templates(document(R"(
kind: DynamoGraphDeployment
metadata: {name: disagg}
spec:
  services:
    a:
      resources: {limits: {gpu: "1"}, claims: [{name: c}]}
      sharedMemory: yes
      envs: [{name: A}]
      extraPodSpec: {volumes: 7, mainContainer: {resources: none, env: 3, volumeMounts: {}}}
    b: {componentType: 1, resources: {limits: [], requests: 3}, extraPodMetadata: [], extraPodSpec: 5}
)"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1");
  EXPECT_THAT(found[0].pod["spec"]["volumes"], SizeIs(1));
}

TEST(PodTemplates, DevicesThatStandElsewhereAreNamedWithTheirPlace) {
  const auto stray = cli::resources_outside_pods(document(R"(
kind: TrainJob
metadata: {name: llama}
spec:
  trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8, cpu: 4}, requests: {rdma/ib: 8}}}
  template: {spec: {containers: [{name: c, resources: {limits: {rdma/hca: 1}}}]}}
)"));
  ASSERT_THAT(stray, SizeIs(1));
  EXPECT_EQ(stray[0].object + " " + stray[0].path, "TrainJob/llama spec.trainer.resourcesPerNode");
  EXPECT_THAT(stray[0].names, ElementsAre("nvidia.com/gpu", "rdma/ib"));
}

TEST(PodTemplates, ContainersThatAreNoObjectsMakeNoPod) {
  EXPECT_THAT(paths_in("{kind: NcclPolicy, metadata: {name: p}, spec: {containers: All}}"), IsEmpty());
  EXPECT_THAT(paths_in("{kind: Filter, metadata: {name: f}, spec: {containers: [a, b]}}"), IsEmpty());
}

TEST(PodTemplates, ObjectsWithoutThemAreNamed) {
  const Json list = document(R"(
kind: List
items:
- {kind: Service, metadata: {name: llama}}
- {kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}
- {kind: ConfigMap, metadata: {name: conf}, data: {a: "{{ x }}"}}
)");
  EXPECT_THAT(objects_without_pods(list), ElementsAre("Service/llama", "ConfigMap/conf"));
  EXPECT_THAT(objects_without_pods(document("[1]")), ElementsAre("an object without a kind"));
}

TEST(PodTemplates, AreBoundedInDepthAndNumber) {
  Json deep = {{"containers", Json::array()}};
  for (int i = 0; i < 40; ++i) deep = {{"a", deep}};
  EXPECT_THAT(find_pod_templates(deep), IsEmpty());
  Json many = {{"items", Json::array()}};
  for (int i = 0; i < 3000; ++i) many["items"].push_back({{"containers", Json::array()}});
  EXPECT_THAT(find_pod_templates(many), SizeIs(cli::kMaxTemplates + 1));
}

}  // namespace
}  // namespace nccl_env::pod_templates_test
