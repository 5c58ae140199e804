// SPDX-License-Identifier: Apache-2.0
// An API server in memory: collections that are listed page by page and watched, with the faults that a test
// asks for. Behaves as kube-apiserver does where clients can tell.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <nlohmann/json.hpp>

#include "kube/scripted_server.h"
#include "nccl_env/kube/config.h"

namespace nccl_env::tests {

class FakeApi {
 public:
  using Json = nlohmann::json;

  FakeApi() { restart(); }
  ~FakeApi() { stop(); }

  // `path` is that of the collection.
  void put(const std::string& path, const std::string& name, Json object) {
    const std::lock_guard lock(mutex_);
    store(path, name, std::move(object));
  }
  void erase(const std::string& path, const std::string& name) {
    const std::lock_guard lock(mutex_);
    Json object = collections_[path].at(name);
    collections_[path].erase(name);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    events_.push_back({version_, path, "DELETED", object});
    changed_.notify_all();
  }
  // As etcd's compaction: watches from before now, and lists under way, are gone.
  void compact() {
    const std::lock_guard lock(mutex_);
    events_.clear();
    compacted_ = ++version_;
  }
  // Sent to every watch of the path as it is.
  void send_line(const std::string& path, const std::string& line) {
    const std::lock_guard lock(mutex_);
    events_.push_back({++version_, path, line, nullptr});
    changed_.notify_all();
  }
  // The next requests to collections get this status, until it is 0 again.
  void refuse_with(int status) {
    const std::lock_guard lock(mutex_);
    refusal_ = status;
    changed_.notify_all();
  }
  // The same for one path alone.
  void refuse_path(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    refused_paths_[path] = status;
  }
  // The next watches get this status, as of a server that starts; lists are answered.
  void refuse_watches(int status) {
    const std::lock_guard lock(mutex_);
    refused_watches_ = status;
  }
  // Watches send no events from now on, of this collection or of all.
  void mute_watches(const std::string& path = "") {
    const std::lock_guard lock(mutex_);
    muted_ = true;
    muted_path_ = path;
  }
  // Lists of this collection are answered once no collection is held.
  void hold(const std::string& path) {
    const std::lock_guard lock(mutex_);
    held_ = path;
    changed_.notify_all();
  }
  // Each single object that is read from now on takes so long.
  void delay(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    delay_ = time;
  }
  // Writes get this status.
  void refuse_writes(int status) {
    const std::lock_guard lock(mutex_);
    refused_writes_ = status;
  }
  // Has the collection, of no objects yet.
  void serve(const std::string& path) {
    const std::lock_guard lock(mutex_);
    collections_[path];
  }
  [[nodiscard]] std::vector<ScriptedRequest> patches() {
    const std::lock_guard lock(mutex_);
    return patches_;
  }
  // The object, null if there is none.
  [[nodiscard]] Json get(const std::string& path, const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto& objects = collections_[path];
    return objects.contains(name) ? objects.at(name) : Json();
  }
  // How often the path, or what lies below it, was asked for.
  [[nodiscard]] std::ptrdiff_t asked(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return std::count_if(asked_.begin(), asked_.end(),
                         [&](const std::string& each) { return (each + "/").starts_with(path + "/"); });
  }
  // Requests of this path are never answered.
  void hang(const std::string& path) {
    const std::lock_guard lock(mutex_);
    refused_paths_[path] = kHang;
  }
  // Lists get their first page and no other.
  void refuse_later_pages(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_later_pages_ = refuse;
  }
  void set_version(const std::string& body) {
    const std::lock_guard lock(mutex_);
    server_version_ = body;
  }
  void set_token(const std::string& token) {
    const std::lock_guard lock(mutex_);
    token_ = token;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    server_.reset();
  }
  // On the same port as before.
  void restart() {
    stopping_ = false;
    server_ = std::make_unique<ScriptedServer>(
        [this](ScriptedConnection& c, const ScriptedRequest& r) { answer(c, r); },
        test_certificate({"127.0.0.1"}), "", port_);
    port_ = server_->port();
  }
  // Ends every connection, watches in the middle of it.
  void drop_connections() { server_->drop_connections(); }

  [[nodiscard]] kube::ClientConfig config() const {
    kube::ClientConfig made;
    made.host = "127.0.0.1";
    made.port = port_;
    made.ca.text = test_ca().certificate;
    return made;
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int lists() const { return lists_; }      // pages asked for
  [[nodiscard]] int watches() const { return watches_; }  // watches begun
  [[nodiscard]] int open_watches() const { return open_; }

 private:
  static constexpr int kHang = -1;

  struct Event {
    std::uint64_t version;
    std::string path, type;  // null object: type is the line
    Json object;
  };

  static std::string parameter(const std::string& target, const std::string& name) {
    for (auto at = target.find('?'); at != std::string::npos; at = target.find('&', at + 1)) {
      if (target.compare(at + 1, name.size() + 1, name + "=") == 0) {
        const auto from = at + name.size() + 2;
        return target.substr(from, target.find('&', from) - from);
      }
    }
    return {};
  }
  // The one name that a list or watch is about; "": all.
  static std::string selected(const ScriptedRequest& request) {
    const std::string selector = parameter(request.target, "fieldSelector"), name = "metadata.name%3D";
    return selector.starts_with(name) ? selector.substr(name.size()) : "";
  }
  static std::string status(int code, const std::string& message) {
    return Json{{"kind", "Status"}, {"code", code}, {"message", message}}.dump();
  }

  void store(const std::string& path, const std::string& name, Json object) {
    auto& objects = collections_[path];
    const bool known = objects.contains(name);
    object["metadata"]["name"] = name;
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    events_.push_back({version_, path, known ? "MODIFIED" : "ADDED", object});
    objects[name] = std::move(object);
    changed_.notify_all();
  }
  // A server-side apply: to COLLECTION/NAME/status it replaces the status, to COLLECTION/NAME the object.
  void apply(ScriptedConnection& connection, const ScriptedRequest& request, const std::string& path) {
    if (refused_writes_ != 0)
      return static_cast<void>(
          connection.reply(refused_writes_, status(refused_writes_, "refused by the test")));
    patches_.push_back(request);
    Json object = Json::parse(request.body);
    const bool of_status = path.ends_with("/status");
    const std::string whole = of_status ? path.substr(0, path.rfind('/')) : path;
    const std::string collection = whole.substr(0, whole.rfind('/')),
                      name = whole.substr(collection.size() + 1);
    if (of_status) {
      Json changed = collections_[collection].at(name);
      changed["status"] = object["status"];
      object = std::move(changed);
    }
    store(collection, name, std::move(object));
    connection.reply(200, collections_[collection].at(name).dump());
  }

  // As the server words it where it serves the collection.
  static std::string missing(const std::string& name) {
    return Json{{"kind", "Status"}, {"code", 404}, {"message", "not found"}, {"details", {{"name", name}}}}
        .dump();
  }

  void answer(ScriptedConnection& connection, const ScriptedRequest& request) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    std::unique_lock lock(mutex_);
    if (!token_.empty() && request.field("Authorization") != "Bearer " + token_)
      return static_cast<void>(connection.reply(401, status(401, "Unauthorized")));
    asked_.push_back(path);
    if (path == "/version") return static_cast<void>(connection.reply(200, server_version_));
    if (refusal_ != 0)
      return static_cast<void>(connection.reply(refusal_, status(refusal_, "refused by the test")));
    const auto refused = refused_paths_.find(path);
    if (const int code = refused == refused_paths_.end() ? 0 : refused->second; code != 0) {
      lock.unlock();
      if (code == kHang) return connection.wait_closed();
      return static_cast<void>(connection.reply(code, status(code, "refused by the test")));
    }
    if (request.method == "PATCH") return apply(connection, request, path);
    if (const auto time = delay_; time.count() > 0 && !collections_.contains(path)) {
      lock.unlock();
      std::this_thread::sleep_for(time);
      lock.lock();
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    if (const auto found = collections_.find(path.substr(0, path.rfind('/'))); found != collections_.end()) {
      const bool there = found->second.contains(name);
      return static_cast<void>(
          connection.reply(there ? 200 : 404, there ? found->second[name].dump() : missing(name)));
    }
    if (!collections_.contains(path))
      return static_cast<void>(connection.reply(404, status(404, "not found")));
    if (parameter(request.target, "watch") == "1") {
      if (refused_watches_ == 0) return watch(connection, request, path, lock);
      return static_cast<void>(
          connection.reply(refused_watches_, status(refused_watches_, "refused by the test")));
    }
    changed_.wait(lock, [&] { return stopping_ || path != held_; });
    list(connection, request, path);
  }

  // Pages by name; the continue token is "VERSION.NAME".
  void list(ScriptedConnection& connection, const ScriptedRequest& request, const std::string& path) {
    ++lists_;
    const std::string next = parameter(request.target, "continue");
    if (refuse_later_pages_ && !next.empty())
      return static_cast<void>(connection.reply(503, status(503, "refused by the test")));
    const std::size_t limit = std::stoul(parameter(request.target, "limit"));
    std::map<std::string, Json> objects = collections_[path];
    if (const std::string own = selected(request); !own.empty())
      std::erase_if(objects, [&](const auto& entry) { return entry.first != own; });
    auto at = objects.begin();
    std::uint64_t version = version_;
    if (!next.empty()) {
      version = std::stoull(next);
      if (version < compacted_)
        return static_cast<void>(connection.reply(410, status(410, "continue expired")));
      at = objects.upper_bound(next.substr(next.find('.') + 1));
    }
    Json page{{"kind", "List"},
              {"items", Json::array()},
              {"metadata", {{"resourceVersion", std::to_string(version)}}}};
    for (; at != objects.end() && page["items"].size() < limit; ++at) page["items"].push_back(at->second);
    if (at != objects.end())
      page["metadata"]["continue"] = std::to_string(version) + "." + std::prev(at)->first;
    connection.reply(200, page.dump());
  }

  void watch(ScriptedConnection& connection, const ScriptedRequest& request, const std::string& path,
             std::unique_lock<std::mutex>& lock) {
    ++watches_;
    std::uint64_t seen = std::stoull(parameter(request.target, "resourceVersion"));
    if (seen < compacted_)
      return static_cast<void>(connection.reply(410, status(410, "too old resource version")));
    const std::string own = selected(request);
    bool alive = connection.begin_chunks();
    ++open_;
    while (alive && !stopping_ && refusal_ == 0) {
      std::string lines;
      for (const Event& event : events_) {
        const bool muted = muted_ && (muted_path_.empty() || muted_path_ == path);
        if (muted || event.version <= seen || event.path != path) continue;
        if (!own.empty() && !event.object.is_null() && event.object["metadata"]["name"] != own) continue;
        lines += (event.object.is_null() ? event.type
                                         : Json{{"type", event.type}, {"object", event.object}}.dump()) +
                 "\n";
        seen = event.version;
      }
      if (!lines.empty()) {
        lock.unlock();
        alive = connection.chunk(lines);
        lock.lock();
        continue;
      }
      // Wakes from time to time to see whether the connection still stands.
      if (changed_.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout)
        alive = connection.peer_is_there();
    }
    --open_;
    if (alive && !stopping_) connection.end_chunks();
    if (!alive || stopping_) connection.close();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::map<std::string, Json>> collections_;
  std::vector<Event> events_;
  std::uint64_t version_ = 100, compacted_ = 0;
  int refusal_ = 0, refused_watches_ = 0, refused_writes_ = 0;
  bool refuse_later_pages_ = false, muted_ = false;
  std::string muted_path_, held_;
  std::chrono::milliseconds delay_{0};
  std::vector<std::string> asked_;
  std::vector<ScriptedRequest> patches_;
  std::map<std::string, int> refused_paths_;
  std::string server_version_ = R"({"major":"1","minor":"36","gitVersion":"v1.36.2"})";
  std::string token_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> lists_{0}, watches_{0}, open_{0};
  std::uint16_t port_ = 0;
  std::unique_ptr<ScriptedServer> server_;
};

}  // namespace nccl_env::tests
