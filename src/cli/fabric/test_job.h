// SPDX-License-Identifier: Apache-2.0
// A test of a fabric by packets (docs/use/fabric-test.md), as a Job of the cluster.
//
//   a job's pod --> [ TestTemplate ] --+
//   nodes, image, token --> [ TestJob ] --> Job, Service      objects; nothing is asked here
//                               |
//                               v
//                        [ run_test ] --journal of member 0--> [ Proof ]      creates, reads, deletes
//                               |                                  |
//                               +------pods' states-----> [ UntestedNode ]*   nodes that did not come
//
// The command owns all of them. What is in the cluster is deleted on every end, and ends by itself if the
// command cannot.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "nccl_env/judge/explain/pod_record.h"
#include "nccl_env/kube/paths.h"

namespace nccl_env::cli {

inline constexpr kube::Resource kJobs{"/apis/batch/v1", "jobs"};
inline constexpr const char* kTestContainer = "fabric-test";
inline constexpr const char* kJobLabel = "batch.kubernetes.io/job-name";
inline constexpr const char* kPlaceLabel = "batch.kubernetes.io/job-completion-index";
// Each pod names all nodes: this many pods take 80 MiB of etcd.
inline constexpr std::size_t kMostTestNodes = 1000;
inline constexpr std::size_t kMostAllPairs = 64;  // nodes

struct TestTemplate {
  nlohmann::json pod;            // of a job: metadata and spec
  GivenContainer container;      // that has the devices
  std::set<std::string> claims;  // of the pod that bring no network device: left out
};

struct TestJob {
  std::string name, name_space, image, token;
  std::vector<std::string> nodes;
  bool all_pairs = false, cross_rails = false;
  std::chrono::seconds wait{60}, deadline{600}, kept{300};
};

// Gives it a name and a token that nobody guesses.
void name_anew(TestJob& job);

nlohmann::ordered_json job_object(const TestTemplate& from, const TestJob& job);
// The pod that the Job makes, to be tried beforehand.
nlohmann::ordered_json pod_object(const TestTemplate& from, const TestJob& job);
// Gives the pods names, from their creation on. `uid`: of the Job, with which it goes; "": nobody's.
nlohmann::ordered_json service_object(const TestJob& job, const std::string& uid);

}  // namespace nccl_env::cli
