// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engines/nccl/nccl_fabric.h"
#include "nccl_env/core/engines/catalogue.h"
#include "support/matchers.h"

namespace nccl_env::engines_test {
namespace {

using namespace nccl_env::tests;

EngineChoice two_rails() {
  EngineChoice choice;
  choice.ports = {{"mlx5_0", 1}, {"mlx5_1", 1}};
  choice.interface = choice.tcp_interface = "eth0";
  choice.traffic_class = "106";
  choice.service_level = "3";
  return choice;
}

EngineValue value_of(std::string_view variable, const EngineChoice& choice) {
  return find_engine_variable(variable)->render(choice);
}

TEST(Engines, SayOneChoiceInTheirOwnWords) {
  const std::pair<const char*, const char*> rows[] = {{"UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1,eth0"},
                                                      {"UCX_IB_TRAFFIC_CLASS", "106"},
                                                      {"NVSHMEM_HCA_LIST", "mlx5_0:1,mlx5_1:1"},
                                                      {"NVSHMEM_HCA_PREFIX", ""},
                                                      {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "=eth0"},
                                                      {"GLOO_SOCKET_IFNAME", "eth0"},
                                                      {"TP_SOCKET_IFNAME", "eth0"}};
  for (const auto& [name, text] : rows) EXPECT_EQ(value_of(name, two_rails()).text, text) << name;
}

// A value of ours is one that the engine takes as it stands.
TEST(Engines, GiveNoValueThatTheirOwnCatalogueRefuses) {
  EngineChoice choice = two_rails();
  for (const std::string name : {"mlx5_0", "ibp12s0", "rocep140s0f1"}) {
    choice.ports.front().hca = name;
    for (const Engine* engine : other_engines()) {
      for (const EngineVariable& variable : engine->variables) {
        const std::string text = variable.render ? variable.render(choice).text : "";
        if (!text.empty()) {
          EXPECT_EQ(value_problem(variable.row.name, text), std::nullopt);
        }
      }
    }
  }
}

TEST(Engines, SayNothingOfWhatIsNotKnown) {
  for (const Engine* engine : other_engines()) {
    for (const EngineVariable& variable : engine->variables) {
      EXPECT_EQ(variable.render != nullptr, variable.follows != Follows::Nothing) << variable.row.name;
      if (!variable.render) continue;
      const EngineValue none = variable.render({});
      EXPECT_EQ(none.text, "") << variable.row.name;
      EXPECT_EQ(none.refusal, "") << variable.row.name;
    }
  }
}

// A list of RDMA devices alone would take TCP away, and UCX cuts a line of its file without saying so.
TEST(Engines, UcxGetsNoListThatTakesSomethingAway) {
  EngineChoice choice = two_rails();
  choice.tcp_interface.clear();
  EXPECT_THAT(value_of("UCX_NET_DEVICES", choice).refusal, HasSubstr("interface"));
  choice.tcp_interface = "eth0";
  choice.ports.clear();
  for (int i = 0; i < 16; ++i) choice.ports.push_back({"mlx5_" + std::to_string(i), 1});
  EXPECT_EQ(value_of("UCX_NET_DEVICES", choice).refusal, "");
  for (EnginePort& port : choice.ports) port.hca = "rocep1" + port.hca;
  EXPECT_THAT(value_of("UCX_NET_DEVICES", choice).refusal, HasSubstr("199"));
}

TEST(Engines, NvshmemNeedsWhatOtherNamesShare) {
  EngineChoice choice;
  choice.ports = {{"rocep140s0", 1}, {"rocep12s0", 1}};
  EXPECT_EQ(value_of("NVSHMEM_HCA_PREFIX", choice).text, "rocep1");
  choice.ports.push_back({"mlx5_0", 1});
  EXPECT_EQ(value_of("NVSHMEM_HCA_PREFIX", choice).text, "");
  choice.ports.assign(17, {"mlx5_0", 1});
  EXPECT_THAT(value_of("NVSHMEM_HCA_LIST", choice).refusal, HasSubstr("16"));
}

TEST(Engines, KnowTheirGrammar) {
  const auto problem = [](const std::string& setting) {
    const std::size_t equals = setting.find('=');
    return value_problem(setting.substr(0, equals), setting.substr(equals + 1));
  };
  for (const char* setting : {"UCX_NET_DEVICES=mlx5_0:1,eth0", "UCX_NET_DEVICES=^mlx5_0:1",
                              "UCX_IB_GID_INDEX=auto", "UCX_IB_TRAFFIC_CLASS=255", "NVSHMEM_HCA_LIST=mlx5_0",
                              "NVSHMEM_IB_GID_INDEX=-1", "GLOO_SOCKET_IFNAME=eth0,eth1", "MC_GID_INDEX=15"})
    EXPECT_EQ(problem(setting), std::nullopt) << setting;
  for (const char* setting :
       {"UCX_NET_DEVICES==mlx5_0:1", "UCX_NET_DEVICES=mlx5_0:0", "UCX_NET_DEVICES=mlx5_0:1,",
        "UCX_IB_GID_INDEX=inf", "UCX_IB_TRAFFIC_CLASS=256", "NVSHMEM_HCA_LIST==mlx5_0",
        "NVSHMEM_IB_GID_INDEX=-2", "GLOO_SOCKET_IFNAME=^docker0", "TP_SOCKET_IFNAME=interface-name-16",
        "MC_TE_FILTERS=mlx5_0 ,mlx5_1", "MC_GID_INDEX=256"})
    EXPECT_NE(problem(setting), std::nullopt) << setting;
}

TEST(Engines, OwnTheirVariables) {
  std::set<std::string_view> names;
  for (const Engine* engine : other_engines()) {
    EXPECT_EQ(find_engine(engine->name), engine);
    for (const EngineVariable& variable : engine->variables) {
      EXPECT_TRUE(names.insert(variable.row.name).second) << variable.row.name;
      EXPECT_EQ(engine_of_variable(variable.row.name), engine);
      EXPECT_EQ(find_variable(variable.row.name), &variable.row);
      EXPECT_TRUE(has_known_prefix(variable.row.name)) << variable.row.name;
    }
    for (const EngineGroup& group : engine->groups) {
      for (const EngineMember& member : group.members)
        EXPECT_TRUE(member.in_command || has_engine_prefix(member.name)) << member.name;
    }
  }
  EXPECT_FALSE(has_known_prefix("TP_SIZE"));
  EXPECT_FALSE(has_known_prefix("MC_STORE_URL"));
  EXPECT_EQ(find_engine("NCCL"), &nccl_engine());
  EXPECT_EQ(find_engine("nccl"), nullptr);
}

EngineSelection taken(std::string_view engine, const NcclEnv& env, std::vector<Port> ports) {
  return find_engine(engine)->select(test::fabric(std::move(ports)), env);
}

TEST(Engines, TakeByThemselvesWhatTheyKnow) {
  using test::roce;
  std::vector<Port> ports{roce("mlx5_0"), roce("rocep1s0"), roce("mlx5_1")};
  ports[2].state = PortState::Down;
  EXPECT_THAT(taken("UCX", {}, ports).devices, ElementsAre("mlx5_0:1", "rocep1s0:1"));
  EXPECT_THAT(taken("UCX", {}, ports).interfaces, ElementsAre("eth0"));
  EXPECT_THAT(taken("NVSHMEM", {}, ports).devices, ElementsAre("mlx5_0:1", "rocep1s0:1"));
  EXPECT_THAT(taken("NVSHMEM", {}, ports).notes, ElementsAre(HasSubstr("IBGDA skips 1 port without mlx5")));
  EXPECT_THAT(taken("NVSHMEM", {{"NVSHMEM_HCA_PREFIX", "r"}}, ports).notes,
              ElementsAre(HasSubstr("3.8 on, skip 1 port without r")));
  EXPECT_THAT(taken("Gloo", {}, ports).interfaces, IsEmpty());
}

TEST(Engines, TakeWhatTheirVariablesSay) {
  using test::roce;
  const std::vector<Port> ports{roce("mlx5_0"), roce("mlx5_1"), roce("mlx5_10")};
  const auto ucx = taken("UCX", {{"UCX_NET_DEVICES", "mlx5_1:1,eth0,mlx5_9:1"}}, ports);
  EXPECT_THAT(ucx.devices, ElementsAre("mlx5_1:1"));
  EXPECT_THAT(ucx.interfaces, ElementsAre("eth0"));
  EXPECT_THAT(ucx.notes, ElementsAre(HasSubstr("mlx5_9:1")));
  EXPECT_THAT(taken("UCX", {{"UCX_NET_DEVICES", "^mlx5_1:1,eth0"}}, ports).devices,
              ElementsAre("mlx5_0:1", "mlx5_10:1"));
  EXPECT_THAT(taken("UCX", {{"UCX_NET_DEVICES", ""}}, ports).devices, IsEmpty());
  EXPECT_THAT(taken("UCX", {{"UCX_NET_DEVICES", "=mlx5_1"}}, ports).devices, IsEmpty());
  EXPECT_THAT(taken("NVSHMEM", {{"NVSHMEM_HCA_LIST", "mlx5_1:1"}}, ports).devices, ElementsAre("mlx5_1:1"));
  EXPECT_THAT(taken("NVSHMEM", {{"NVSHMEM_HCA_LIST", "^mlx5_1"}}, ports).devices,
              ElementsAre("mlx5_0:1", "mlx5_10:1"));
  EXPECT_THAT(taken("NVSHMEM", {{"NVSHMEM_HCA_LIST", "=mlx5_1"}}, ports).notes,
              ElementsAre(HasSubstr("no device")));
  EXPECT_THAT(taken("Gloo", {{"GLOO_SOCKET_IFNAME", "eth9"}}, ports).notes, ElementsAre(HasSubstr("eth9")));
}

}  // namespace
}  // namespace nccl_env::engines_test
