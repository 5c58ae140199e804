// SPDX-License-Identifier: Apache-2.0
// Reviews that hold all that is read of one, and policies that make use of it: for what grows.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/builders.h"
#include "nccl_env/core/policy/policy.h"

namespace nccl_env::tests {

// A pod on the host's network, with entries of an earlier round of ours.
inline nlohmann::json rich_pod_review() {
  return nlohmann::json::parse(
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "u1", "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"}, "name": "p", "namespace": "ml",
    "operation": "CREATE", "userInfo": {"username": "u", "groups": ["g"]}, "dryRun": false, "oldObject": null,
    "object": {"kind": "Pod", "apiVersion": "v1",
      "metadata": {"name": "p", "generateName": "p-", "namespace": "ml", "uid": "x",
        "labels": {"app": "a", "nccl-env.io/inject": "true"},
        "annotations": {
          "k8s.v1.cni.cncf.io/networks": "[{\"name\": \"rail-0\", \"namespace\": \"ml\"}]",
          "networking.gke.io/interfaces": "[{\"interfaceName\": \"eth1\", \"network\": \"rdma-0\"}]",
          "host.nccl-env.io/NCCL_IB_HCA": "=mlx5_9",
          "nccl-env.io/status": "{\"v\":1,\"containers\":{\"c\":{\"set\":{\"NCCL_IB_TIMEOUT\":\"Policy\"}}}}"}},
      "spec": {"hostNetwork": true, "nodeName": "node-a",
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
          {"name": "ib", "hostPath": {"path": "/dev/infiniband"}},
          {"name": "nccl-env-conf", "downwardAPI": {"items": [{"path": "nccl.conf",
            "fieldRef": {"fieldPath": "metadata.annotations['host.nccl-env.io/nccl.conf']"}}]}}],
        "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "nics"}],
        "initContainers": [{"name": "nccl-env-resolve", "image": "registry.example/agent:1", "args": ["resolve"],
          "env": [{"name": "NCCL_ENV_POLICY", "value": "{}"}],
          "volumeMounts": [{"name": "nccl-env-conf", "mountPath": "/nccl-env"}]}],
        "containers": [{"name": "c", "image": "example.com/x", "imagePullPolicy": "Always",
          "command": ["mpirun", "-x", "NCCL_DEBUG=INFO"], "args": ["--mca", "mca_base_env_list", "NCCL_IB_HCA=a"],
          "env": [{"name": "NCCL_IB_TIMEOUT", "value": "22"}, {"name": "NCCL_IB_QPS_PER_CONNECTION", "value": "x"},
            {"name": "NCCL_IB_HCA",
              "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['host.nccl-env.io/NCCL_IB_HCA']"}}}],
          "envFrom": [{"prefix": "UCX_", "configMapRef": {"name": "m"}}],
          "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "ib", "mountPath": "/dev/infiniband"},
            {"name": "nccl-env-conf", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": true}],
          "resources": {"limits": {"rdma/hca": "1", "cpu": "8", "memory": "1Gi"},
            "requests": {"rdma/hca": "1"}, "claims": [{"name": "nic", "request": "r"}]},
          "securityContext": {"privileged": false, "capabilities": {"add": ["IPC_LOCK"]}}}],
        "securityContext": {"runAsUser": 0}}}}})");
}

inline nlohmann::json rich_binding_review() {
  return nlohmann::json::parse(
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "u2", "kind": {"group": "", "version": "v1", "kind": "Binding"},
    "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "binding", "name": "p",
    "namespace": "ml", "operation": "CREATE", "dryRun": false, "object": {"kind": "Binding", "apiVersion": "v1",
      "metadata": {"name": "p", "namespace": "ml", "uid": "x",
        "annotations": {"a": "b", "host.nccl-env.io/NCCL_IB_HCA": "=mlx5_9", "nccl-env.io/node": "{}"}},
      "target": {"kind": "Node", "name": "node-a"}}}})");
}

// By file; inside the pod, by claims; by networks, constants alone.
inline std::vector<std::shared_ptr<const NcclPolicy>> rich_policies() {
  NcclPolicy everywhere = policy_for("*", Exposure::Host);
  everywhere.host_devices = true;
  everywhere.containers = ContainerScope::All;
  everywhere.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
  everywhere.env = {{"NCCL_IB_TIMEOUT", "22"}, {"NCCL_IB_TC", "41"}, {"UCX_TLS", "rc,ud"}};
  NcclPolicy inside = policy_for("rdma/*");
  inside.device_classes = {"mrdma.google.com"};
  inside.host_devices = true;
  NcclPolicy constants = policy_for("rdma/*", Exposure::SubInterface);
  constants.networks = {{"*/rail-*", Exposure::SubInterface}, {"*", Exposure::PodOwned}};
  constants.env = {{"NCCL_DEBUG", "INFO"}};
  std::vector<std::shared_ptr<const NcclPolicy>> made;
  for (const NcclPolicy& policy : {everywhere, inside, constants})
    made.push_back(std::make_shared<const NcclPolicy>(policy));
  return made;
}

}  // namespace nccl_env::tests
