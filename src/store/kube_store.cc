// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/kube_store.h"
#include "nccl_env/core/text/strict.h"

#include <array>
#include <system_error>

#include "boot_reader.h"
#include "claim_reader.h"
#include "nccl_env/core/decide/keys.h"
#include "nccl_env/core/decide/snapshot.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/informer.h"
#include "nccl_env/kube/paths.h"
#include "nccl_env/kube/version.h"
#include "nccl_env/store/manifests.h"
#include "read_budget.h"
#include "snapshot_writer.h"
#include "sync_state.h"
#include "watched_kind.h"

namespace nccl_env::store {
namespace {

using kube::Informer;

// A Binding's review has 3 s, and other reviews wait behind it.
constexpr std::chrono::milliseconds kReadDeadline{300};
// A watch may be just as late. A gang's pods on one node are bound within this time.
constexpr std::chrono::seconds kTableAge{2};
constexpr std::size_t kTablesKept = 64;  // of some 2 KiB each
// A gang's pods behind their namespace come within this time; later it may have another label.
constexpr std::chrono::seconds kPolicyAge{1};
constexpr std::size_t kPoliciesKept = 128;  // more than the budget allows in that time

Result<PolicyEntry> read_policy_text(std::string_view text, const PolicyOptions& options) {
  auto policy = parse_policy(text, options);
  if (!policy) return policy.error();
  return PolicyEntry{std::make_shared<const NcclPolicy>(*std::move(policy)), {}};
}

KindRules<PolicyEntry> policy_rules(PolicyOptions options) {
  const auto convert = [options](const kube::ApiObject& object) {
    return read_policy_text(object.text, options);
  };
  return {
      .kind = "NcclPolicy",
      .convert = convert,
      .put = [](Snapshot& to, const std::string& name,
                const PolicyEntry& entry) { to.policies[name] = entry; },
      .erase = [](Snapshot& from, const std::string& name) { from.policies.erase(name); },
      .clear = [](Snapshot& all) { all.policies.clear(); },
      .refused =
          [](const std::string& problem) {
            return PolicyEntry{nullptr, problem};
          },
  };
}

Result<SharedTable> read_table_text(std::string_view text) {
  auto table = read_node_fabric(text);
  if (!table) return table.error();
  // For the doctor alone, which reads tables another way.
  for (Port& port : table->ports) port.dscp_priorities = port.lossless_priorities = std::nullopt;
  return pack(*table);
}

KindRules<SharedTable> table_rules() {
  return {
      .kind = "NodeFabric",
      .convert = [](const kube::ApiObject& object) { return read_table_text(object.text); },
      .put = [](Snapshot& to, const std::string&, const SharedTable& table) { to.tables.put(table); },
      .erase = [](Snapshot& from, const std::string& name) { from.tables.erase(name); },
      .clear =
          [](Snapshot& all) {
            all.tables = {};
            all.tables_known = true;
          },
      .awaited = false,
  };
}

using OptedIn = Objects::NamedPolicy;

OptedIn read_labels(std::string_view text) {
  const nlohmann::json tree = parse_json(text);
  return OptedIn{"", policy_label(tree), is_at_binding(tree), label_time(tree)};
}

// A label without a value opts in to nothing, and is known.
void put_labels(Snapshot& to, const std::string& name, const OptedIn& labels) {
  const auto known = to.opted_in.find(name);
  const bool same = known != to.opted_in.end() && known->second == labels.policy;
  to.opted_in[name] = labels.policy;
  to.at_binding.erase(name);
  if (labels.at_binding) to.at_binding.insert(name);
  if (same) return;  // a manager that writes again leaves the time of the label
  to.labelled.erase(name);
  if (labels.labelled) to.labelled.emplace(name, *labels.labelled);
}

void erase_labels(Snapshot& from, const std::string& name) {
  from.opted_in.erase(name);
  from.at_binding.erase(name);
  from.labelled.erase(name);
}

KindRules<OptedIn> namespace_rules() {
  return {
      .kind = "Namespace",
      .convert = [](const kube::ApiObject& object) -> Result<OptedIn> { return read_labels(object.text); },
      .put = put_labels,
      .erase = erase_labels,
      .clear =
          [](Snapshot& all) {
            all.opted_in.clear();
            all.at_binding.clear();
            all.labelled.clear();
          },
  };
}

}  // namespace

struct KubernetesStore::Body {
  Body(std::shared_ptr<kube::Client> to, PolicyOptions policy_options, const std::shared_ptr<Logger>& logger)
      : log(logger),
        client(std::move(to)),
        options(policy_options),
        claims(*client),
        boots(*client, logger),
        writer({2, [this] { return contact(); }, [this] { check_version(); }}, logger),
        policies(policy_rules(options), writer, logger),
        tables(table_rules(), writer, logger),
        namespaces(namespace_rules(), writer, logger) {
    writer.change([](Snapshot& draft) {
      draft.tables_known = false;
      draft.may_lag = true;
    });
  }

  // Returns an object's text; nothing if there is none.
  Result<std::optional<std::string>> fetch(std::string target) const {
    kube::Call call;
    call.target = std::move(target);
    call.deadline = kReadDeadline;
    auto reply = client->call(call);
    if (!reply) return reply.error();
    if (reply->status == kube::kNotFound) return std::optional<std::string>();
    if (reply->status != kube::kOk) return Error{kube::status_message(*reply)};
    return std::optional<std::string>(std::move(reply->body));
  }

  // Returns what applies to the namespace, of which what `known` does not have is read; nothing if the budget
  // is spent.
  Result<std::optional<PolicyLookup>> fetch_policy(const Snapshot& known, const std::string& name_space,
                                                   ReadBudget::Moment now) {
    Snapshot found;  // with what concerns the namespace
    if (!is_dns_subdomain(name_space)) return std::optional(find_policy(found, name_space));
    if (const auto labels = known.opted_in.find(name_space); labels != known.opted_in.end()) {
      const auto time = known.labelled.find(name_space);
      put_labels(found, name_space,
                 {"", labels->second, known.at_binding.contains(name_space),
                  time == known.labelled.end() ? std::nullopt : std::optional(time->second)});
    } else {
      if (!budget.take(now)) return std::optional<PolicyLookup>();
      const auto text = fetch(path_of(kube::kNamespaces, name_space));
      if (!text) return text.error();
      put_labels(found, name_space, *text ? read_labels(**text) : OptedIn());
    }
    const std::string& policy = found.opted_in[name_space];
    if (const auto entry = known.policies.find(policy); entry != known.policies.end()) {
      found.policies.insert(*entry);
    } else if (is_dns_subdomain(policy)) {
      if (!budget.take(now)) return std::optional<PolicyLookup>();
      const auto text = fetch(path_of(kube::kPolicies, policy));
      if (!text) return text.error();
      if (*text) {
        auto read = read_policy_text(**text, options);
        found.policies[policy] = read ? *read : PolicyEntry{nullptr, read.error().message};
      }
    }
    return std::optional(find_policy(found, name_space));
  }

  // A table that is refused is as if it were not there, as in a list.
  Result<SharedTable> fetch_table(const std::string& node) {
    if (!is_dns_subdomain(node)) return SharedTable();
    const auto text = fetch(path_of(kube::kTables, node));
    if (!text) return text.error();
    const auto table = *text ? read_table_text(**text) : SharedTable();
    return table ? *table : SharedTable();
  }

  // Not in the constructor: if a thread cannot be started, the destructor has to end the running threads
  // before it destroys the objects that they use.
  void watch() {
    const std::lock_guard lock(watches_mutex);
    watch_policies =
        std::make_unique<Informer>(*client, kube::Collection{path_of(kube::kPolicies), {}}, policies, log);
    watch_tables =
        std::make_unique<Informer>(*client, kube::Collection{path_of(kube::kTables), {}}, tables, log);
    watch_namespaces = std::make_unique<Informer>(
        *client, kube::Collection{path_of(kube::kNamespaces), std::string(key::kPolicyLabel)}, namespaces,
        log);
  }

  // Called on the writer's thread, which starts before the informers and ends after them.
  SnapshotWriter::Contact contact() {
    const std::lock_guard lock(watches_mutex);
    const kube::InformerHealth health = watch_tables ? watch_tables->health() : kube::InformerHealth{};
    const auto now = std::chrono::steady_clock::now();
    return {sync.update(health.in_contact, now), lag.update(health.following, now)};
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
            refused,
            health.problem};
  }

  const std::shared_ptr<Logger> log;
  const std::shared_ptr<kube::Client> client;
  const PolicyOptions options;
  ClaimReader claims;
  BootReader boots;
  ReadBudget budget{20, 50};
  RecentReads<std::string, PolicyLookup> recent_policies{kPolicyAge, kPoliciesKept};  // by namespace
  RecentReads<std::string, SharedTable> recent_tables{kTableAge, kTablesKept};
  std::mutex counted_mutex;  // guards the next member
  StoreStats counted;        // what is counted as it happens; the rest is looked up by stats()
  SyncState sync;            // this and the next: of the writer's thread
  Lag lag;
  std::mutex watches_mutex;  // guards the three watches' coming and going
  std::unique_ptr<Informer> watch_policies, watch_tables, watch_namespaces;
  SnapshotWriter writer;
  WatchedKind<PolicyEntry> policies;
  WatchedKind<SharedTable> tables;
  WatchedKind<OptedIn> namespaces;
};

KubernetesStore::KubernetesStore(std::unique_ptr<Body> body) : body_(std::move(body)) {}
KubernetesStore::~KubernetesStore() = default;

Result<std::unique_ptr<KubernetesStore>> KubernetesStore::start(std::shared_ptr<kube::Client> client,
                                                                PolicyOptions options,
                                                                std::shared_ptr<Logger> log) {
  log->info("following the API server", {{"server", client->server()}});
  try {
    auto body = std::make_unique<Body>(std::move(client), options, log);
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
  std::unique_lock lock(b.counted_mutex);
  StoreStats stats = b.counted;
  lock.unlock();
  stats.loads = b.writer.count();
  stats.last_load_unix = b.writer.last_unix();
  stats.watches = {
      Body::stats_of("NcclPolicy", *b.watch_policies, b.policies.objects(), b.policies.refused()),
      Body::stats_of("NodeFabric", *b.watch_tables, b.tables.objects(), b.tables.refused()),
      Body::stats_of("Namespace", *b.watch_namespaces, b.namespaces.objects(), b.namespaces.refused())};
  return stats;
}

Result<std::optional<std::string>> KubernetesStore::read_pod(std::string_view name_space,
                                                             std::string_view name) const {
  if (!is_dns_subdomain(name_space) || !is_dns_subdomain(name)) return std::optional<std::string>();
  auto text = body_->fetch(path_in(name_space, kube::kPods, name));
  if (!text) return Error{"the pod could not be read: " + text.error().message};
  return text;
}

Attempt<std::optional<PolicyLookup>> KubernetesStore::read_policy(std::string_view name_space,
                                                                  bool may_wait) const {
  const auto now = std::chrono::steady_clock::now();
  if (auto known = body_->recent_policies.known(name_space, now)) return known;
  if (!may_wait) return Postponed{};
  const std::string name(name_space);
  auto found = body_->fetch_policy(*snapshots().get(), name, now);
  if (found && *found) body_->recent_policies.keep(name, **found, now);
  return found;
}

Attempt<SharedRequests> KubernetesStore::read_claim(const ClaimRef& ref, bool may_wait) const {
  const auto now = std::chrono::steady_clock::now();
  if (auto known = body_->claims.known(ref, now)) return known;
  if (!may_wait) return Postponed{};
  return body_->claims.read(ref, now);
}

Attempt<BootCheck> KubernetesStore::check_boot(std::string_view node, std::string_view boot_id,
                                               bool may_wait) const {
  return body_->boots.check(node, boot_id, may_wait, std::chrono::steady_clock::now());
}

Attempt<SharedTable> KubernetesStore::read_table(std::string_view node, bool may_wait) const {
  const auto now = std::chrono::steady_clock::now();
  if (auto known = body_->recent_tables.known(node, now)) return *std::move(known);
  if (!may_wait) return Postponed{};
  const std::string name(node);
  auto table = body_->fetch_table(name);
  const auto outcome = !table ? TableRead::Failed : *table ? TableRead::Found : TableRead::Absent;
  {
    const std::lock_guard lock(body_->counted_mutex);
    ++body_->counted.table_reads[static_cast<std::size_t>(outcome)];
  }
  if (!table) return Error{"the table of node " + name + " could not be read: " + table.error().message};
  if (*table) body_->recent_tables.keep(name, *table, now);  // what is missing may be there in a moment
  return table;
}

}  // namespace nccl_env::store
