// SPDX-License-Identifier: Apache-2.0
// Job manifests as users write them, each with the outcome that its own comment states.
#include "cli/cli_run.h"
#include "commands/pod_preview.h"
#include "core/pods.h"
#include "nccl_env/base/yaml.h"
#include "nccl_env/core/policy/reader.h"

namespace nccl_env::workloads_test {
namespace {

using namespace nccl_env::tests;

using Words = std::map<std::string, std::string>;

class Workloads : public CliTest {
 protected:
  std::string import(const std::string& listing) {
    const CliResult result =
        run_cli({"table", "import", source_file("tests/data/tables/" + listing), "--node-interface", "eth0"});
    EXPECT_EQ(result.code, 0) << result.err;
    return write(listing + ".yaml", result.out);
  }

  static std::string text_of(const std::string& workload) {
    std::ifstream file(source_file("tests/data/workloads/" + workload));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // `workload` is YAML; the answer is a list of explanations.
  static Json explain(const std::string& workload, const std::string& policy, const std::string& table,
                      int code = 0) {
    const CliResult result =
        run_cli({"explain", "--policy", policy, "--table", table, "-f", "-", "--no-resolver", "-o", "json"},
                workload);
    EXPECT_EQ(result.code, code) << result.err;
    return Json::parse(result.out);
  }
};

// Returns what NCCL finds: the env with what commands set, then the lines of the file.
Words env_of(const Json& explanation) {
  Words env;
  const Json& container = explanation["containers"].at(0);
  for (const Json& variable : container["env"]) {
    if (variable["source"] != "User") env[variable["name"]] = variable["value"];
  }
  if (container["file"].is_null()) return env;
  for (const Json& line : container["file"]["lines"]) env.emplace(line["name"], line["value"]);
  return env;
}

Words omitted_of(const Json& explanation) {
  Words omitted;
  for (const Json& omission : explanation["containers"].at(0)["omitted"])
    omitted[omission["name"]] = omission["reason"];
  return omitted;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The policy's file and the workload's templates, as the webhook sees them.
NcclPolicy policy_of(const std::string& name) {
  std::ifstream file(source_file("policies/" + name + ".yaml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto documents = parse_documents(text, name);
  return *read_policy(documents->front(), {}).policy;
}

const std::string kRails = "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8";

// What the template of a workload is answered.
struct Given {
  std::string workload, policy, listing, specs, role;
  std::string answer;  // the exposure, or the reason to leave it alone
  Words env;
  std::string index;  // why it has none
};

TEST_F(Workloads, AreAnsweredAsTheirCommentsSay) {
  const std::string baidu = "baidu-roce-a100.show_gids.txt", erdma = "alibaba-erdma.ibv_devinfo.txt";
  const Words pod_network{{"NCCL_IB_HCA", kRails},
                          {"NCCL_SOCKET_IFNAME", "eth0"},
                          {"NCCL_IB_TIMEOUT", "22"},
                          {"NCCL_IB_QPS_PER_CONNECTION", "8"}},
      active_port{{"NCCL_IB_HCA", "=rocep26s0"},
                  {"NCCL_SOCKET_IFNAME", "eth0"},
                  {"NCCL_NET_GDR_LEVEL", "1"},
                  {"NCCL_P2P_LEVEL", "5"}};
  const std::string torch = "pytorchReplicaSpecs", tf = "tfReplicaSpecs", mpi = "mpiReplicaSpecs";
  const Given rows[] = {
      {"baidu-pytorchjob", "baidu-roce", baidu, torch, "Master", "SubInterface", pod_network,
       "PodGidUnknown"},
      {"baidu-pytorchjob", "baidu-roce", baidu, torch, "Worker", "SubInterface", pod_network,
       "PodGidUnknown"},
      {"erdma-pytorchjob", "alibaba-erdma", erdma, torch, "Master", "SubInterface", active_port,
       "OmittedByPolicy"},
      {"erdma-pytorchjob", "alibaba-erdma", erdma, torch, "Worker", "SubInterface", active_port,
       "OmittedByPolicy"},
      {"erdma-tfjob", "alibaba-erdma", erdma, tf, "PS", "Host", active_port, "OmittedByPolicy"},
      {"erdma-tfjob", "alibaba-erdma", erdma, tf, "Worker", "Host", active_port, "OmittedByPolicy"},
      {"eni-mpijob", "generic-rdma", baidu, mpi, "Launcher", "NotRdma", {}, ""},
      {"eni-mpijob", "generic-rdma", baidu, mpi, "Worker", "NotRdma", {}, ""},
      {"topology-mpijob", "generic-rdma", baidu, mpi, "Launcher", "NotRdma", {}, ""},
      {"topology-mpijob",
       "generic-rdma",
       baidu,
       mpi,
       "Worker",
       "SubInterface",
       {{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_HCA", kRails}, {"NCCL_SOCKET_IFNAME", "eth0"}},  // two by mpirun -x
       "PodGidUnknown"}};
  for (const Given& row : rows) {
    SCOPED_TRACE(row.workload + " " + row.role);
    const Json all = explain(
        text_of(row.workload + ".yaml"), source_file("policies/" + row.policy + ".yaml"), import(row.listing),
        row.workload == "eni-mpijob" ? 1 : 0);  // GPUs of several pods, and TCP between them
    ASSERT_THAT(all, SizeIs(2));
    const Json& given = all[row.role == "Worker" ? 1 : 0];
    EXPECT_EQ(given["template"], "spec." + row.specs + "." + row.role + ".template");
    const bool alone = row.env.empty();
    EXPECT_EQ(given["state"], alone ? "not injected" : "given");
    EXPECT_EQ(alone ? given["reason"] : given["status"]["exposure"], row.answer);
    if (alone) continue;
    EXPECT_EQ(env_of(given), row.env);
    EXPECT_EQ(omitted_of(given)["NCCL_IB_GID_INDEX"], row.index);
  }
}

TEST_F(Workloads, AWrongValueThatALauncherGivesToRanksIsToldThere) {
  const std::string job = replaced(text_of("topology-mpijob.yaml"), "IFNAME=eth0", "IFNAME=lo");
  const Json all = explain(job + "---\n" + job, source_file("policies/generic-rdma.yaml"),
                           import("baidu-roce-a100.show_gids.txt"), 1);
  EXPECT_EQ(all[0]["findings"][0]["code"], "LoopbackFirst");
  EXPECT_EQ(all[0]["remedy"], all[0]["findings"][0]["remedy"]) << "no longer: nothing to do";
  for (const std::size_t other : {1u, 2u, 3u}) EXPECT_EQ(all[other]["good"], true) << other;
}

// Takes what carries our file out of a list that the user may have begun.
void take_out(Json& from, const char* list) {
  Json kept = Json::array();
  for (const Json& item : from.value(list, Json::array())) {
    if (item["name"] != "nccl-env-conf") kept.push_back(item);
  }
  kept.empty() ? void(from.erase(list)) : void(from[list] = kept);
}

struct Submitted {
  std::string workload;
  std::string policy;
  std::vector<std::string> kept;  // the user's variables of an injected container
};

// A pod that is admitted differs from the one that was written by our own entries and annotations alone.
TEST_F(Workloads, WhatTheUserWroteStaysAsItIs) {
  const std::vector<Submitted> all = {
      {"baidu-pytorchjob.yaml", "baidu-roce", {"NCCL_DEBUG=INFO", "NCCL_IB_DISABLE=0"}},
      {"erdma-pytorchjob.yaml", "alibaba-erdma", {"NCCL_DEBUG=INFO", "NCCL_ALGO=Ring"}},
      {"erdma-tfjob.yaml", "alibaba-erdma", {}},
      {"topology-mpijob.yaml", "generic-rdma", {}},
      {"eni-mpijob.yaml", "generic-rdma", {}}};
  for (const Submitted& each : all) {
    const auto documents = parse_documents(text_of(each.workload), each.workload);
    ASSERT_TRUE(documents.ok()) << documents.error().message;
    for (const cli::PodTemplate& source : cli::find_pod_templates(documents->front())) {
      const Json& before = source.pod;
      const Admitted admitted = admit(before, policy_of(each.policy));
      if (!admitted.plan.inject) {
        EXPECT_EQ(admitted.pod, before) << each.workload << " " << source.path;
        continue;
      }
      std::vector<std::string> first;
      Json after = admitted.pod;
      Json& container = after["spec"]["containers"][0];
      for (std::size_t i = 0; i < each.kept.size(); ++i) {
        const Json& entry = container["env"][i];
        first.push_back(entry["name"].get<std::string>() + "=" + entry["value"].get<std::string>());
      }
      EXPECT_EQ(first, each.kept) << each.workload;
      const Json& original = before["spec"]["containers"][0];
      original.contains("env") ? void(container["env"] = original["env"]) : void(container.erase("env"));
      take_out(container, "volumeMounts");
      take_out(after["spec"], "volumes");
      EXPECT_EQ(after["spec"], before["spec"]) << each.workload << " " << source.path;
    }
  }
}

// mpi-operator v2 starts sshd in workers without a command, and an image may start it by itself: sshd's
// children see no env, so that the file stands beside EnvFile, too. Older operators (ACK's Arena) start ranks
// by kubectl exec, whose processes have the container's env.
TEST_F(Workloads, WorkersOfAnMpiJobHaveTheFileByEachCarrierThatIsNotEnvAlone) {
  const auto has_file = [&](const std::string& job, const std::string& delivery) {
    const std::string policy =
        write("mpi.yaml",
              "apiVersion: nccl-env.io/v1alpha1\nkind: NcclPolicy\nmetadata: {name: p}\nspec:\n"
              "  match: {resources: [{name: rdma/hca, exposure: Host}]}\n  delivery: [" +
                  delivery + "]\n");
    const CliResult result = run_cli({"explain", "--policy", policy, "--table",
                                      import("baidu-roce-a100.show_gids.txt"), "-f", "-", "-o", "json"},
                                     job);
    const Json all = Json::parse(result.out);
    EXPECT_EQ(all.size(), 2u) << result.err;
    EXPECT_EQ(all[0]["state"], "not injected") << "the launcher";
    return !all[1]["containers"].at(0)["file"].is_null();
  };
  const std::string job = text_of("topology-mpijob.yaml"),
                    sshd = "            command: [/usr/sbin/sshd, -De]\n";
  const std::string bare = replaced(job, sshd, "");
  const std::string script = replaced(job, "[/usr/sbin/sshd, -De]", "[sh, -c, service ssh start; sleep inf]");
  for (const std::string& each : {job, bare, script}) {
    EXPECT_TRUE(has_file(each, "File"));
    EXPECT_TRUE(has_file(each, "EnvFile"));
  }
  const std::string exec = replaced(bare, "kubeflow.org/v2beta1", "kubeflow.org/v1");
  EXPECT_TRUE(has_file(exec, "File"));
  EXPECT_FALSE(has_file(exec, "EnvFile"));
}

}  // namespace
}  // namespace nccl_env::workloads_test
