// SPDX-License-Identifier: Apache-2.0
// Paths of the API server's collections and objects. Names are escaped here.
#pragma once

#include <string>
#include <string_view>

namespace nccl_env::kube {

// A kind of objects: "/apis/apps/v1" and "deployments".
struct Resource {
  std::string_view group, plural;
};
inline constexpr Resource kPolicies{"/apis/nccl-env.io/v1alpha1", "ncclpolicies"};
inline constexpr Resource kTables{"/apis/nccl-env.io/v1alpha1", "nodefabrics"};
inline constexpr Resource kNamespaces{"/api/v1", "namespaces"};
inline constexpr Resource kNodes{"/api/v1", "nodes"};
inline constexpr Resource kPods{"/api/v1", "pods"};
inline constexpr Resource kEvents{"/api/v1", "events"};
inline constexpr Resource kServices{"/api/v1", "services"};
inline constexpr Resource kSecrets{"/api/v1", "secrets"};
inline constexpr Resource kDeployments{"/apis/apps/v1", "deployments"};
inline constexpr Resource kDaemonSets{"/apis/apps/v1", "daemonsets"};
inline constexpr Resource kCrds{"/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"};
inline constexpr std::string_view kHookGroup = "/apis/admissionregistration.k8s.io/v1";
inline constexpr Resource kAccessReviews{"/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews"};

// All objects of the kind; those of all namespaces where they have one.
std::string path_of(const Resource& resource);
// An object that has no namespace.
std::string path_of(const Resource& resource, std::string_view name);
std::string path_in(std::string_view name_space, const Resource& resource);
std::string path_in(std::string_view name_space, const Resource& resource, std::string_view name);

// Appends "a=1" behind a question mark, or behind an ampersand if the path has a query.
std::string with_query(std::string path, std::string_view query);
// Narrow a collection by a selector, "spec.nodeName=gpu-1,status.phase!=Failed"; "": all objects.
std::string by_field(std::string path, std::string_view selector);
std::string by_label(std::string path, std::string_view selector);

// For a value in a path or query: everything but unreserved characters becomes %XX.
std::string escaped(std::string_view text);

}  // namespace nccl_env::kube
