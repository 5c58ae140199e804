// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/store/dir_store.h"
#include "nccl_env/core/text/strict.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "manifest_file.h"
#include "nccl_env/base/file.h"
#include "nccl_env/core/policy/reader.h"
#include "nccl_env/net/file_watch.h"

namespace nccl_env::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPodBytes = 8u << 20;  // the API server takes objects of 3 MiB

}  // namespace

struct DirectoryStore::Body {
  Body(fs::path directory, PolicyOptions policy_options, std::shared_ptr<Logger> logger)
      : path(std::move(directory)), options(policy_options), log(std::move(logger)) {}

  // Looks at files of these names alone, if no file is a link, which may change with anything.
  Status load(const net::ChangedNames& names) {
    if (!names || links || !snapshots.get()->in_sync) return load_all();
    bool changed = false;
    for (const std::string& name : *names) {
      if (!is_manifest(name)) continue;
      std::error_code ignored;
      switch (fs::symlink_status(path / name, ignored).type()) {
        case fs::file_type::not_found:
        case fs::file_type::directory:
          changed = files.erase(name) > 0 || changed;
          break;
        case fs::file_type::none:
        case fs::file_type::symlink:
          return load_all(changed);
        default:
          changed = refresh(path / name) || changed;
      }
    }
    if (changed) publish();
    return done();
  }

  // `changed`: a file has been read anew already.
  Status load_all(bool changed = false) {
    const auto names = manifests_in(path, &links);
    if (!names) {
      lose_sight();
      return names.error();
    }
    auto there = names->begin();  // both are sorted
    const auto gone = std::erase_if(files, [&](const auto& entry) {
      while (there != names->end() && file_name(*there) < entry.first) ++there;
      return there == names->end() || file_name(*there) != entry.first;
    });
    changed = changed || gone > 0;
    for (const std::string& name : *names) changed = refresh(name) || changed;
    if (changed || loads == 0 || !snapshots.get()->in_sync) publish();
    return done();
  }

  // True if the file had changed.
  bool refresh(const std::string& at) {
    const std::string name = file_name(at);
    ManifestFile& file = files[name];
    if (!file.refresh(at, options)) return false;
    if (!file.problem().empty()) log->warn("manifest refused", {{"file", name}, {"problem", file.problem()}});
    return true;
  }

  // Names what is new, different or gone in the newest snapshot: "NcclPolicy/baidu-roce".
  static std::vector<LogName> changed_names(const Snapshot& before, const Snapshot& after) {
    std::vector<LogName> names;
    const auto compare = [&names](std::string_view kind, const auto& then, const auto& now, auto is_same) {
      auto old = then.begin();  // both are sorted
      for (const auto& [name, object] : now) {
        for (; old != then.end() && old->first < name; ++old) names.push_back({kind, old->first, {}});
        const bool known = old != then.end() && old->first == name;
        if (!known || !is_same(old->second, object)) names.push_back({kind, name, {}});
        if (known) ++old;
      }
      for (; old != then.end(); ++old) names.push_back({kind, old->first, {}});
    };
    // Files that did not change keep their objects.
    compare("NcclPolicy", before.policies, after.policies, [](const PolicyEntry& a, const PolicyEntry& b) {
      return a.policy == b.policy && a.problem == b.problem;
    });
    compare("NodeFabric", before.tables, after.tables, std::equal_to<>());
    compare("Namespace", before.opted_in, after.opted_in, std::equal_to<>());
    return names;
  }

  // Keeps everything as it is, but for the ages of tables: nobody can make them newer.
  void lose_sight() {
    auto snapshot = std::make_shared<Snapshot>(*snapshots.get());
    snapshot->in_sync = false;
    snapshots.publish(std::move(snapshot));
  }

  void publish() {
    auto snapshot = std::make_shared<Snapshot>();
    std::uint64_t refused = 0;
    for (const auto& [name, file] : files) {
      merge(file.objects(), name, *snapshot, [&](const std::string& problem) {
        log->warn("manifest ignored", {{"problem", problem}});
      });
      refused += file.problem().empty() ? 0 : 1;
    }
    const std::shared_ptr<const Snapshot> before = snapshots.get();
    // Before its line is made: to compare thousands of tables takes milliseconds.
    snapshots.publish(snapshot);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    last_load_unix = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    file_count = files.size();
    files_refused = refused;
    const bool first = loads++ == 0;
    const auto changed = first ? std::vector<LogName>() : changed_names(*before, *snapshot);
    log->info("store loaded", {{"files", files.size()},
                               {"refused", refused},
                               {"policies", snapshot->policies.size()},
                               {"tables", snapshot->tables.size()},
                               {"namespaces", snapshot->opted_in.size()},
                               {"changed", LogList{changed}}});
  }

  const fs::path path;
  const PolicyOptions options;
  const std::shared_ptr<Logger> log;
  Published<Snapshot> snapshots{std::make_shared<const Snapshot>()};
  std::map<std::string, ManifestFile> files;  // by name; only the watch's thread's, once that runs
  bool links = false;                         // the same: one of them is a symbolic link
  std::atomic<std::uint64_t> loads{0}, file_count{0}, files_refused{0};
  std::atomic<std::int64_t> last_load_unix{0};
  std::unique_ptr<net::FileWatch> watch;  // last: its thread ends before anything that it uses
};

DirectoryStore::DirectoryStore(std::unique_ptr<Body> body) : body_(std::move(body)) {}
DirectoryStore::~DirectoryStore() = default;

Result<std::unique_ptr<DirectoryStore>> DirectoryStore::open(fs::path path, PolicyOptions options,
                                                             std::shared_ptr<Logger> log) {
  auto body = std::make_unique<Body>(std::move(path), options, std::move(log));
  Body& store = *body;
  if (const Status first = store.load_all(); !first) return first.error();
  store.watch =
      std::make_unique<net::FileWatch>(std::vector{store.path}, [&store](const net::ChangedNames& names) {
        if (const Status loaded = store.load(names); !loaded)
          store.log->error("store not readable", {{"problem", loaded.error().message}});
      });
  // Finds changes between the first load and the watch; the callback has its own thread from here on.
  store.watch->set_directories({store.path});
  return std::unique_ptr<DirectoryStore>(new DirectoryStore(std::move(body)));
}

const Published<Snapshot>& DirectoryStore::snapshots() const {
  return body_->snapshots;
}

StoreStats DirectoryStore::stats() const {
  return {body_->loads, body_->last_load_unix, body_->file_count, body_->files_refused, {}};
}

Result<std::optional<std::string>> DirectoryStore::read_pod(std::string_view name_space,
                                                            std::string_view name) const {
  if (!is_dns_subdomain(name_space) || !is_dns_subdomain(name)) return std::optional<std::string>();
  const fs::path file = body_->path / "pods" / name_space / (std::string(name) + ".json");
  std::error_code error;
  if (!fs::exists(file, error)) return std::optional<std::string>();
  Result<std::string> text = read_file(file, kMaxPodBytes);
  if (!text) return text.error();
  return std::optional<std::string>(std::move(*text));
}

Attempt<SharedRequests> DirectoryStore::read_claim(const ClaimRef& ref, bool) const {
  const auto snapshot = body_->snapshots.get();
  const auto found = snapshot->claims.find(ref);
  if (found == snapshot->claims.end()) return Error{describe(ref) + " does not exist"};
  return found->second;
}

}  // namespace nccl_env::store
