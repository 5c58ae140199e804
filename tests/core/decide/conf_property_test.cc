// SPDX-License-Identifier: Apache-2.0
// Whatever a pod with nccl.conf has been through (copied, edited, filled by hooks, torn): its patch applies,
// leaves one of each thing of ours, and the second admission changes nothing.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/decide/decided.h"
#include "nccl_env/core/engines/catalogue.h"
#include "support/leaves.h"

namespace nccl_env::tests::conf_property_test {
namespace {

std::vector<NcclPolicy> policies() {
  NcclPolicy env = policy_for("rdma/*", Exposure::SubInterface);
  env.env = {{"NCCL_IB_TIMEOUT", "22"}};
  NcclPolicy file = file_policy(Exposure::Host);
  NcclPolicy both = file_policy(Exposure::PodOwned);
  both.containers = ContainerScope::All;
  return {env, file, both};
}

Json template_pod(std::mt19937& random) {
  const auto some = [&](const std::string& name) {
    Json made = container(name, {}, random() % 3 == 0 ? "" : "rdma/hca");
    if (random() % 4 == 0) made["env"] = Json::array({env_literal("NCCL_IB_HCA", "mlx5_1")});
    if (random() % 4 == 0) made["envFrom"] = {{{"configMapRef", {{"name", "x"}}}}};
    if (random() % 4 == 0) made["volumeMounts"] = Json::array({mount(random() % 2 == 0 ? "/etc" : "/data")});
    if (random() % 8 == 0) made["env"].push_back(env_literal("NCCL_CONF_FILE", "/conf/mine"));
    if (random() % 4 == 0) made["resources"]["requests"] = {{"cpu", "1"}};
    return made;
  };
  Json made = pod({some("a"), some("b")}, random() % 2 == 0);
  if (random() % 2 == 0) made["spec"]["initContainers"] = {some("i"), some("j")};
  if (random() % 2 == 0) made["spec"]["volumes"] = {{{"name", "mine"}, {"emptyDir", Json::object()}}};
  if (random() % 3 == 0) made["spec"]["securityContext"] = {{"runAsUser", random() % 2}};
  return made;
}

// Changes that people and hooks make to a pod between two admissions.
void disturb(Json& pod, std::mt19937& random) {
  Json& spec = pod["spec"];
  switch (random() % 7) {
    case 0:
      spec["containers"].push_back(container("late"));
      break;
    case 1: {
      Json init = spec.value("initContainers", Json::array());
      init.insert(init.begin(), container("first"));
      spec["initContainers"] = init;
      break;
    }
    case 2:
      spec.erase("volumes");
      break;
    case 3:
      if (spec.contains("hostNetwork")) spec.erase("hostNetwork");
      break;
    case 4:
      spec["containers"][0].erase("volumeMounts");
      break;
    case 5:
      if (spec.contains("initContainers"))
        std::reverse(spec["initContainers"].begin(), spec["initContainers"].end());
      break;
    default:
      pod = with_api_defaults(pod);
  }
}

// Replaces one value by another kind: what broken clients send.
void break_one(Json& pod, std::mt19937& random) {
  static const Json kReplacements[] = {nullptr,         0, true, "", "nccl-env-conf", "nccl-env-resolve",
                                       "/etc/nccl.conf"};
  some_leaf(pod, random) = kReplacements[random() % std::size(kReplacements)];
}

template <class List>
bool unique(const List& list) {
  return std::set(list.begin(), list.end()).size() == list.size();
}

std::vector<std::string> names_of(const Json& pod, const char* list) {
  std::vector<std::string> found;
  if (!pod["spec"].contains(list) || !pod["spec"][list].is_array()) return found;
  for (const Json& item : pod["spec"][list]) {
    const Json name = item.value("name", Json());
    found.push_back(name.is_string() ? name.get<std::string>() : "");
  }
  return found;
}

// False for pods that Kubernetes itself would not accept: things of one list share a name.
bool is_plausible(const Pod& pod, const Json& object) {
  std::vector<std::string_view> containers;
  for (const Container& container : pod.containers) containers.push_back(container.name);
  return unique(containers) && unique(names_of(object, "volumes"));
}

// What came later may stand elsewhere, and a list that we emptied stays. A literal could be the user's: it
// stays, too, where it is not overridden.
Json comparable(Json value) {
  if (value.is_array()) {
    std::erase_if(*value.get_ptr<Json::array_t*>(), [](const Json& item) {
      return item.is_object() && item.value("name", "") == "UCX_CONFIG_DIR";
    });
  }
  if (value.is_object() && value.value("volumeMounts", Json()) == Json::array()) value.erase("volumeMounts");
  for (Json& item : value) {
    if (item.is_structured()) item = comparable(item);
  }
  if (value.is_array()) std::sort(value.begin(), value.end());
  return value;
}

TEST(ConfProperty, SecondAdmissionChangesNothingWhateverHappenedToThePod) {
  std::mt19937 random(20261121);
  const auto choices = policies();
  ReviewParser parser;
  int patched = 0, resolved = 0;
  for (int round = 0; round < 1000; ++round) {
    Json object = template_pod(random);
    const auto options = random() % 3 == 0 ? PlanOptions{} : with_resolver();
    if (random() % 4 != 0) object = admit(object, choices[random() % choices.size()], nullptr, options).pod;
    for (unsigned i = random() % 3; i > 0; --i) disturb(object, random);
    if (random() % 4 == 0) break_one(object, random);
    const std::string text = object.dump();
    const auto read = parser.parse_pod(text);
    if (!read || !is_plausible(*read, object)) continue;
    const NcclPolicy& policy = choices[random() % choices.size()];
    const Admitted first = admit(object, policy, nullptr, options);
    if (!first.plan.inject) continue;
    ++patched;
    const Admitted second = admit(first.pod, policy, nullptr, options);
    ASSERT_EQ(second.patch, "") << text << "\n" << first.patch;
    const auto init = names_of(first.pod, "initContainers");
    const auto volumes = names_of(first.pod, "volumes");
    ASSERT_LE(std::count(init.begin(), init.end(), "nccl-env-resolve"), 1) << text;
    ASSERT_LE(std::count(volumes.begin(), volumes.end(), "nccl-env-conf"), 1) << text;
    resolved += static_cast<int>(std::count(init.begin(), init.end(), "nccl-env-resolve"));
    // A mount without its volume would be refused.
    const bool mounted = first.pod["spec"].dump().find(kConfMounts[0].dump()) != std::string::npos;
    ASSERT_LE(mounted ? 1 : 0, std::count(volumes.begin(), volumes.end(), "nccl-env-conf")) << text;
  }
  EXPECT_GT(patched, 400);
  EXPECT_GT(resolved, 100);
}

// Copied pods, another policy, an agent that is not there any more.
TEST(ConfProperty, OfAnEarlierFormNothingIsLeft) {
  NcclPolicy env_file = file_policy(Exposure::Host), named = file_policy(Exposure::Host);
  env_file.deliver_env_file = env_file.says_delivery = true;
  named.min_nccl = NcclVersion{2, 23, 4};
  NcclPolicy engines = env_file;
  for (const char* name : {"UCX", "NVSHMEM", "Gloo"}) engines.engines.push_back(find_engine(name));
  const std::pair<NcclPolicy, PlanOptions> ways[] = {
      {file_policy(Exposure::Host), {}},
      {file_policy(Exposure::SubInterface), {}},
      {file_policy(Exposure::SubInterface), with_resolver()},
      {file_policy(Exposure::PodOwned), {}},
      {env_file, with_resolver()},
      {engines, with_resolver()},
      {engines, {}},
      {named, {}},
  };
  Json before = pod({container("main"), container("side", {}, "")}, false);
  before["spec"]["initContainers"] = {container("a", {}, ""), container("warm-up")};
  before["spec"]["volumes"] = {{{"name", "data"}, {"emptyDir", Json::object()}}};
  for (const auto& [policy, options] : ways) {
    const Json wanted = admit(before, policy, nullptr, options).pod["spec"];
    for (const auto& [earlier, earlier_options] : ways) {
      for (const bool host_network : {false, true}) {
        Json copied = before;
        if (host_network) copied["spec"]["hostNetwork"] = true;
        copied = admit(copied, earlier, nullptr, earlier_options).pod;
        copied["spec"].erase("hostNetwork");
        EXPECT_EQ(comparable(settled(copied, policy, options).pod["spec"]), comparable(wanted));
      }
    }
  }
}

}  // namespace
}  // namespace nccl_env::tests::conf_property_test
