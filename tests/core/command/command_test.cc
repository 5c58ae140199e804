// SPDX-License-Identifier: Apache-2.0
#include "command/command.h"

#include "core/decide/decided.h"
#include "nccl_env/core/decide/launcher.h"
#include "support/matchers.h"

namespace nccl_env::tests::command_test {
namespace {

using Command = std::vector<std::string_view>;

std::vector<CommandValue> values_of(const Command& command) {
  Container container;
  container.name = "c";
  container.arguments = command;
  return command_values(container);
}

// "NAME=VALUE", "NAME=VALUE for ranks" of what is certain.
std::vector<std::string> certain_in(const Command& command) {
  std::vector<std::string> found;
  for (const CommandValue& value : values_of(command)) {
    if (value.certain && value.value)
      found.push_back(value.name + "=" + *value.value + (value.for_ranks ? " for ranks" : ""));
  }
  return found;
}

std::vector<std::string> certain_in(const char* script) {
  return certain_in(Command{"bash", "-c", script});
}

TEST(CommandWords, ALiteralThatRunsWhateverHappensIsCertain) {
  for (const char* script :
       {"export NCCL_DEBUG=INFO; torchrun x", "NCCL_DEBUG=INFO torchrun x",
        "env -i NCCL_DEBUG=INFO torchrun x", "exec env -u A NCCL_DEBUG=INFO torchrun x",
        "export NCCL_DEBUG=INFO && torchrun x", "cd /x\nexport NCCL_DEBUG='INFO'",
        "export A=1 \\\n  NCCL_DEBUG=IN\\\nFO", "a || b\nexport NCCL_DEBUG=INFO",
        "NCCL_DEBUG=INFO torchrun x 2>&1 | tee log", "export NCCL_DEBUG=INFO\nif a; then b; fi",
        "export NCCL_DEBUG=INFO\ncat <<E\nexport NCCL_DEBUG\nE",
        "a $(b (c) `d`) ${E:-${f}} $((1+2)); export NCCL_DEBUG=INFO",
        "export NCCL_DEBUG=INFO # NCCL_DEBUG=WARN", "bash -c 'export NCCL_DEBUG=INFO'",
        "export NCCL_DEBUG=INFO; export NCCL_DEBUG=INFO", "a &> log; export NCCL_DEBUG=INFO",
        "! a; time export NCCL_DEBUG=INFO", "echo $NCCL_DEBUG; export NCCL_DEBUG=INFO"})
    EXPECT_THAT(certain_in(script), ElementsAre("NCCL_DEBUG=INFO")) << script;
  for (const Command& command :
       {Command{"env", "NCCL_DEBUG=INFO", "torchrun"}, Command{"bash", "-lc", "export NCCL_DEBUG=INFO"},
        Command{"/bin/sh", "-euo", "pipefail", "-c", "NCCL_DEBUG=INFO a"},
        Command{"tini", "-s", "--", "bash", "-c", "export NCCL_DEBUG=INFO\nexec \"$@\"", "--", "a"}})
    EXPECT_THAT(certain_in(command), ElementsAre("NCCL_DEBUG=INFO")) << command.back();
}

TEST(CommandWords, WhatMayNotRunOrIsExpandedIsNot) {
  for (const char* script : {"# export NCCL_DEBUG=INFO",
                             "echo 'export NCCL_DEBUG=INFO'",
                             "if a; then export NCCL_DEBUG=INFO; fi",
                             "if a; then b; fi; export NCCL_DEBUG=INFO",
                             "a && export NCCL_DEBUG=INFO",
                             "a &&\n export NCCL_DEBUG=INFO",
                             "a | NCCL_DEBUG=INFO b",
                             "while a; do export NCCL_DEBUG=INFO; done",
                             "until a\ndo\nexport NCCL_DEBUG=INFO\ndone",
                             "case x in x) export NCCL_DEBUG=INFO;; esac",
                             "f() { export NCCL_DEBUG=INFO; }",
                             "(export NCCL_DEBUG=INFO)",
                             "cat > f <<EOF\nexport NCCL_DEBUG=INFO\nEOF",
                             "x $(export NCCL_DEBUG=INFO)",
                             "export NCCL_DEBUG=$D",
                             "export NCCL_DEBUG=$(d)",
                             "export NCCL_DEBUG=${D:-INFO}",
                             "export NCCL_DEBUG=I*",
                             "NCCL_DEBUG=INFO",
                             "export NCCL_DEBUG",
                             "exit 0; export NCCL_DEBUG=INFO",
                             "exec a; export NCCL_DEBUG=INFO",
                             "export NCCL_DEBUG=INFO; export NCCL_DEBUG=WARN",
                             "export NCCL_DEBUG=INFO; unset NCCL_DEBUG",
                             "export NCCL_DEBUG=INFO; if a; then export NCCL_DEBUG=WARN; fi",
                             "export NCCL_DEBUG=INFO; env -i torchrun",
                             "export NCCL_DEBUG='INFO",
                             "a $(b\nexport NCCL_DEBUG=INFO",
                             "python -c \"export NCCL_DEBUG=INFO\"",
                             "> NCCL_DEBUG=INFO a",
                             "bash -c \"$X export NCCL_DEBUG=INFO\""})
    EXPECT_THAT(certain_in(script), IsEmpty()) << script;
  for (const Command& command : {Command{"-c", "export NCCL_DEBUG=INFO"}, Command{"echo", "NCCL_DEBUG=INFO"},
                                 Command{}, Command{"env", "NCCL_DEBUG=$(D)", "torchrun"},
                                 Command{"bash", "run.sh", "-c", "export NCCL_DEBUG=INFO"}})
    EXPECT_THAT(certain_in(command), IsEmpty());
}

TEST(CommandWords, OfALauncherTheyGoToAllRanks) {
  const std::string_view value = "NCCL_DEBUG=INFO";
  for (const Command& command :
       {Command{"mpirun", "-n", "2", "-x", value, "a"}, Command{"/opt/bin/mpiexec", "-genv", value, "a"},
        Command{"mpiexec", "-env", "NCCL_DEBUG", "INFO", "a"},
        Command{"mpirun", "--mca", "mca_base_env_list", "PATH;NCCL_DEBUG=INFO", "a"},
        Command{"bash", "-c", "export NCCL_DEBUG=INFO; mpirun -x NCCL_DEBUG a"},
        Command{"bash", "-c", "export NCCL_DEBUG=INFO; mpiexec -genvlist PATH,NCCL_DEBUG a"},
        Command{"bash", "-c", "export NCCL_DEBUG=WARN; exec mpirun -x 'NCCL_DEBUG=INFO' a"}})
    EXPECT_THAT(certain_in(command), ElementsAre("NCCL_DEBUG=INFO for ranks")) << command.back();
  for (const Command& command :
       {Command{"train", "-x", value}, Command{"mpirun", "-x", "NCCL_DEBUG", "a"},
        Command{"mpirun", "a", "-y", value}, Command{"bash", "-c", "a && mpirun -x NCCL_DEBUG=INFO b"},
        Command{"bash", "-c", "mpirun -x NCCL_DEBUG=$D a"}})
    EXPECT_THAT(certain_in(command), IsEmpty()) << command.back();
}

// 64 KiB are read; of a longer command nothing is certain.
TEST(CommandWords, AreBounded) {
  const std::string at_end = std::string(60u << 10, 'a') + ";export NCCL_DEBUG=INFO";
  EXPECT_THAT(certain_in(at_end.c_str()), ElementsAre("NCCL_DEBUG=INFO"));
  const std::string longer = "export NCCL_DEBUG=INFO;" + std::string(70u << 10, 'a');
  EXPECT_THAT(certain_in(longer.c_str()), IsEmpty());
  std::string many, deep;
  for (int i = 0; i < 500; ++i) many += "export NCCL_X" + std::to_string(i) + "=1;";
  EXPECT_EQ(values_of({"bash", "-c", many}).size(), 64u);
  for (const char* each : {"(", "$(", "if ", "<<a ", "\"$(", "bash -c ' ", "`"}) {
    deep.clear();
    while (deep.size() < (60u << 10)) deep += each;
    EXPECT_THAT(certain_in(deep.c_str()), IsEmpty());
  }
}

TEST(CommandWords, ANameThatIsToldTestedOrTakenAwaySetsNothing) {
  const auto sets = [](const char* script) {
    Container container;
    container.arguments = {"bash", "-c", script};
    return may_set(container, "NCCL_IB_HCA");
  };
  for (const char* script :
       {"# export NCCL_IB_HCA=a\nb", "a  # NCCL_IB_HCA=a", "[ -n \"${NCCL_IB_HCA:-}\" ] && a $NCCL_IB_HCA",
        "if [[ -v NCCL_IB_HCA ]]; then a; fi", "if [ -z \"$NCCL_IB_HCA\" ]; then echo none >&2; fi",
        "echo \"NCCL_IB_HCA=$NCCL_IB_HCA\"", "env | grep NCCL_IB_HCA", "unset NCCL_IB_HCA",
        "exec env -u NCCL_IB_HCA a", "b=$(a $NCCL_IB_HCA)", "a | tee >(grep \"NCCL_IB_HCA set\" > b)",
        "sed -i 's/NCCL_IB_HCA=.*/X/' b || true", "a <<E\n$X\nE\n# NCCL_IB_HCA", "a <<E\nE\n# NCCL_IB_HCA",
        "bash -c 'bash -c \"# NCCL_IB_HCA\"'"})
    EXPECT_FALSE(sets(script)) << script;
  for (const char* script :
       {"a && NCCL_IB_HCA=b c", "f() { declare -x NCCL_IB_HCA=a; }", "export NCCL_IB_HCA", "read NCCL_IB_HCA",
        "NCCL_IB_HCA+=a", "export NCCL_IB_HCA=${NCCL_IB_HCA:-a}", "env NCCL_IB_HCA=a b",
        "mpirun -x NCCL_IB_HCA a", "docker run --env NCCL_IB_HCA=a b", "b=$(NCCL_IB_HCA=a c)",
        "export $(grep NCCL_IB_HCA b)", "cat > b <<-E\n\t# NCCL_IB_HCA\n\tE", "python -c '# NCCL_IB_HCA'",
        "cat > b <<E\nEx\n# NCCL_IB_HCA\nE", "for i in NCCL_IB_HCA; do export $i=a; done",
        "env -u NCCL_IB_HCA bash -c 'export NCCL_IB_HCA=a'"})
    EXPECT_TRUE(sets(script)) << script;
}

// A command never removes a variable of ours; beside a list that it names no index is given.
TEST(CommandWords, WithholdTheIndexAlone) {
  const NodeFabric table = rails(2);
  for (const auto& [by_env, exposure] : {std::pair(false, Exposure::Host), std::pair(true, Exposure::Host),
                                         std::pair(false, Exposure::SubInterface)}) {
    const bool host = exposure == Exposure::Host;  // elsewhere a literal index alone stands beside a list
    NcclPolicy policy = policy_for("rdma/hca", exposure);
    policy.gid_index = {host ? GidIndexRule::Kind::Pin : GidIndexRule::Kind::Literal, 3};
    policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
    policy.socket_interface = {SocketInterfaceRule::Kind::Literal, "eth0"};
    policy.deliver_env_file = policy.says_delivery = by_env;
    const auto names_with = [&](const Json& command, std::size_t containers = 1) {
      std::vector<Json> made{container("c"), container("d")};
      made.resize(containers);
      if (!command.is_null()) made[0]["command"] = command;
      const BindingPlan binding = binding_of(policy, &table);
      const Admitted admitted = settled(equipped(pod(made, host)), policy, with_resolver());
      const Json status =
          Json::parse(std::string(admitted.pod["metadata"]["annotations"]["nccl-env.io/status"]));
      std::vector<std::string> names;
      for (const auto& [name, by] : status["containers"][made.back()["name"]]["set"].items())
        names.push_back(name);
      if (policy.deliver_env_file) return names;
      for (const auto& [name, value] : nccl_environment(bind_to_node(admitted.pod, binding), containers - 1))
        EXPECT_THAT(names, Contains(name));
      return names;
    };
    const std::vector<std::string> all = names_with(nullptr);
    EXPECT_THAT(all, Contains("NCCL_IB_GID_INDEX"));
    std::vector<std::string> without = all;
    std::erase(without, "NCCL_IB_GID_INDEX");
    for (const char* script : {"export NCCL_IB_HCA=mlx5_0; a", "if a; then export NCCL_IB_HCA=$X; fi",
                               "mpirun -x NCCL_IB_HCA a"}) {
      EXPECT_EQ(names_with({"bash", "-c", script}), without) << script;
      EXPECT_EQ(names_with({"bash", "-c", script}, 2), host ? without : all) << "they share the file";
    }
    for (const char* script :
         {"export NCCL_IB_GID_INDEX=1; a", "export NCCL_IB_TIMEOUT=20 NCCL_SOCKET_IFNAME=x",
          "NCCL_IB_DISABLE=1 a", "NCCL_NET=Socket a", "export NCCL_CONF_FILE=/x", "# NCCL_IB_HCA"})
      EXPECT_EQ(names_with({"bash", "-c", script}), all) << script;
  }
}

}  // namespace
}  // namespace nccl_env::tests::command_test
