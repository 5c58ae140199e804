// SPDX-License-Identifier: Apache-2.0
#include "table_store.h"

#include <mutex>

#include "kept_table.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/core/text/strict.h"
#include "nccl_env/kube/informer.h"
#include "nccl_env/kube/paths.h"
#include "nccl_env/program/clock.h"
#include "node_labels.h"

namespace nccl_env::agent {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// 15 000 agents send the API server 11 requests a second: 3 for watches, which last for one and a half hours,
// and 8 for the hourly writes, each with a look at the Node. While a label is missing, a Node's first hour
// has six more writes: 5000 new nodes in an hour add 17 requests a second. A read a minute would make 250.
// After a server was gone the agents come back within a minute; where the right to watch is missing they send
// 70 requests a second.
constexpr kube::WatchPace kAgentPace{3600s, 10s, 300s, 60s};

// The first InternalIP is the one that kubelet and API server use.
std::optional<IpAddress> internal_ip(const json& node) {
  for (const json& entry : items_at(member(node, "status"), "addresses")) {
    if (text_at(entry, "type") != "InternalIP") continue;
    const auto address = parse_ip(text_at(entry, "address"));
    return address ? std::optional(*address) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> kubelet_version(const json& node) {
  std::string version = text_at(member(member(node, "status"), "nodeInfo"), "kubeletVersion");
  return version.empty() || version.size() > 64 || !is_printable_ascii(version)
             ? std::nullopt
             : std::optional(std::move(version));
}

class TableCluster : public TableStore {
 public:
  TableCluster(std::unique_ptr<kube::Client> client, const std::string& node, std::vector<std::string> labels,
               std::shared_ptr<Logger> log)
      : client_(std::move(client)),
        node_(node),
        labels_(std::move(labels)),
        table_target_(kube::path_of(kube::kTables, node)),
        log_(std::move(log)) {}
  ~TableCluster() override { stop(); }

  Result<Beginning> begin() override {
    const auto node = read_node();
    if (!node) return node.error();
    Beginning beginning{node->facts};
    const auto reply = get(table_target_);
    if (!reply) return reply.error();
    if (reply->status == kube::kOk) {
      const json object = parse_json(reply->body);
      beginning.row_objects = has_row_objects(object);
      auto table = parse_node_fabric(object);
      if (table) beginning.earlier = std::move(*table);
    } else if (reply->status != kube::kNotFound) {
      return Error{"NodeFabric " + node_ + ": " + kube::status_message(*reply)};
    }
    return beginning;
  }

  Result<NodeFacts> write(const nlohmann::ordered_json& object) override {
    // Read each time: a Node that was deleted and made again has another uid, and what the old one owned is
    // collected.
    const auto node = read_node();
    if (!node) return node.error();
    nlohmann::ordered_json owned = object;
    owned["metadata"]["ownerReferences"] = {
        {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node_}, {"uid", node->uid}}};
    kube::Call call;
    call.method = "PATCH";
    call.target = table_target_ + "?fieldManager=nccl-env-agent&force=true";
    call.content_type = kube::kApply;
    call.body = owned.dump();
    kept_.begin_write();
    const auto reply = client_->call(call);
    const bool stored = reply && (reply->status == kube::kOk || reply->status == 201);
    const json answer = stored ? parse_json(reply->body) : json();
    kept_.end_write(kube::is_api_object(answer) ? answer : json());
    if (!reply) return reply.error();
    if (!stored) return Error{"NodeFabric " + node_ + ": " + kube::status_message(*reply)};
    watch();
    return node->facts;
  }

  void follow(std::function<void(const std::string&)> on_loss) override { kept_.follow(std::move(on_loss)); }

  void stop() override {
    client_->stop();
    std::unique_ptr<kube::Informer> ended;
    const std::lock_guard lock(watch_mutex_);
    stopped_ = true;
    ended = std::move(watch_);
  }

 private:
  struct Node {
    std::string uid;
    NodeFacts facts;
  };

  Result<kube::Reply> get(const std::string& target) { return client_->call({"GET", target, "", ""}); }

  // Called after each write: a list from before the first one would say that the table is gone.
  void watch() {
    const std::lock_guard lock(watch_mutex_);
    if (watch_ || stopped_) return;
    kube::Collection own{kube::path_of(kube::kTables), "", 1, "metadata.name=" + node_, kAgentPace};
    watch_ = std::make_unique<kube::Informer>(*client_, std::move(own), kept_, log_);
  }

  // Reads from the API server's cache: 15 000 agents ask.
  Result<Node> read_node() {
    const auto reply = get(kube::path_of(kube::kNodes, node_) + "?resourceVersion=0");
    if (!reply) return reply.error();
    if (reply->status != kube::kOk) return Error{"Node " + node_ + ": " + kube::status_message(*reply)};
    const json object = parse_json(reply->body);
    ReadLabels read = read_labels(object, labels_, program::clock_now());
    Node node{text_at(member(object, "metadata"), "uid"),
              {internal_ip(object), std::move(read.labels), kubelet_version(object), read.settled}};
    if (node.uid.empty()) return Error{"Node " + node_ + ": the answer has no metadata.uid"};
    return node;
  }

  const std::unique_ptr<kube::Client> client_;
  const std::string node_;
  const std::vector<std::string> labels_;  // keys
  const std::string table_target_;
  const std::shared_ptr<Logger> log_;
  KeptTable kept_;
  std::mutex watch_mutex_;  // guards the two below: writes and stop() run on two threads
  bool stopped_ = false;
  std::unique_ptr<kube::Informer> watch_;  // last: its thread ends before anything that it uses
};

}  // namespace

std::unique_ptr<TableStore> open_cluster(std::unique_ptr<kube::Client> client, const std::string& node,
                                         std::vector<std::string> labels, std::shared_ptr<Logger> log) {
  return std::make_unique<TableCluster>(std::move(client), node, std::move(labels), std::move(log));
}

}  // namespace nccl_env::agent
