// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/known_names.h"

#include <vector>

#include "nccl_env/core/fabric/node_fabric.h"
#include "nccl_env/core/text/glob.h"

namespace nccl_env {
namespace {

struct KnownResource {
  std::string_view glob;
  Exposure exposure;
  bool by_network = false;  // shared, and only a secondary network that the pod asks for brings a GID
};

constexpr auto kShared = Exposure::SubInterface;
constexpr auto kMoved = Exposure::PodOwned;
constexpr bool kByNetwork = true;

// Sources are public documents and manifests, named by publisher or repository.
constexpr KnownResource kKnown[] = {
    // Baidu CCE and Alibaba ACK Lingjun device plugins, shared mode.
    {"rdma/hca", kShared},
    // Spiderpool, one shared resource per rail.
    {"rdma/hca[1-8]", kShared, kByNetwork},
    // Mellanox/k8s-rdma-shared-dev-plugin, example/test-hca-pod.yaml.
    {"rdma/hca_shared_devices", kShared, kByNetwork},
    {"rdma/hca_shared_devices_?", kShared, kByNetwork},
    // NVIDIA network-operator documentation (_a, _b, _c); Red Hat OpenShift AI (_eth, _ib, _dx_bond).
    {"rdma/rdma_shared_device_*", kShared, kByNetwork},
    // Azure aks-rdma-infiniband; CoreWeave, where the same name also stands for macvlan RoCE.
    {"rdma/ib", kShared},
    // Azure aks-rdma-infiniband, the shared plugin.
    {"rdma/shared_ib", kShared},
    // Nscale: beside the two above, for HDR ports.
    {"rdma/ib_hdr", kShared},
    {"rdma/shared_ib_hdr", kShared},
    // llm-d and KServe presets (roce_gdr and others): shared devices on one site, virtual functions on the
    // next.
    {"rdma/roce*", kMoved},
    {"nvidia.com/roce*", kMoved},
    // Mellanox/k8s-rdma-sriov-dev-plugin in its SR-IOV mode: virtual functions.
    {"rdma/vhca*", kMoved},
    // Spiderpool get-started guides: shared plugin with macvlan; virtual functions.
    {"spidernet.io/shared_*", kShared, kByNetwork},
    {"spidernet.io/gpu*sriov", kMoved},
    {"spidernet.io/gpu*rdma", kMoved},
    // alibabacloud-erdma-controller.
    {"aliyun/erdma", kShared},
    // Tencent TKE: names hold in both modes, the index only in the exclusive one.
    {"tke.cloud.tencent.com/rdma-hca", kShared},
    // Volcengine VKE: exclusive, shared and shared-multi mode under one name.
    {"vke.volcengine.com/rdma", kMoved},
    // NVIDIA network-operator, host-device network and SR-IOV examples.
    {"nvidia.com/hostdev", kMoved},
    {"nvidia.com/mlnxnics", kMoved},
    {"nvidia.com/sriovlegacy", kMoved},
    {"nvidia.com/sriov_resource", kMoved},
    // OCI OKE, oci-hpc-oke.
    {"nvidia.com/rdma-vf", kMoved},
    {"nvidia.com/sriov-rdma-vf", kMoved},
    // NVIDIA DeepOps, one resource per InfiniBand port.
    {"nvidia.com/resib*", kMoved},
    // OpenShift SR-IOV operator. Not openshift.io/mlnx_bf: DPU offload without RDMA.
    {"openshift.io/mlnxnics", kMoved},
    {"openshift.io/mlnx_sriov_rdma", kMoved},
    {"openshift.io/mlnx_rdma", kMoved},
    {"openshift.io/sriovlegacy", kMoved},
    {"openshift.io/*rdma*", kMoved},
    // Koordinator, device allocation.
    {"koordinator.sh/rdma", kMoved},
    // GKE multi-network, google/container-engine-accelerators.
    {"networking.gke.io.networks/rdma-[0-7]", kMoved},
    // AMD network-operator: a whole port or a virtual function.
    {"amd.com/nic", kMoved},
    {"amd.com/vnic", kMoved},
};

const KnownResource* find_known(std::string_view resource) {
  for (const KnownResource& known : kKnown) {
    if (glob_matches(known.glob, resource)) return &known;
  }
  return nullptr;
}

}  // namespace

std::optional<Exposure> known_exposure(std::string_view resource) {
  const KnownResource* known = find_known(resource);
  return known ? std::optional(known->exposure) : std::nullopt;
}

std::string_view device_class_of(std::string_view resource) {
  constexpr std::string_view kOfClass = "deviceclass.resource.kubernetes.io/";
  return resource.starts_with(kOfClass) ? resource.substr(kOfClass.size()) : std::string_view();
}

std::span<const std::string_view> known_resources() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const KnownResource& known : kKnown) {
      if (known.glob.find_first_of("*?[\\") == known.glob.npos) names.push_back(known.glob);
    }
    return names;
  }();
  return kNames;
}

bool needs_network(std::string_view resource) {
  const KnownResource* known = find_known(resource);
  return known && known->by_network;
}

bool is_extended_resource(std::string_view name) {
  // Kubernetes looks for the text anywhere in front of the slash, and keeps "requests." for quotas.
  return name.find('/') != name.npos && name.find("kubernetes.io/") == name.npos &&
         !name.starts_with("requests.") && is_label_key(name);
}

bool is_compute_domain_class(std::string_view device_class) {
  return glob_matches("compute-domain*.nvidia.com", device_class);
}

bool is_efa_class(std::string_view device_class) {
  return device_class == "efa.networking.k8s.aws";
}

}  // namespace nccl_env
