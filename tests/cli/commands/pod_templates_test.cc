// SPDX-License-Identifier: Apache-2.0
// Pods in manifests of kinds that nobody listed: whatever holds `containers`.
#include "commands/pod_preview.h"

#include "nccl_env/base/yaml.h"
#include "support/matchers.h"

namespace nccl_env::pod_templates_test {
namespace {

using namespace nccl_env::tests;
using cli::find_pod_templates;
using cli::objects_without_pods;
using cli::PodTemplate;
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

TEST(PodTemplates, AreWhatHoldsContainersWithOrWithoutASpec) {
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
  // Of Slinky, in both its forms.
  for (const std::string form : {"{metadata: {labels: {a: b}}, spec: {containers: [{name: slurmd}]}}",
                                 "{containers: [{name: slurmd}]}"})
    EXPECT_THAT(paths_in("{kind: NodeSet, metadata: {name: gpu}, spec: {template: " + form + "}}"),
                ElementsAre("NodeSet/gpu spec.template"));
  // Containers that are no objects.
  EXPECT_THAT(paths_in("{kind: NcclPolicy, metadata: {name: p}, spec: {containers: All}}"), IsEmpty());
  EXPECT_THAT(paths_in("{kind: Filter, metadata: {name: f}, spec: {containers: [a, b]}}"), IsEmpty());
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
