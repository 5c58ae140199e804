// SPDX-License-Identifier: Apache-2.0
// nccl-env env and run: what a process on this machine gets, from a small copy of /sys.
#include <sys/wait.h>

#include <cstdlib>

#include "cli/cli_inputs.h"

namespace nccl_env::env_test {
namespace {

using namespace nccl_env::tests;

// Variables for the time of a test.
class SetHere {
 public:
  SetHere(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~SetHere() { ::unsetenv(name_.c_str()); }
  SetHere(const SetHere&) = delete;
  SetHere& operator=(const SetHere&) = delete;

 private:
  const std::string name_;
};

// Two RoCE rails with the same usable row; more ports where a test adds them.
class Machine : public CliTest {
 protected:
  void add_file(const std::string& name, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(sysfs) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  void add_rail(const std::string& hca, const std::string& address, const std::string& layer = "Ethernet") {
    const std::string port = "class/infiniband/" + hca + "/ports/1/";
    add_file("class/infiniband/" + hca + "/node_type", "1: CA");
    add_file(port + "state", "4: ACTIVE");
    add_file(port + "link_layer", layer);
    add_file(port + "rate", "400 Gb/sec (4X NDR)");
    add_file(port + "gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001");
    add_file(port + "gids/1", "0000:0000:0000:0000:0000:ffff:" + address);
    add_file(port + "gid_attrs/types/0", "RoCE v2");
    add_file(port + "gid_attrs/types/1", "RoCE v2");
    for (const char* row : {"0", "1"}) add_file(port + "gid_attrs/ndevs/" + row, "net-" + hca);
  }

  [[nodiscard]] CliResult env(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"env", "--sysfs", sysfs});
    return run_cli(more);
  }

  const std::string sysfs = path("sys");
};

class TwoRails : public Machine {
 protected:
  TwoRails() {
    add_rail("mlx5_0", "0a00:0001");
    add_rail("mlx5_1", "0a00:0101");
  }
};

// The command takes the place of the process: in a child, which prints into a file.
int exit_of(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_cli(arguments).code);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(TwoRails, AreWrittenInEachForm) {
  for (const char* form : {"sh", "slurm", "dotenv", "systemd", "compose", "json"})
    expect_shown(env({"-o", form}));
  EXPECT_THAT(env({"--nccl-version", "2.27.3"}).out, Not(HasSubstr("export NCCL_IB_GID_INDEX")))
      << "it searches by itself";
  add_rail("mlx5_10", "0a00:0201", "InfiniBand");
  EXPECT_THAT(env({"--policy", write("p.yaml", kPolicy + "  fabric: {linkLayer: Ethernet}\n")}).out,
              HasSubstr("'=mlx5_0,mlx5_1'"))
      << "exact where a name begins another";
}

TEST_F(TwoRails, TheUsersOwnStayAndAreJudged) {
  const SetHere list("NCCL_IB_HCA", "=mlx5_7"), misspelt("NCCL_IB_TIMOUT", "22");
  EXPECT_EQ(env().code, 1);
  EXPECT_THAT(env().out, AllOf(HasSubstr("error NoSuchDevice"), HasSubstr("warning UnknownVariable"),
                               HasSubstr("# NCCL_IB_HCA: UserSet"), Not(HasSubstr("export"))));
  EXPECT_THAT(env({"-i"}).out, HasSubstr("export NCCL_IB_HCA='mlx5_0,mlx5_1'"));
}

TEST_F(TwoRails, AWarningEndsWithItsReasonAndARowThatIsMissingHasARemedy) {
  EXPECT_THAT(env({"-e", "UCX,Gloo"}).out, HasSubstr("which ranks of other nodes may have.\n"
                                                     "#   Set the interface yourself, or give --address"));
  for (const char* hca : {"mlx5_2", "mlx5_3"}) add_rail(hca, "0a00:0201");
  add_file("class/infiniband/mlx5_3/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  EXPECT_THAT(env().out, HasSubstr("Give the interfaces of these ports their addresses"));
  add_file("class/infiniband/mlx5_2/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  EXPECT_THAT(env().out, HasSubstr("no address by design; else give their netdevs one.")) << "two are usual";
  for (const char* hca : {"mlx5_2", "mlx5_3"})
    add_file("class/infiniband/" + std::string(hca) + "/ports/1/state", "1: DOWN");
  EXPECT_THAT(env({"--hcas", "mlx5_*"}).out, HasSubstr("no cable by design; else bring up their netdevs."));
  EXPECT_THAT(env({"--hcas", "mlx5_9"}).out, HasSubstr("no match for hcas (mlx5_9)"));
}

// Which of nine ports are rails cannot be told: the reason stands once, beside what decides, and --hcas says
// it.
TEST_F(Machine, WhereItCannotTellTheStatesAreSaidAndTheFabricIsNamed) {
  for (int i = 0; i < 9; ++i) add_rail("mlx5_" + std::to_string(i), "0a00:0001", "InfiniBand");
  for (const char* hca : {"mlx5_7", "mlx5_8"})
    add_file("class/infiniband/" + std::string(hca) + "/ports/1/state", "1: DOWN");
  const CliResult told = env();
  EXPECT_EQ(told.code, 1);
  EXPECT_THAT(
      told.out,
      AllOf(StartsWith("# warning NoList"), HasSubstr("#   Active: 7 x InfiniBand mlx5_0,mlx5_1,"),
            HasSubstr("; not Active: 2 x InfiniBand mlx5_7,mlx5_8\n"),
            HasSubstr("# NCCL_IB_HCA, NCCL_IB_GID_INDEX: AmbiguousFabric\n"), HasSubstr("--hcas NAME,NAME")));
  EXPECT_EQ(told.out.find("look alike"), told.out.rfind("look alike"));
  EXPECT_THAT(told.err, HasSubstr("look alike")) << "eval shows no comment";
  EXPECT_THAT(env({"--hcas", "mlx5_[0-6],=mlx5_1"}).out, StartsWith("# error NoSuchDevice: --hcas"));
  const CliResult named = env({"--hcas", "mlx5_[0-6]"});
  EXPECT_EQ(named.code, 0) << named.out;
  EXPECT_THAT(named.out,
              AllOf(HasSubstr("NCCL_IB_HCA='mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6'"),
                    HasSubstr("# NCCL_IB_HCA leaves out 2 of this machine's 9 HCAs: mlx5_7, mlx5_8.\n")));
  const CliResult not_started = run_cli({"run", "--sysfs", sysfs, "--hcas", "mlx5_[0-6]", path("absent")});
  ::unsetenv("NCCL_IB_HCA");
  EXPECT_THAT(not_started.err, StartsWith("nccl-env: NCCL_IB_HCA leaves out 2 of this machine's 9 HCAs"));
}

// A process that keeps NCCL from the fabric itself is told so before all else.
TEST_F(TwoRails, WhatKeepsNcclFromThemIsSaidFirst) {
  for (const auto& [name, value] : {std::pair("NCCL_IB_DISABLE", "1"), std::pair("NCCL_NET", "Socket")}) {
    const SetHere own(name, value);
    EXPECT_EQ(env().code, 0);
    EXPECT_THAT(env().err, StartsWith("nccl-env: This environment's " + std::string(name) + " keeps"));
    EXPECT_THAT(env().out, Not(HasSubstr("container")));
  }
}

// Environment beats file in NCCL, so a line of a file there must not be beaten by ours.
TEST_F(TwoRails, ALineOfTheUsersFileCountsAsSet) {
  const std::string policy =
      write("p.yaml", kPolicy + "  env: {NCCL_IB_TIMEOUT: \"22\", NCCL_IB_TC: \"106\"}\n");
  const SetHere named("NCCL_CONF_FILE", write("nccl.conf", "# mine\nNCCL_IB_TIMEOUT=14\nOTHER=1\n"));
  EXPECT_THAT(env({"--policy", policy}).out,
              AllOf(HasSubstr("NCCL_IB_TC='106'"), Not(HasSubstr("export NCCL_IB_TIMEOUT")),
                    HasSubstr("# NCCL_IB_TIMEOUT: UserSet: It is set already, in " + path("nccl.conf"))));
  write("nccl.conf", "NCCL_IB_HCA==mlx5_7\n");  // wrong, and to be removed there
  EXPECT_THAT(env().out,
              AllOf(HasSubstr("Unset NCCL_IB_HCA, in " + path("nccl.conf") + ", to have"),
                    HasSubstr("UserSetGroup: This environment or its nccl.conf sets NCCL_IB_HCA")));
  const SetHere list("NCCL_IB_HCA", "=mlx5_7");
  EXPECT_THAT(env().out, AllOf(HasSubstr("Unset NCCL_IB_HCA, also in nccl.conf, to have"),
                               HasSubstr("UserSet: It is set already, in this environment.")));
}

// There is neither a pod to look into nor a table to show.
TEST_F(Machine, RemediesAreOfAMachine) {
  for (const char* hca : {"mlx5_0", "mlx5_1"}) {
    add_rail(hca, "0a00:0001");
    add_file("class/infiniband/" + std::string(hca) + "/ports/1/state", "1: DOWN");
  }
  for (const char* form : {"sh", "json"})
    EXPECT_THAT(env({"-o", form}).out, AllOf(HasSubstr("`rdma link` shows the ports"),
                                             Not(HasSubstr("nodes NAME")), Not(HasSubstr("in the pod"))));
}

TEST_F(Machine, ATaskPrologNeverStopsAJobAndRunStartsItsCommand) {
  add_file("class/infiniband/.keep", "");
  expect_shown(env(), 3);
  EXPECT_EQ(env({"-o", "slurm"}).code, 0);
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "--", "sh", "-c", "exit 5"}), 5);
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "--hcas", "a,b", "--", "sh", "-c", "exit 6"}), 6);
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "--", path("absent")}), 127);
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "--", sysfs}), 126) << "a directory";
  add_rail("mlx5_0", "0a00:0001");
  const SetHere list("NCCL_IB_HCA", "=mlx5_7");
  EXPECT_EQ(env().code, 1);
  EXPECT_EQ(env({"-o", "slurm"}).code, 0);
}

// Found by a judge: EFA was told that NCCL falls back to sockets, and to bring its ports up.
TEST_F(Machine, EfaIsForAnotherPluginAndNothingIsWrong) {
  add_file("class/infiniband/efa_0/node_type", "6: unspecified");
  add_file("class/infiniband/efa_0/ports/1/state", "4: ACTIVE");
  add_file("class/infiniband/efa_0/ports/1/link_layer", "Unknown");
  expect_shown(env(), 3);
  EXPECT_THAT(env({"-o", "slurm"}).out, StartsWith("# NCCL does not reach"));
  add_rail("mlx5_0", "0a00:0001");
  EXPECT_THAT(env().out, HasSubstr("export NCCL_IB_HCA='mlx5_0'"));
}

TEST_F(Machine, MistakesAreUsage) {
  add_rail("mlx5_0", "0a00:0001");
  expect_shown(run_cli(words("env --address here")), 2);
  for (const char* line : {"env --nccl-version 1.0", "env -o xml", "run", "run --"})
    EXPECT_EQ(run_cli(words(line)).code, 2);
  EXPECT_EQ(env({"--policy", path("absent")}).code, 4);
}

TEST_F(Machine, ACopyOfSysIsCheckedBeforeItIsCalledEmpty) {
  const std::pair<const char*, int> folders[] = {{"", 2}, {"/class", 3}, {"/class/infiniband", 3}};
  for (const auto& [folder, code] : folders) {
    std::filesystem::create_directories(sysfs + folder);
    expect_shown(env(), code);
  }
  expect_shown(env({"--address", "10.0.0.1"}), 2);
  expect_shown(env({"--policy-name", "p"}), 2);
}

TEST_F(TwoRails, WhatAnEngineLacksHasItsReason) {
  EXPECT_THAT(run_cli({"env", "-e", "ucx", "--sysfs", sysfs, "-i"}).out,
              HasSubstr("# UCX_NET_DEVICES: EngineCannotSay: "));
  const SetHere own("NCCL_SOCKET_IFNAME", "eth9");
  EXPECT_THAT(run_cli({"env", "-e", "ucx,nvshmem", "--sysfs", sysfs}).out,
              HasSubstr("this-machine: its table"));
}

TEST_F(TwoRails, RunAddsThemAndLeavesWhatIsSet) {
  const SetHere own("NCCL_IB_GID_INDEX", "1");
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "--", "sh", "-c",
                     "test $NCCL_IB_HCA.$NCCL_IB_GID_INDEX = mlx5_0,mlx5_1.1 && exit 7"}),
            7);
  // As behind env or timeout: what follows the command is the command's.
  EXPECT_EQ(exit_of({"run", "--sysfs", sysfs, "sh", "-c", "exit 9"}), 9);
  EXPECT_EQ(exit_of({"run", "-e", "ucx", "--sysfs=" + sysfs, "-i", "test", "-v", "=", "--help"}), 1);
}

}  // namespace
}  // namespace nccl_env::env_test
