// SPDX-License-Identifier: Apache-2.0
// Admission with a clock that stands, and a cluster's pods in a map.
#include "nccl_env/webhook/admission.h"

#include "core/builders.h"
#include "support/matchers.h"
#include "webhook/reviews.h"

namespace nccl_env::webhook::admission_test {
namespace {

using namespace nccl_env::tests;
using ::testing::Field;

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() {
    NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
    policy.on_unresolved = OnUnresolved::Deny;
    set(policy);
  }

  template <typename Change>
  void change(const Change& how) {
    how(snapshot_);
  }
  void set(const NcclPolicy& policy) {
    change([&](Snapshot& snapshot) {
      snapshot.policies["p"] = {std::make_shared<const NcclPolicy>(policy), {}};
      snapshot.opted_in["ml"] = "p";
    });
  }
  void set(const NodeFabric& table, bool in_sync = true) {
    change([&](Snapshot& snapshot) {
      snapshot.tables.put(pack(table));
      snapshot.in_sync = in_sync;
    });
  }

  void forget_tables() {
    change([](Snapshot& snapshot) {
      snapshot.tables = {};
      snapshot.tables_known = false;
    });
  }

  // Keeps the record of an answer.
  Answer ask(const Json& review, PodLookup lookup = PodLookup::Read) {
    record_ = {};  // before the review that it has views of
    Answer answer = admission_.answer(snapshot_, review.dump(), false, lookup);
    if (auto* answered = std::get_if<Answered>(&answer)) record_ = std::move(answered->record);
    return answer;
  }
  // The response. Anything else throws.
  Json answer(const Json& review, PodLookup lookup = PodLookup::Read) {
    return Json::parse(std::get<Answered>(ask(review, lookup)).response)["response"];
  }
  bool postpones(const Json& review) {
    return std::holds_alternative<store::Postponed>(ask(review, PodLookup::Postpone));
  }
  // Lets the cluster have the pod of the review as it was admitted.
  void create(const Json& review) {
    pod_ = patched(review, answer(review));
    pod_["metadata"]["uid"] = "pod-uid";
  }
  Json bound_annotations(const std::string& node = "node-a") {
    const Json review = binding_review(node, "pod-uid");
    return patched(review, answer(review))["metadata"]["annotations"];
  }
  void set_label(const std::string& policy) {
    change([&](Snapshot& snapshot) {
      snapshot.opted_in.erase("ml");
      if (!policy.empty()) snapshot.opted_in["ml"] = policy;
    });
  }
  void drop_policy() {
    change([](Snapshot& snapshot) { snapshot.policies.clear(); });
  }
  // "deny NoTable", "annotate", …
  std::string bind(const std::string& node = "node-a", const std::string& uid = "pod-uid") {
    const Json response = answer(binding_review(node, uid));
    EXPECT_EQ(response["allowed"], record_.outcome != Outcome::Deny);
    message_ = response.contains("status") ? response["status"]["message"].get<std::string>() : "";
    return std::string(to_string(record_.outcome)) +
           (record_.reason ? " " + std::string(to_string(*record_.reason)) : "");
  }

  // NCCL_IB_HCA as a Binding's answer has it.
  std::string bound_hcas(PodLookup lookup = PodLookup::Read) {
    const Json review = binding_review();
    return bound_list(patched(review, answer(review, lookup))["metadata"]["annotations"]);
  }
  // Each Binding reads its table; known is one of two rails. Leaves it such that it cannot be read.
  void expect_single_reads() {
    EXPECT_TRUE(postpones(binding_review()));
    table_ = pack(rails(4));
    EXPECT_EQ(bound_hcas(), "=mlx5_1,mlx5_2,mlx5_3,mlx5_4");
    EXPECT_EQ(record_.detail, "");
    table_ = SharedTable();
    EXPECT_EQ(bound_hcas(), "") << "deleted since";
    table_ = Error{"the table of node node-a could not be read: HTTP 500"};
    EXPECT_EQ(bound_hcas(), "=mlx5_1,mlx5_2");
    EXPECT_EQ(record_.detail,
              "The node's table may have changed since it was listed: "
              "the table of node node-a could not be read: HTTP 500.");
  }

  DecisionRecord record_;  // of the last answer
  Json pod_;               // null: there is none
  std::optional<Error> read_error_;
  int reads_ = 0;
  std::string message_;
  Timestamp now_ = kNow;
  Snapshot snapshot_;
  Admission admission_{{std::chrono::hours(3),
                        [this] { return now_; },
                        [this](std::string_view, std::string_view) -> Result<std::optional<std::string>> {
                          ++reads_;
                          if (read_error_) return *read_error_;
                          if (pod_.is_null()) return std::optional<std::string>();
                          return std::optional<std::string>(pod_.dump());
                        },
                        [this](const ClaimRef& ref, bool may_wait) -> store::Attempt<SharedRequests> {
                          if (!may_wait && !claims_known_) return store::Postponed{};
                          ++claim_reads_;
                          const auto found = claims_.find(ref);
                          if (found == claims_.end()) return Error{describe(ref) + " does not exist"};
                          return found->second;
                        },
                        [this](std::string_view, bool may_wait) -> store::Attempt<SharedTable> {
                          if (!may_wait) return store::Postponed{};
                          ++table_reads_;
                          return table_;
                        },
                        {},
                        [this](std::string_view, bool may_wait) -> Looked {
                          if (policy_remembered_ || may_wait) return policy_;
                          return store::Postponed{};
                        },
                        [this](std::string_view node, std::string_view boot_id,
                               bool may_wait) -> store::Attempt<store::BootCheck> {
                          asked_boot_ = std::string(node) + " " + std::string(boot_id);
                          if (boot_ || !may_wait) return boot_ ? Checked(*boot_) : store::Postponed{};
                          return store::BootCheck::Unknown;
                        }}};
  using Checked = store::Attempt<store::BootCheck>;
  // What is remembered of the node's boot; nothing: a look-up waits, and fails.
  std::optional<store::BootCheck> boot_ = store::BootCheck::Same;
  std::string asked_boot_;
  // What a look-up of the namespace gives, if it waits or remembers.
  using Looked = store::Attempt<std::optional<PolicyLookup>>;
  Looked policy_ = std::optional<PolicyLookup>();
  bool policy_remembered_ = false;
  void make_unknown() {
    change([](Snapshot& snapshot) {
      snapshot.may_lag = true;
      snapshot.opted_in.clear();
    });
  }
  // The namespace that an answer waits for; "none" if it waits for something else; "" if there is an answer.
  std::string awaited(const Json& review, PodLookup lookup) {
    const Answer answer = ask(review, lookup);
    const auto* postponed = std::get_if<store::Postponed>(&answer);
    if (!postponed) return "";
    return postponed->name_space.empty() ? "none" : postponed->name_space;
  }

  void add_template(const std::string& name, const std::string& device_class) {
    claims_[{ClaimRef::Kind::Template, "ml", name}] =
        std::make_shared<const DeviceRequests>(DeviceRequests{{"nic", {device_class}}});
  }
  std::map<ClaimRef, SharedRequests> claims_;
  Result<SharedTable> table_ = SharedTable();  // what a read gives
  int table_reads_ = 0;
  bool claims_known_ = false;  // without waiting
  int claim_reads_ = 0;
};

TEST_F(AdmissionTest, DeniesWhileTheNodeCannotGiveWhatThePodWaitsFor) {
  create(pod_review());
  EXPECT_EQ(bind(), "deny NoTable");
  EXPECT_THAT(message_, AllOf(HasSubstr("node-a"), HasSubstr("import a table")));
  NodeFabric table = rails(2);
  table.time = kNow - std::chrono::hours(3) - std::chrono::seconds(1);
  set(table);
  EXPECT_EQ(bind(), "deny StaleTable");
  EXPECT_THAT(message_, HasSubstr("node-a"));
  set(table, false);
  EXPECT_EQ(bind(), "annotate") << "ages do not count while the store is out of sync";
  table.time = kNow - std::chrono::hours(3);
  set(table);
  EXPECT_EQ(bind(), "annotate");
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(bind(), "deny StaleTable");
}

TEST_F(AdmissionTest, NeverDeniesForWhatNeedsNoPort) {
  create(pod_review());
  NodeFabric table = rails(2);
  table.ports[1].gids = usual_rows("10.0.0.1", "eth2");
  table.ports[1].gids->erase(table.ports[1].gids->begin() + 2);  // the IPv4 row is at another index
  table.ports[1].gids->back().index = 2;
  set(table);
  EXPECT_EQ(bind(), "annotate");
  EXPECT_THAT(record_.omitted,
              Contains(Pair(AllOf(Field(&LogName::scope, "host"), Field(&LogName::name, "NCCL_IB_GID_INDEX")),
                            Reason::GidNotUniform)));
  EXPECT_EQ(reads_, 0);
}

TEST_F(AdmissionTest, WhatIsPromisedIsKeptThoughThePolicyNowSaysDryRun) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  set(policy);
  set(rails(2));
  create(pod_review());
  policy.mode = PolicyMode::DryRun;
  set(policy);
  EXPECT_EQ(bound_list(bound_annotations()), "=mlx5_1,mlx5_2");
  EXPECT_EQ(record_.reason, std::nullopt);
  EXPECT_THAT(record_.detail, HasSubstr("The pod was created by it"));
  policy.on_unresolved = OnUnresolved::Deny;
  set(policy);
  EXPECT_EQ(bind("node-b"), "annotate") << "a policy that only reports holds nobody";
}

TEST_F(AdmissionTest, APromiseOfAPolicyThatTheLabelDoesNotNameNowIsNotKept) {
  set(rails(2));
  create(pod_review());
  NcclPolicy dry = policy_for("rdma/hca", Exposure::SubInterface);
  dry.name = "dry";
  dry.mode = PolicyMode::DryRun;
  change([&](Snapshot& snapshot) {
    snapshot.policies["dry"] = {std::make_shared<const NcclPolicy>(dry), {}};
  });
  const std::pair<const char*, const char*> cases[] = {{"gone", "PolicyMissing"}, {"dry", "DryRun"}};
  for (const auto& [label, reason] : cases) {
    set_label(label);
    EXPECT_EQ(bound_list(bound_annotations()), "") << label;
    EXPECT_EQ(bind("node-b"), "annotate " + std::string(reason)) << "and nothing is held back";
  }
}

// hca: "=mlx5_0" when the pod was created, FromNode now: its env has the first.
TEST_F(AdmissionTest, ForADayAfterAnEditAPodOfOtherValuesGetsNoIndex) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.value_hash = "0000000a";
  set(policy);
  set(rails(2));
  create(pod_review());
  policy.value_hash = "0000000b";
  policy.written = kNow;
  set(policy);
  const auto index = [this](const std::string& uid = "pod-uid") {
    const Json review = binding_review("node-a", uid);
    const Json bound = patched(review, answer(review))["metadata"]["annotations"];
    EXPECT_EQ(bound_list(bound), "=mlx5_1,mlx5_2");
    const ConfText text = read_conf(bound.value("hostnetwork.nccl-env.io/nccl.conf", ""));
    return text.values.contains("NCCL_IB_GID_INDEX");
  };
  EXPECT_TRUE(postpones(binding_review()));
  EXPECT_FALSE(index());
  EXPECT_THAT(record_.omitted, Contains(Pair(::testing::_, Reason::PolicyChanged)));
  EXPECT_TRUE(index("another")) << "which could not be read";
  EXPECT_THAT(record_.detail, HasSubstr("another uid"));
  EXPECT_EQ(record_.reason, Reason::PodLookupFailed);
  const int reads = reads_;
  now_ += std::chrono::hours(24);
  EXPECT_TRUE(index());
  EXPECT_EQ(reads_, reads) << "a day later no pod is read";
  now_ -= std::chrono::seconds(1);
  EXPECT_FALSE(index());
  policy.value_hash = "0000000a";  // taken back
  set(policy);
  EXPECT_TRUE(index());
  policy.written.reset();  // a file's
  policy.value_hash = "0000000b";
  set(policy);
  EXPECT_TRUE(index());
  policy.written = now_;
  set(policy);
  EXPECT_TRUE(postpones(binding_review()));
  policy.written.reset();
  set(policy);
  change([this](Snapshot& snapshot) { snapshot.labelled["ml"] = now_; });
  EXPECT_FALSE(index()) << "another policy made it, from which the namespace's label was moved";
  now_ += std::chrono::hours(24);
  EXPECT_TRUE(index());
}

// The policy was edited; or made anew under its name, so that only the pod tells what it waits for.
TEST_F(AdmissionTest, ForADayAfterAnEditAPodGetsTheTextThatItReads) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  set(policy);
  set(rails(2));
  Json review = pod_review();
  review["request"]["object"]["spec"]["hostNetwork"] = false;
  create(review);
  policy.gid_index.kind = GidIndexRule::Kind::Omit;
  policy.resources.front().exposure = Exposure::Host;
  policy.written = kNow;
  for (const int generation : {2, 1}) {
    policy.generation = generation;
    set(policy);
    EXPECT_EQ(postpones(binding_review()), generation == 1) << "edited, all texts are there without a look";
    EXPECT_TRUE(bound_annotations().contains("subinterface.nccl-env.io/nccl.conf"));
  }
  now_ += std::chrono::hours(24);
  EXPECT_FALSE(bound_annotations().contains("subinterface.nccl-env.io/nccl.conf"));
}

// The pod of an author who knows our keys: no hook saw it at CREATE.
TEST_F(AdmissionTest, AForgedPromiseBringsNothing) {
  NcclPolicy dry = policy_for("rdma/hca", Exposure::SubInterface);
  dry.mode = PolicyMode::DryRun;
  set(dry);
  set(rails(2));
  NcclPolicy other = policy_for("rdma/hca", Exposure::SubInterface);
  other.name = "other-team";
  other.env = {{"NCCL_DEBUG_FILE", "/secret/%h"}};
  change([&](Snapshot& snapshot) {
    snapshot.policies["other-team"] = {std::make_shared<const NcclPolicy>(other), {}};
  });
  pod_ = pod_review()["request"]["object"];
  pod_["metadata"]["uid"] = "pod-uid";
  pod_["spec"]["volumes"] = Json::parse(R"([{"name": "nccl-env-conf", "downwardAPI": {"items": [
      {"path": "nccl.conf", "fieldRef":
       {"fieldPath": "metadata.annotations['hostnetwork.nccl-env.io/nccl.conf']"}}]}}])");
  const auto forge = [&](const std::string& policy, const std::string& inject) {
    pod_["metadata"]["annotations"]["nccl-env.io/status"] = R"({"v":1,"policy":")" + policy + "\"}";
    pod_["metadata"]["labels"]["nccl-env.io/inject"] = inject;
    return bound_annotations().value("hostnetwork.nccl-env.io/nccl.conf", "");
  };
  EXPECT_EQ(forge("other-team", "true"), "");
  EXPECT_EQ(forge("other-team", "false"), "");
  EXPECT_EQ(forge("p", "false"), "") << "a pod that opts out was promised nothing";
  EXPECT_NE(forge("p", "true"), "") << "as if the policy had enforced then";
}

TEST_F(AdmissionTest, ANamespaceThatASnapshotDoesNotKnowIsAwaitedAndThenRead) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  set(rails(2));
  const PolicyLookup labelled = find_policy(snapshot_, "ml");
  make_unknown();
  for (const Json& review : {pod_review(), binding_review()}) {
    policy_ = std::optional(labelled);
    EXPECT_EQ(awaited(review, PodLookup::Await), "ml");
    EXPECT_EQ(awaited(review, PodLookup::Postpone), "none");
    EXPECT_TRUE(answer(review).contains("patch"));
    EXPECT_EQ(record_.policy_read, PolicyRead::Found);
    EXPECT_EQ(record_.reason, std::nullopt);
    policy_remembered_ = true;
    EXPECT_EQ(awaited(review, PodLookup::Await), "") << "it was read a moment ago";
    policy_remembered_ = false;

    policy_ = Error{"HTTP 500"};
    EXPECT_FALSE(answer(review).contains("patch"));
    EXPECT_EQ(record_.reason, Reason::NamespaceNotOptedIn);
    EXPECT_EQ(record_.policy_read, PolicyRead::Failed);
    EXPECT_THAT(record_.detail, HasSubstr("It could not be looked up: HTTP 500."));
    policy_ = std::optional<PolicyLookup>();
    answer(review);
    EXPECT_EQ(record_.policy_read, PolicyRead::LeftOut) << "the budget is spent";
    policy_ = std::optional(labelled);
    answer(review, PodLookup::Unavailable);
    EXPECT_EQ(record_.policy_read, PolicyRead::LeftOut) << "too many wait";
    policy_ = std::optional(find_policy(snapshot_, "ml"));
    answer(review);
    EXPECT_EQ(record_.policy_read, PolicyRead::Absent) << "deleted, or without the label";
    policy_remembered_ = true;
    EXPECT_EQ(awaited(review, PodLookup::Await), "ml") << "whoever asked a moment ago";
    policy_remembered_ = false;
  }
  EXPECT_EQ(reads_, 0) << "no pod, whoever asks";
}

TEST_F(AdmissionTest, APolicyThatIsMissingForLongHoldsUpOnePodASecond) {
  change([](Snapshot& snapshot) { snapshot.may_lag = true; });
  drop_policy();
  EXPECT_EQ(awaited(pod_review(), PodLookup::Await), "ml");
  policy_ = std::optional(find_policy(snapshot_, "ml"));
  answer(pod_review());
  EXPECT_EQ(record_.reason, Reason::PolicyMissing);
  policy_remembered_ = true;
  EXPECT_EQ(awaited(pod_review(), PodLookup::Await), "");
}

TEST_F(AdmissionTest, WhatASnapshotKnowsIsNotLookedUp) {
  set(rails(2));
  change([](Snapshot& snapshot) {
    snapshot.may_lag = true;
    snapshot.opted_in["empty"] = "";
    snapshot.opted_in["invalid"] = "bad";
    snapshot.policies["bad"] = {nullptr, "spec: missing"};
  });
  for (const char* name : {"ml", "empty", "invalid"}) {
    EXPECT_EQ(awaited(pod_review(name), PodLookup::Await), "") << name;
    EXPECT_EQ(record_.policy_read, std::nullopt) << name;
  }
}

TEST_F(AdmissionTest, WithoutItsPolicyAWaitingPodIsToldWhy) {
  set(rails(2));
  create(pod_review());
  drop_policy();
  const Json annotations = bound_annotations();
  EXPECT_EQ(record_.reason, Reason::PolicyMissing);
  EXPECT_EQ(annotations["nccl-env.io/node"], R"({"v":1,"node":"node-a","reason":"PolicyMissing"})");
  EXPECT_EQ(annotations["hostnetwork.nccl-env.io/nccl.conf"], "");
}

TEST_F(AdmissionTest, WithoutAPolicyOtherPodsBindingsAreLeftAlone) {
  Json review = pod_review();
  review["request"]["object"]["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  create(review);
  drop_policy();
  EXPECT_EQ(bind(), "skip PolicyMissing");
  EXPECT_FALSE(answer(binding_review()).contains("patch"));
  pod_ = nullptr;
  EXPECT_EQ(bind(), "skip PolicyMissing");
  EXPECT_THAT(record_.detail, HasSubstr("waits for values is not known: There is no such pod."));
  EXPECT_TRUE(postpones(binding_review()));
  EXPECT_EQ(answer(binding_review(), PodLookup::Unavailable)["allowed"], true);
}

// Names are validated after admission: a terminal must not obey them before.
TEST_F(AdmissionTest, WarningsAndAuditAnnotationsSteerNoTerminal) {
  Json review = pod_review();
  Json& container = review["request"]["object"]["spec"]["containers"][0];
  container["name"] = "c\n\x1b[31m\xc2\x9b\xe2\x80\xae";
  container["env"].push_back({{"name", "NCCL_IB_HCA"}, {"value", "=mlx5_1,"}});
  container["env"].push_back({{"name", "NCCL_IB_TIMEOUT"}, {"value", "99"}});
  const Json response = answer(review);
  ASSERT_FALSE(response["warnings"].empty());
  const std::string warnings = response["warnings"].dump(), audit = response["auditAnnotations"].dump();
  for (const std::string& text : {warnings, audit}) {
    for (const char* steering : {"\xc2\x9b", "\xe2\x80\xae"}) EXPECT_THAT(text, Not(HasSubstr(steering)));
  }
  EXPECT_THAT(warnings, Not(AnyOf(HasSubstr("\\n"), HasSubstr("\\u001b"))));
  EXPECT_THAT(audit, HasSubstr("[31m??"));
}

TEST_F(AdmissionTest, HoldsBackNoPodThatIsNotOurs) {
  Json review = pod_review();
  review["request"]["object"]["metadata"]["labels"]["nccl-env.io/inject"] = "false";
  create(review);
  EXPECT_EQ(bind(), "annotate");
  EXPECT_EQ(reads_, 1);
}

TEST_F(AdmissionTest, HoldsBackNoPodThatItCannotRead) {
  EXPECT_EQ(bind(), "annotate PodLookupFailed");
  create(pod_review());
  EXPECT_EQ(bind("node-a", "another"), "annotate PodLookupFailed");
  EXPECT_EQ(bind("node-a", ""), "deny NoTable") << "not every scheduler sends the uid";
  pod_ = Json::array();
  EXPECT_EQ(bind(), "annotate PodLookupFailed");
  read_error_ = Error{"the disk is gone"};
  EXPECT_EQ(bind(), "annotate PodLookupFailed");
  EXPECT_EQ(record_.detail, "the disk is gone");
  reads_ = 0;
  EXPECT_TRUE(answer(binding_review(), PodLookup::Unavailable)["allowed"]) << "too many are being read";
  EXPECT_EQ(record_.outcome, Outcome::Annotate);
  EXPECT_EQ(record_.reason, Reason::PodLookupFailed);
  EXPECT_EQ(reads_, 0);
}

TEST_F(AdmissionTest, PostponesOnlyWhatNeedsThePod) {
  create(pod_review());
  EXPECT_TRUE(postpones(binding_review("node-a")));
  EXPECT_EQ(reads_, 0);
  EXPECT_FALSE(postpones(pod_review()));
  set(rails(2));
  EXPECT_FALSE(postpones(binding_review("node-a")));
  EXPECT_TRUE(postpones(binding_review("node-b")));
  NcclPolicy lenient = policy_for("rdma/hca", Exposure::SubInterface);
  set(lenient);
  EXPECT_FALSE(postpones(binding_review("node-b")));
  EXPECT_EQ(reads_, 0);
}

// A pod whose container names claims of these templates.
Json claiming_review(const std::vector<std::string>& templates) {
  Json review = pod_review();
  Json& spec = review["request"]["object"]["spec"];
  spec.erase("hostNetwork");
  spec["containers"][0]["resources"] = {{"claims", Json::array()}};
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const std::string name = "claim-" + std::to_string(i);
    spec["resourceClaims"].push_back({{"name", name}, {"resourceClaimTemplateName", templates[i]}});
    spec["containers"][0]["resources"]["claims"].push_back({{"name", name}});
  }
  return review;
}

NcclPolicy for_class(const std::string& device_class) {
  NcclPolicy policy = policy_for("rdma/hca", Exposure::SubInterface);
  policy.device_classes = {device_class};
  policy.env = {{"NCCL_IB_TIMEOUT", "22"}};
  return policy;
}

TEST_F(AdmissionTest, APodWithClaimsWaitsForTheirObjectsWhereThePolicyNamesAClass) {
  add_template("nics", "rdma");
  const Json review = claiming_review({"nics"});
  set(policy_for("rdma/hca", Exposure::SubInterface));
  EXPECT_FALSE(postpones(review));
  EXPECT_EQ(record_.reason, Reason::NotRdma);
  set(for_class("rdma"));
  EXPECT_TRUE(postpones(review));
  EXPECT_EQ(claim_reads_, 0);
  const Json read = answer(review);
  EXPECT_EQ(read["auditAnnotations"]["decision"], "inject");
  EXPECT_EQ(patched(review, read)["spec"]["containers"][0]["env"],
            Json({{{"name", "NCCL_IB_TIMEOUT"}, {"value", "22"}}}));
  claims_known_ = true;
  EXPECT_FALSE(postpones(review));
}

TEST_F(AdmissionTest, AClaimThatCannotBeReadIsAllowedAndWarnedOf) {
  set(for_class("rdma"));
  const Json missing = answer(claiming_review({"nics"}));
  EXPECT_TRUE(missing["allowed"]);
  EXPECT_FALSE(missing.contains("patch"));
  EXPECT_EQ(missing["auditAnnotations"]["reason"], "ClaimUnknown");
  EXPECT_EQ(missing["warnings"],
            Json({"nccl-env: ResourceClaimTemplate ml/nics does not exist. Nothing was injected."}));
  answer(claiming_review({"nics"}), PodLookup::Unavailable);
  EXPECT_EQ(record_.reason, Reason::ClaimUnknown);
  EXPECT_THAT(record_.detail, HasSubstr("too many look-ups"));
}

TEST_F(AdmissionTest, ReadsAtMostEightObjectsForAPod) {
  set(for_class("rdma"));
  std::vector<std::string> templates;
  for (int i = 0; i < 12; ++i) templates.push_back("t" + std::to_string(i));
  answer(claiming_review(templates));
  EXPECT_EQ(claim_reads_, 8);
  answer(claiming_review(std::vector<std::string>(100, "t0")));
  EXPECT_EQ(claim_reads_, 9) << "each object once";
  EXPECT_EQ(record_.reason, Reason::ClaimUnknown);
}

TEST_F(AdmissionTest, WhileTablesAreLoadedABindingReadsItsOwn) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  forget_tables();
  const Json review = binding_review();
  EXPECT_TRUE(postpones(review));
  EXPECT_EQ(table_reads_, 0);
  table_ = pack(rails(2));
  EXPECT_EQ(bind(), "annotate");
  EXPECT_THAT(record_.set, Not(IsEmpty()));
  EXPECT_EQ(table_reads_, 1);
  table_ = SharedTable();
  EXPECT_EQ(bind(), "annotate");
  EXPECT_THAT(record_.omitted, Contains(Pair(::testing::_, Reason::NoTable)));
  EXPECT_FALSE(postpones(pod_review())) << "a CREATE";
  EXPECT_EQ(table_reads_, 2);
}

// No watch follows a list that is not complete: the node may have another table by now, or none.
TEST_F(AdmissionTest, WhileTablesAreLoadedWhatWasListedCountsOnlyIfItCannotBeRead) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  forget_tables();
  change([](Snapshot& snapshot) { snapshot.tables.put(pack(rails(2))); });
  expect_single_reads();
  EXPECT_EQ(bound_hcas(PodLookup::Unavailable), "=mlx5_1,mlx5_2");
  EXPECT_THAT(record_.detail, HasSubstr("too many look-ups wait"));
}

// Another table may be there since the watch was lost.
TEST_F(AdmissionTest, WhileNoWatchFollowsTheTablesEachIsReadAndCountsAsKnownIfItCannotBe) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  set(rails(2));
  EXPECT_EQ(bound_hcas(), "=mlx5_1,mlx5_2");
  EXPECT_EQ(table_reads_, 0);
  change([](Snapshot& snapshot) { snapshot.tables_followed = false; });
  expect_single_reads();
  change([](Snapshot& snapshot) { snapshot.tables = {}; });
  EXPECT_EQ(bound_hcas(), "") << "it was not there, and an error would let the pod pass";
  EXPECT_THAT(record_.omitted, Contains(Pair(::testing::_, Reason::NoTable)));
  EXPECT_THAT(record_.detail, HasSubstr("may have changed"));
}

TEST_F(AdmissionTest, ATableOfAnotherBootHoldsThePodUntilItsNodeHasWritten) {
  NodeFabric table = rails(2);
  table.boot_id = "boot-a";
  set(table);
  create(pod_review());
  EXPECT_EQ(bind(), "annotate");
  EXPECT_EQ(asked_boot_, "node-a boot-a");
  EXPECT_EQ(record_.boot, store::BootCheck::Same);
  boot_ = store::BootCheck::Other;
  EXPECT_EQ(bind(), "deny StaleTable");
  EXPECT_THAT(message_, HasSubstr("of another boot"));
  EXPECT_EQ(record_.boot, store::BootCheck::Other);
  boot_ = store::BootCheck::Same;
  EXPECT_EQ(bind(), "annotate");
}

TEST_F(AdmissionTest, ABootThatIsNotKnownIsLookedUpAndElseTheAgeDecides) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  set(rails(2));
  boot_.reset();
  EXPECT_TRUE(postpones(binding_review()));
  EXPECT_FALSE(postpones(pod_review())) << "a CREATE";
  for (const PodLookup lookup : {PodLookup::Read, PodLookup::Unavailable}) {
    EXPECT_EQ(bound_hcas(lookup), "=mlx5_1,mlx5_2");
    EXPECT_EQ(record_.boot, store::BootCheck::Unknown);
    EXPECT_EQ(record_.detail, "");
  }
  asked_boot_.clear();
  change([](Snapshot& snapshot) { snapshot.tables = {}; });
  EXPECT_EQ(bound_hcas(), "");
  EXPECT_EQ(asked_boot_, "") << "there is no table whose boot it could be";
  EXPECT_FALSE(record_.boot);
}

TEST_F(AdmissionTest, ARefusalByAListedTableSaysThatItMayBeOld) {
  NodeFabric down = rails(2);
  for (Port& port : down.ports) port.state = PortState::Down;
  set(down);
  create(pod_review());
  const std::string refused = bind(), why = record_.detail;
  EXPECT_THAT(refused, HasSubstr("deny "));
  EXPECT_THAT(why, Not(HasSubstr("may have changed")));
  change([](Snapshot& snapshot) { snapshot.tables_known = false; });
  table_ = Error{"the table of node node-a could not be read: HTTP 500"};
  EXPECT_EQ(bind(), refused);
  EXPECT_EQ(record_.detail, why +
                                " The node's table may have changed since it was listed: "
                                "the table of node node-a could not be read: HTTP 500.");
}

TEST_F(AdmissionTest, ABindingWhoseTableCannotBeReadHasNoAnswer) {
  forget_tables();
  table_ = Error{"the table of node node-a could not be read: HTTP 500"};
  for (const PodLookup lookup : {PodLookup::Read, PodLookup::Unavailable}) {
    const Answer none = ask(binding_review(), lookup);
    ASSERT_TRUE(std::holds_alternative<Unavailable>(none));
    EXPECT_THAT(std::get<Unavailable>(none).problem, HasSubstr("the table of node node-a"));
  }
  EXPECT_EQ(table_reads_, 1);
  Json bound = pod_review();
  bound["request"]["object"]["spec"]["nodeName"] = "node-a";
  EXPECT_TRUE(std::holds_alternative<Unavailable>(ask(bound)));
  Json elsewhere = binding_review();
  elsewhere["request"]["namespace"] = elsewhere["request"]["object"]["metadata"]["namespace"] = "elsewhere";
  EXPECT_TRUE(std::holds_alternative<Answered>(ask(elsewhere)));
}

TEST_F(AdmissionTest, ByDefaultAPodIsAllowedAndNothingIsReadOnceTablesAreLoaded) {
  set(policy_for("rdma/hca", Exposure::SubInterface));
  create(pod_review());
  EXPECT_EQ(bind(), "annotate");
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(table_reads_, 0);
}

TEST_F(AdmissionTest, DenyCountsForTheExposureThatThePodHasWhichIsReadOnlyBeforeARefusal) {
  NodeFabric table = rails(2);
  table.rdma_namespace_mode = RdmaNamespaceMode::Exclusive;
  Json review = pod_review();
  review["request"]["object"]["spec"].erase("hostNetwork");
  create(review);
  set(rails(2));
  EXPECT_EQ(bind(), "annotate");
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(bind("node-b"), "deny NoTable");
  EXPECT_EQ(reads_, 1);
  set(table);
  EXPECT_EQ(bind(), "annotate");
}

TEST_F(AdmissionTest, WhatIsNobodysOfOursIsAnsweredWithoutAPatch) {
  Json deleted = pod_review();
  deleted["request"]["operation"] = "DELETE";
  deleted["request"]["object"] = nullptr;
  Json other = pod_review();
  other["request"]["resource"] = {{"group", "apps"}, {"version", "v1"}, {"resource", "deployments"}};
  Json bound = binding_review();
  bound["request"]["namespace"] = bound["request"]["object"]["metadata"]["namespace"] = "elsewhere";
  for (const Json& review : {deleted, other, pod_review("elsewhere"), bound}) {
    const Json response = answer(review);
    EXPECT_EQ(response["allowed"], true);
    EXPECT_FALSE(response.contains("patch"));
    EXPECT_THAT(record_.set, IsEmpty());
    EXPECT_EQ(record_.reason == Reason::NamespaceNotOptedIn, review["request"]["namespace"] == "elsewhere");
  }
  EXPECT_EQ(record_.outcome, Outcome::Skip);
}

}  // namespace
}  // namespace nccl_env::webhook::admission_test
