// SPDX-License-Identifier: Apache-2.0
// Judges whether the parts of an installation are there, fit together and work, from what was seen of them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "check/checked.h"
#include "cluster/objects.h"
#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

inline constexpr const char* kWebhookName = "nccl-env-webhook";      // of Deployment and Service
inline constexpr const char* kAgentName = "nccl-env-agent";          // of the DaemonSet
inline constexpr const char* kCertificate = "nccl-env-webhook-tls";  // of the Secret

// Objects of a kind by the name of their node, or the sentence that says why they were not seen.
struct SeenByNode {
  std::string problem;  // "": all were read
  std::map<std::string, bool> items;
};

// A namespace of ours, with the level of Pod Security that it is to enforce, and why.
struct OwnSpace {
  std::string name, level, why;
  LookUp found{};
};

struct InstalledParts {
  Timestamp now;
  // As the manifests have them.
  OwnSpace webhook_space{"nccl-env", "restricted", "the webhook needs no more than restricted"};
  OwnSpace agent_space{"nccl-env-agent", "privileged", "the agent needs the host's network and /sys"};
  LookUp version;  // of the API server
  LookUp policy_crd, table_crd;
  LookUp mutating, validating;                         // webhook configurations
  LookUp webhook_rights, agent_rights, secret_rights;  // bindings
  LookUp webhook_role, agent_role, secret_role;        // what these bind
  LookUp service, secret, deployment, daemon_set;
  SeenByNode agents;  // whether the agent's pod there is ready
  // By Deployment or DaemonSet what keeps its first pod that is not well: "container webhook cannot start
  // (…)".
  std::map<std::string, std::string> troubles;
  SeenByNode tables;
};

// The namespace of the Service that the hooks call; "" where they name none.
std::string service_namespace(const nlohmann::json& webhook_configuration);

// Returns the namespace of the agents' DaemonSet; `otherwise` where none is found. Needs list of daemonsets
// of all namespaces.
std::string agent_namespace(kube::ApiServer& client, const std::string& otherwise);

// True if nothing is there; false if a part could not be read, since it may be there.
bool is_nothing(const InstalledParts& parts);

// Needs get of the objects, list of pods in their namespaces, and list of nodefabrics and daemonsets. A
// sentence stands in place of an object that may not be read; fails only if the cluster does not answer.
Result<InstalledParts> survey_parts(kube::ApiServer& client, Timestamp now);
// Reads the API server's version alone. Everybody may ask for it: no answer means that there is no cluster to
// ask.
Status survey_version(kube::ApiServer& client, InstalledParts& into);

Judged judge_version(const LookUp& version);
// Whether it is there, and enforces its level.
Judged judge_space(const OwnSpace& space);
Checks judge_parts(const InstalledParts& parts);
// Names the first part whose error keeps the API server from calling the webhook; "": it may be called.
std::string uncallable(const Checks& checks);
// An error on parts that need a moment is a warning while the installation is that young.
Checked while_starting(const InstalledParts& parts, Checked checked);

}  // namespace nccl_env::cli
