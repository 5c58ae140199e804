// SPDX-License-Identifier: Apache-2.0
// The commands of nccl-env: their arguments as they come from the command line, and what they do. Each
// returns an ExitCode, and has written nothing to `out` if that is kRefused for its input.
#pragma once

#include <string>
#include <vector>

#include "cluster/connection.h"
#include "cluster/pod_log.h"
#include "nccl_env/cli/cli.h"
#include "nccl_env/core/decide/decide.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {

struct ImportArguments {
  std::string node;
  std::string node_interface;
  std::string format = "auto";
  std::string output = "yaml";
  std::vector<std::string> files;
};
int import_tables(const ImportArguments& arguments, const Terminal& terminal);

struct ShowArguments {
  std::vector<std::string> files;
  PolicyArguments policy;
  std::string at;  // RFC 3339; "": now
  std::string output = "text";
};
int show_tables(const ShowArguments& arguments, const Terminal& terminal);

// Why a command ends early; kDone: it does not.
struct Failure {
  ExitCode code = kDone;
  std::string message;
};

struct ExplainArguments {
  std::vector<std::string> target;  // pod/NAME, job/NAME, or two words; pod or job of the file
  ClusterArguments cluster;
  PolicyArguments policy;
  std::vector<std::string> tables;
  std::string pod;
  std::vector<std::string> claims;  // files with what the pods claim, beside the pods' own
  std::string node;
  std::string nccl_version;  // "": the newest that is known
  std::string at;
  std::string output = "text";
  std::string review;  // instead of a pod: a captured AdmissionReview
  std::string store;   // with it: "dir:PATH"
  Resolver resolver;   // as the webhook's; its image is "" if none
};
int explain_pods(const ExplainArguments& arguments, const Terminal& terminal);

struct SelectArguments {
  std::string table;
  std::string node;  // where the file holds several
  std::string nccl_version;
  std::vector<std::string> env;  // NAME=VALUE
  std::string output = "text";
};
int select_with_nccl(const SelectArguments& arguments, const Terminal& terminal);

struct CheckArguments {
  std::vector<std::string> files;
  bool allow_code_paths = false;
};
int check_policies(const CheckArguments& arguments, const Terminal& terminal);

// Where the tables and policies of a cluster are.
struct SourceArguments {
  std::vector<std::string> files;  // with tables
  PolicyArguments policy;          // its file with `files` only
  std::string store;               // "dir:PATH"
  std::string kubeconfig;          // with neither
};

// Whose pods are tried, and what they are like.
struct NamespaceArguments {
  std::string name;      // "": the fabric is looked at instead
  std::string resource;  // "": those that the policy matches
  std::string cpu = "1";
  std::string memory = "1Gi";
  std::string image = "registry.k8s.io/pause:3.10";
};

struct DoctorArguments {
  SourceArguments source;
  std::string at;
  std::string max_table_age = "3h";
  std::string output;
  NamespaceArguments of_namespace = {};  // of doctor
};
int diagnose_namespace(const DoctorArguments& arguments, const Terminal& terminal);
int diagnose_cluster(const DoctorArguments& arguments, const Terminal& terminal);
int list_nodes(const DoctorArguments& arguments, const Terminal& terminal);
// `output` is a file, or -.
int report_fabric(const DoctorArguments& arguments, const Terminal& terminal);

struct VerifyArguments {
  std::string log;         // a file, "-", or pod/NAME
  std::string name_space;  // of pod/NAME; "": the kubeconfig's
  std::string kubeconfig;
  PodLogOptions of_log;
  std::string pod;        // "": nothing is held against the log
  std::string container;  // "": all
  std::string output = "text";
};
int verify_nccl_log(const VerifyArguments& arguments, const Terminal& terminal);

struct UninstallArguments {
  bool check = false;
  std::string kubeconfig;
  std::string output = "text";
};
int check_uninstall(const UninstallArguments& arguments, const Terminal& terminal);

struct CompletionArguments {
  std::string shell;
};
int print_completion(const CompletionArguments& arguments, const Terminal& terminal);

struct ReasonsArguments {
  std::string name;  // "": all
};
int list_reasons(const ReasonsArguments& arguments, const Terminal& terminal);

}  // namespace nccl_env::app
