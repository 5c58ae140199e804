// SPDX-License-Identifier: Apache-2.0
// Texts that stood on a pod before its Binding do not outlive it.
#include "nccl_env/core/decide/binding.h"

#include "core/decide/decided.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/status.h"
#include "nccl_env/core/engines/catalogue.h"
#include "support/matchers.h"

namespace nccl_env::tests::binding_test {
namespace {

using ::testing::IsSubsetOf;

void add_key(const Json& object, std::vector<std::string>& keys) {
  const Json::json_pointer place("/fieldRef/fieldPath");
  if (object.contains(place))
    keys.emplace_back(annotation_of(object.at(place).get_ref<const std::string&>()));
}

// The keys that a pod of ours reads, by file or by its init container.
std::vector<std::string> keys_read(const Json& pod) {
  std::vector<std::string> keys;
  for (const Json& volume : pod["spec"].value("volumes", Json::array())) {
    for (const Json& item : volume.value("downwardAPI", Json::object()).value("items", Json::array()))
      add_key(item, keys);
  }
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : pod["spec"].value(list, Json::array())) {
      for (const Json& entry : container.value("env", Json::array()))
        add_key(entry.value("valueFrom", Json::object()), keys);
    }
  }
  return keys;
}

std::vector<std::string> keys_of(const BindingPlan& plan) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : plan.annotations) keys.push_back(key);
  return keys;
}

bool waits_for_binding(const Pod& pod) {
  return !texts_read(pod).empty();
}

// For each shipped policy, exposure, network and carrier; also of a pod that only says inject: "true".
TEST(BindingPlan, HasEveryKeyThatAPodReads) {
  NcclPolicy rules = file_policy(Exposure::Host);
  rules.partition_key = 0x8001;
  rules.socket_interface.kind = SocketInterfaceRule::Kind::FromNode;
  rules.variants.emplace_back().env["NCCL_IB_TC"] = "106";
  std::vector<NcclPolicy> policies = shipped_policies();
  policies.push_back(rules);
  for (NcclPolicy& policy : policies) {
    for (const Engine* engine : other_engines()) {
      if (gives_values(*engine) && !policy.serves(*engine)) policy.engines.push_back(engine);
    }
    std::size_t read_keys = 0;
    for (const Exposure exposure : {Exposure::Host, Exposure::SubInterface, Exposure::PodOwned}) {
      for (const bool env_file : {false, true}) {
        policy.resources = {{"rdma/hca", exposure}};
        policy.skip_resources.clear();
        policy.deliver_env_file = policy.says_delivery = env_file;
        const BindingPlan plan = binding_of(policy, nullptr);
        for (const bool host_network : {true, false}) {
          for (const char* resource : {"rdma/hca", ""}) {
            Json before = running_sshd(pod({container("c", {}, resource)}, host_network));
            if (!*resource) before["metadata"]["labels"] = {{"nccl-env.io/inject", "true"}};
            for (const PlanOptions& options : {PlanOptions(), with_resolver()}) {
              const Json made = admit(before, policy, nullptr, options).pod;
              EXPECT_THAT(keys_read(made), IsSubsetOf(keys_of(plan))) << policy.name;
              read_keys += keys_read(made).size();
            }
          }
        }
      }
    }
    EXPECT_GT(read_keys, 10U) << policy.name;
  }
}

// A pod that asks for nothing may say inject: "true", and then has the node's network or devices of its own.
TEST(BindingPlan, HasTheTextsOfShapesThatThePolicyCanMatch) {
  const auto shapes = [](NcclPolicy policy) {
    std::string found;
    policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
    for (const auto& [key, text] : binding_of(policy, nullptr).annotations)
      found += key.ends_with("/nccl.conf") ? key.substr(0, key.find('.')) + " " : "";
    return found;
  };
  NcclPolicy none = policy_for("rdma/hca", Exposure::PodOwned), networks = none;
  networks.networks = {{"ml/rail-*", Exposure::SubInterface}};
  EXPECT_EQ(shapes(none), "hostnetwork podowned ");
  EXPECT_EQ(shapes(networks), "hostnetwork podowned subinterface ");
  for (const auto& [resource, exposure, shape] : {
           std::tuple("rdma/hca", std::optional(Exposure::Host), "host hostnetwork podowned "),
           std::tuple("rdma/x", std::optional(Exposure::SubInterface), "hostnetwork podowned subinterface "),
           std::tuple("rdma/*", std::optional<Exposure>(), "hostnetwork podowned subinterface "),
           std::tuple("rdma/hca", std::optional<Exposure>(), "hostnetwork podowned subinterface "),
           std::tuple("rdma/roce_gdr", std::optional<Exposure>(), "hostnetwork podowned "),
       })
    EXPECT_EQ(shapes(policy_for(resource, exposure)), shape) << resource;
}

// Both the names and the values stand in etcd for each pod.
TEST(BindingPlan, IsSmallUnderEveryShippedPolicy) {
  NodeFabric roce = rails(8), infiniband;
  for (int i = 1; i <= 8; ++i) infiniband.ports.push_back(ib_port("mlx5_" + std::to_string(i)));
  for (NodeFabric* table : {&roce, &infiniband}) {
    table->name = "gpu-0042.example.internal";
    table->time = kNow;
    table->node_interface = "bond0";
  }
  for (const NcclPolicy& policy : shipped_policies()) {
    for (const NodeFabric* table : {&roce, &infiniband, static_cast<NodeFabric*>(nullptr)}) {
      const auto annotations = binding_of(policy, table).annotations;
      std::size_t bytes = 0;
      for (const auto& [key, text] : annotations) bytes += key.size() + text.size();
      const bool baidu = policy.name == "baidu-roce";
      EXPECT_LE(annotations.size(), baidu ? 5U : 6U) << policy.name;
      EXPECT_LE(bytes, baidu ? 900U : 1400U) << policy.name;
    }
  }
}

// Its policy is edited, or the webhook is started anew, between its creation and its Binding.
TEST(BindingPlan, ServesAPodWhicheverCarrierItWasCreatedFor) {
  const NodeFabric table = rails(4);
  for (const bool host_network : {true, false}) {
    std::map<std::string, std::string> held[2];
    for (const bool created : {false, true}) {
      for (const bool bound : {false, true}) {
        NcclPolicy then = file_policy(Exposure::Host), now = then;
        then.deliver_env_file = then.says_delivery = created;
        now.deliver_env_file = now.says_delivery = bound;
        const Json made = admit(pod({container("c")}, host_network), then, nullptr, with_resolver()).pod;
        const Json given = bind_to_node(made, binding_of(now, &table));
        auto values = created ? resolved_by(given, {}).env : ConfValues();
        if (!created) values.merge(nccl_environment(given, 0));
        EXPECT_EQ(values["NCCL_IB_HCA"],
                  created ? "mlx5_1,mlx5_2,mlx5_3,mlx5_4" : "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
        EXPECT_EQ(values["NCCL_IB_GID_INDEX"], "3") << created << bound;
      }
    }
  }
}

TEST(BindingPlan, WithoutAPolicyTheTextsThatThePodReadsOrHasAreEmpty) {
  for (const bool env_file : {false, true}) {
    NcclPolicy policy = policy_for("rdma/*", Exposure::Host);
    policy.deliver_env_file = policy.says_delivery = env_file;
    Json waiting = admit(pod({container("c")}), policy, nullptr, with_resolver()).pod;
    waiting["metadata"]["annotations"]["subinterface.nccl-env.io/nccl.conf"] = "NCCL_IB_HCA==mlx5_9\n";
    const BindingPlan plan = of_parsed(
        waiting, [](const Pod& read) { return plan_empty_binding("n", Reason::PolicyMissing, read); });
    EXPECT_THAT(keys_of(plan), ElementsAre("hostnetwork.nccl-env.io/nccl.conf", "nccl-env.io/node",
                                           "subinterface.nccl-env.io/nccl.conf"));
    EXPECT_THAT(keys_read(waiting), IsSubsetOf(keys_of(plan)));
    EXPECT_EQ(plan.annotations.at("nccl-env.io/node"), R"({"v":1,"node":"n","reason":"PolicyMissing"})");
    for (const auto& [key, value] : plan.annotations)
      EXPECT_EQ(value.empty(), key != "nccl-env.io/node") << key;
  }
}

// A deny holds a pod for its own exposure, if it waits: by its file, its init container or both.
TEST(BindingPlan, TheRecordTellsWhyAListThatIsGivenIsShort) {
  NcclPolicy policy = policy_for("rdma/*");
  policy.fabric.expect_ports = 4;
  NodeFabric table = rails(4);
  const auto record = [&] {
    const auto plan =
        plan_binding(std::make_shared<const NcclPolicy>(policy), table.name, &table, NodeContext{kNow});
    return Json::parse(plan.annotations.at(std::string(key::kNode)));
  };
  EXPECT_FALSE(record().contains("shortList"));
  table.ports[3].state = PortState::Down;
  EXPECT_EQ(record().at("shortList"), "TooFewPorts");
  table.ports[3].state = PortState::Active;
  EXPECT_FALSE(record().contains("shortList")) << "back again";
}

TEST(BindingPlan, APodWaitsForWhatItReadsOfItsNode) {
  const Json host = pod({container("c")}), own = pod({container("c")}, false);
  const auto by = [](Exposure exposure, bool env_file, bool varied) {
    NcclPolicy policy = file_policy(exposure);
    policy.deliver_env_file = policy.says_delivery = env_file;
    if (!varied) return policy;
    PolicyVariant& variant = policy.variants.emplace_back();
    variant.when.link_layer = LinkLayer::Ethernet;
    variant.env["NCCL_IB_TC"] = "106";
    return policy;
  };
  const PlanOptions none;
  for (const auto& [before, policy, options, exposure] : {
           std::tuple(host, by(Exposure::SubInterface, false, false), none, Exposure::Host),
           std::tuple(host, by(Exposure::Host, true, false), with_resolver(), Exposure::Host),
           std::tuple(own, by(Exposure::Host, false, false), none, Exposure::Host),
           std::tuple(own, by(Exposure::SubInterface, false, false), none, Exposure::SubInterface),
           // Of its node it has constants alone: in its file those of the policy, else those that vary.
           std::tuple(running_sshd(own), by(Exposure::PodOwned, false, false), none, Exposure::PodOwned),
           std::tuple(own, by(Exposure::PodOwned, false, true), none, Exposure::PodOwned),
           std::tuple(own, by(Exposure::PodOwned, false, true), with_resolver(), Exposure::PodOwned),
       }) {
    const Json made = admit(before, policy, nullptr, options).pod;
    EXPECT_TRUE(of_parsed(made, waits_for_binding)) << made;
    EXPECT_EQ(of_parsed(made, consumed_exposure), exposure) << made;
    const BindingPlan unknown = binding_of(policy, nullptr);
    EXPECT_EQ(values_of(unknown, exposure).deny.has_value(),
              exposure != Exposure::PodOwned || !policy.variants.empty());
  }
  EXPECT_FALSE(of_parsed(own, waits_for_binding));
  const Json constants = admit(own, by(Exposure::PodOwned, false, false)).pod;
  EXPECT_FALSE(of_parsed(constants, waits_for_binding)) << "they stand in env";
}

// A literal list from then would stand beside an index of today's list.
TEST(BindingPlan, APodOfOtherValuesGetsTodaysListAndNoIndex) {
  NcclPolicy policy = policy_for("rdma/*", Exposure::Host);
  NodeFabric table = rails(2);
  NodeContext context{kNow};
  context.policy_changed = true;
  for (const auto kind : {GidIndexRule::Kind::Pin, GidIndexRule::Kind::Literal}) {
    policy.gid_index.kind = kind;
    policy.gid_index.literal = 3;
    const auto shared = std::make_shared<const NcclPolicy>(policy);
    const BindingPlan plan = plan_binding(shared, table.name, &table, context);
    for (const auto& [key, text] : plan.annotations)
      EXPECT_EQ(text.find("NCCL_IB_GID_INDEX="), std::string::npos) << key << text;
    EXPECT_THAT(plan.annotations.at("hostnetwork.nccl-env.io/nccl.conf"),
                HasSubstr("NCCL_IB_HCA==mlx5_1,mlx5_2\n"));
    EXPECT_THAT(plan.annotations.at("nccl-env.io/node"), HasSubstr(R"("NCCL_IB_GID_INDEX":"PolicyChanged")"));
    for (const char* text : {"podowned.nccl-env.io/nccl.conf", "subinterface.nccl-env.io/noindex-nccl.conf"})
      EXPECT_TRUE(plan.annotations.contains(text)) << "which its policy may have promised then: " << text;
    const auto usual = plan_binding(shared, table.name, &table, {kNow}).annotations;
    EXPECT_THAT(usual.at("hostnetwork.nccl-env.io/nccl.conf"), HasSubstr("NCCL_IB_GID_INDEX=3\n"));
  }
  policy.gid_index.kind = GidIndexRule::Kind::Pin;
  table.ports[1].gids.reset();
  const auto unknown = plan_binding(std::make_shared<const NcclPolicy>(policy), table.name, &table, context);
  EXPECT_THAT(unknown.annotations.at("nccl-env.io/node"), HasSubstr("GidTableUnknown"))
      << "there was none to lose";
}

TEST(BindingPlan, AStatusTellsByWhichValuesItsPodWasMade) {
  NcclPolicy policy = policy_for("rdma/*", Exposure::Host);
  policy.value_hash = "0a1b2c3d";
  Json made = admit(pod({container("c")}), policy).pod;
  const auto differs = [&](const std::string& hash) {
    policy.value_hash = hash;
    return of_parsed(made, [&](const Pod& read) { return is_of_other_values(read, policy); });
  };
  EXPECT_FALSE(differs("0a1b2c3d"));
  EXPECT_TRUE(differs("0a1b2c3e"));
  EXPECT_FALSE(differs("")) << "not known";
  made["metadata"]["annotations"]["nccl-env.io/status"] = R"({"v":1,"policy":"p","generation":1})";
  EXPECT_FALSE(differs("0a1b2c3d")) << "of an older release";
  made["metadata"]["annotations"].erase("nccl-env.io/status");
  EXPECT_FALSE(differs("0a1b2c3d")) << "not ours";
}

TEST(BindingPlan, ThePolicyOfAStatus) {
  const auto named = [](const std::string& status) {
    Json object = pod({container("c")});
    object["metadata"]["annotations"]["nccl-env.io/status"] = status;
    return of_parsed(object, promised_policy);
  };
  EXPECT_EQ(named(R"({"v":1,"policy":"p"})"), "p");
  for (const std::string text : {"", "{", "7", "[]", R"({"policy":7})"}) EXPECT_EQ(named(text), "") << text;
  EXPECT_EQ(named(R"({"policy":"p"})" + std::string(70 << 10, ' ')), "");
}

// The pods of one manifest that had been exported with another node's values.
TEST(CopiedPod, LosesOurAnnotationsWhateverBecomesOfIt) {
  const NcclPolicy policy = policy_for("rdma/*", Exposure::Host);
  NcclPolicy dry = policy;
  dry.mode = PolicyMode::DryRun;
  const NodeFabric table = rails(4);
  const Json first = admit(pod({container("c")}), policy).pod;
  const Json exported = bind_to_node(first, binding_of(policy, &table));
  const auto copied = [&](const char* key, const char* value) {
    Json copy = exported;
    copy["metadata"]["annotations"]["mine"] = "stays";
    copy["metadata"]["annotations"][key] = value;
    return copy;
  };
  Json full = copied("mine", "stays");
  full["metadata"]["annotations"]["big"] = std::string((256u << 10) - 8000, 'x');
  const std::tuple<Json, NcclPolicy, Reason> cases[] = {
      {copied("mine", "stays"), dry, Reason::DryRun},
      {copied("nccl-env.io/inject", "false"), policy, Reason::OptedOut},
      {copied("nccl-env.io/inject", "?"), policy, Reason::InvalidInjectValue},
      {copied("mine", "stays"), policy_for("other/*"), Reason::NotRdma},
      {full, policy, Reason::BudgetExceeded}};
  for (const auto& [before, its_policy, reason] : cases) {
    const Admitted after = settled(before, its_policy);
    EXPECT_EQ(after.plan.reason, reason);
    EXPECT_EQ(after.pod["metadata"]["annotations"]["mine"], "stays");
    EXPECT_EQ(after.pod["spec"].dump().find("nccl-env"), std::string::npos) << after.pod["spec"];
    EXPECT_TRUE(after.pod["spec"]["containers"][0].value("env", Json::array()).empty());
    for (const auto& [key, value] : after.pod["metadata"]["annotations"].items())
      EXPECT_FALSE(is_own_key(key)) << to_string(reason) << ": " << key;
  }
  const Json again = settled(copied("mine", "stays"), policy).pod;
  const Json& annotations = again["metadata"]["annotations"];
  EXPECT_EQ(annotations.size(), 2u) << annotations;
  EXPECT_EQ(annotations["mine"], "stays");
  EXPECT_TRUE(annotations.contains("nccl-env.io/status"));
  EXPECT_EQ(again["spec"], first["spec"]);
  const Json mirror = copied("kubernetes.io/config.mirror", "x");
  EXPECT_EQ(admit(mirror, policy).patch, "");
}

}  // namespace
}  // namespace nccl_env::tests::binding_test
