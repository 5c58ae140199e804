// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/kube_store.h"

#include <array>
#include <system_error>

#include "claim_reader.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/informer.h"
#include "nccl_env/kube/version.h"
#include "nccl_env/store/manifests.h"
#include "snapshot_writer.h"
#include "sync_state.h"
#include "watched_kind.h"

namespace nccl_env::store {
namespace {

using Json = nlohmann::json;
using Table = std::shared_ptr<const NodeFabric>;
using kube::Informer;

constexpr std::chrono::milliseconds kPodDeadline{300};

KindRules<PolicyEntry> policy_rules(PolicyOptions options) {
  const auto convert = [options](const Json& object) -> Result<PolicyEntry> {
    auto policy = parse_policy(object, options);
    if (!policy) return policy.error();
    return PolicyEntry{std::make_shared<const NcclPolicy>(*std::move(policy)), {}};
  };
  return {"NcclPolicy",
          convert,
          [](const std::string& problem) {
            return PolicyEntry{nullptr, problem};
          },
          [](Snapshot& to, const std::string& name, const PolicyEntry& entry) { to.policies[name] = entry; },
          [](Snapshot& from, const std::string& name) { from.policies.erase(name); },
          [](Snapshot& all) { all.policies.clear(); }};
}

KindRules<Table> table_rules() {
  const auto convert = [](const Json& object) -> Result<Table> {
    auto table = parse_node_fabric(object);
    if (!table) return table.error();
    return std::make_shared<const NodeFabric>(*std::move(table));
  };
  return {"NodeFabric",
          convert,
          [](const std::string&) { return std::nullopt; },
          [](Snapshot& to, const std::string&, const Table& table) { to.tables.put(table); },
          [](Snapshot& from, const std::string& name) { from.tables.erase(name); },
          [](Snapshot& all) { all.tables = {}; }};
}

using OptedIn = Objects::NamedPolicy;

KindRules<OptedIn> namespace_rules() {
  const auto erase = [](Snapshot& from, const std::string& name) {
    from.opted_in.erase(name);
    from.at_binding.erase(name);
  };
  const auto put = [erase](Snapshot& to, const std::string& name, const OptedIn& labels) {
    erase(to, name);
    if (labels.policy.empty()) return;  // a label without a value opts in to nothing
    to.opted_in[name] = labels.policy;
    if (labels.at_binding) to.at_binding.insert(name);
  };
  return {"Namespace",
          [](const Json& object) -> Result<OptedIn> {
            return OptedIn{"", policy_label(object), is_at_binding(object)};
          },
          [](const std::string&) { return std::nullopt; },
          put,
          erase,
          [](Snapshot& all) {
            all.opted_in.clear();
            all.at_binding.clear();
          }};
}

}  // namespace

struct KubernetesStore::Body {
  Body(std::unique_ptr<kube::Client> to, PolicyOptions options, const std::shared_ptr<Logger>& logger)
      : log(logger),
        client(std::move(to)),
        claims(*client),
        writer({3, [this] { return ages_count(); }, [this] { check_version(); }}, logger),
        policies(policy_rules(options), writer, logger),
        tables(table_rules(), writer, logger),
        namespaces(namespace_rules(), writer, logger) {}

  // Apart from the constructor: where a thread cannot be started, the destructor ends those that were, before
  // what they use.
  void watch() {
    const std::lock_guard lock(watches_mutex);
    watch_policies = std::make_unique<Informer>(
        *client, kube::Collection{"/apis/nccl-env.io/v1alpha1/ncclpolicies", {}}, policies, log);
    watch_tables = std::make_unique<Informer>(
        *client, kube::Collection{"/apis/nccl-env.io/v1alpha1/nodefabrics", {}}, tables, log);
    watch_namespaces = std::make_unique<Informer>(
        *client, kube::Collection{"/api/v1/namespaces", std::string(key::kPolicyLabel)}, namespaces, log);
  }

  // The writer asks from its thread, which runs before the informers do and ends after.
  bool ages_count() {
    const std::lock_guard lock(watches_mutex);
    const bool in_contact = watch_tables != nullptr && watch_tables->health().in_contact;
    return sync.update(in_contact, std::chrono::steady_clock::now());
  }

  void check_version() {
    const auto version = kube::server_version(*client);
    if (!version) return log->warn("Kubernetes' version not known", {{"problem", version.error().message}});
    if (version->supported()) return log->info("Kubernetes", {{"version", version->text}});
    log->warn(
        "Kubernetes is older than 1.30",
        {{"version", version->text},
         {"problem",
          "pods' tokens do not name their node and there is no ValidatingAdmissionPolicy: nothing keeps an "
          "agent from writing another node's table, nor a user from changing our annotations on a bound "
          "pod; what the webhook injects is the same"}});
  }

  ~Body() {
    client->stop();
    {
      const std::lock_guard lock(watches_mutex);
      watch_policies.reset();
      watch_tables.reset();
      watch_namespaces.reset();
    }
    writer.stop();
  }

  static WatchStats stats_of(const char* kind, const Informer& informer, std::uint64_t objects,
                             std::uint64_t refused) {
    const kube::InformerHealth health = informer.health();
    return {kind,
            health.synced,
            health.in_contact,
            static_cast<std::uint64_t>(health.since_contact.count()),
            health.relists,
            objects,
            refused};
  }

  const std::shared_ptr<Logger> log;
  const std::unique_ptr<kube::Client> client;
  ClaimReader claims;
  SyncState sync;            // of the writer's thread
  std::mutex watches_mutex;  // guards the three watches' coming and going
  std::unique_ptr<Informer> watch_policies, watch_tables, watch_namespaces;
  SnapshotWriter writer;
  WatchedKind<PolicyEntry> policies;
  WatchedKind<Table> tables;
  WatchedKind<OptedIn> namespaces;
};

KubernetesStore::KubernetesStore(std::unique_ptr<Body> body) : body_(std::move(body)) {}
KubernetesStore::~KubernetesStore() = default;

Result<std::unique_ptr<KubernetesStore>> KubernetesStore::start(kube::ClientConfig config,
                                                                PolicyOptions options,
                                                                std::shared_ptr<Logger> log) {
  auto client = kube::Client::make(std::move(config), log);
  if (!client) return client.error();
  log->info("following the API server", {{"server", (*client)->server()}});
  try {
    auto body = std::make_unique<Body>(*std::move(client), options, log);
    body->watch();
    return std::unique_ptr<KubernetesStore>(new KubernetesStore(std::move(body)));
  } catch (const std::system_error& error) {
    return Error{std::string("the API server cannot be followed: no thread: ") + error.what()};
  }
}

const Published<Snapshot>& KubernetesStore::snapshots() const {
  return body_->writer.snapshots();
}

bool KubernetesStore::ready() const {
  return body_->writer.published();
}

StoreStats KubernetesStore::stats() const {
  Body& b = *body_;
  return {b.writer.count(),
          b.writer.last_unix(),
          0,
          0,
          {Body::stats_of("NcclPolicy", *b.watch_policies, b.policies.objects(), b.policies.refused()),
           Body::stats_of("NodeFabric", *b.watch_tables, b.tables.objects(), b.tables.refused()),
           Body::stats_of("Namespace", *b.watch_namespaces, b.namespaces.objects(), b.namespaces.refused())}};
}

Result<std::optional<std::string>> KubernetesStore::read_pod(std::string_view name_space,
                                                             std::string_view name) const {
  if (!is_object_name(name_space) || !is_object_name(name)) return std::optional<std::string>();
  kube::Call call;
  call.target = "/api/v1/namespaces/" + std::string(name_space) + "/pods/" + std::string(name);
  call.deadline = kPodDeadline;
  auto reply = body_->client->call(call);
  if (!reply) return reply.error();
  if (reply->status == kube::kNotFound) return std::optional<std::string>();
  if (reply->status != kube::kOk) return Error{"the pod could not be read: " + kube::status_message(*reply)};
  return std::optional<std::string>(std::move(reply->body));
}

std::optional<Result<SharedRequests>> KubernetesStore::read_claim(const ClaimRef& ref, bool may_wait) const {
  const auto now = std::chrono::steady_clock::now();
  if (auto known = body_->claims.known(ref, now)) return Result<SharedRequests>(std::move(known));
  if (!may_wait) return std::nullopt;
  return body_->claims.read(ref, now);
}

}  // namespace nccl_env::store
