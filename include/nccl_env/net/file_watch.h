// SPDX-License-Identifier: Apache-2.0
// FileWatch: says that something in a set of directories changed, and which names where that is certain.
// Directories are watched, not files: the kubelet swaps the link `..data`, editors rename.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nccl_env/base/descriptor.h"

namespace nccl_env::net {

struct FileWatchOptions {
  // Quiet time after the last event before the callback: a rename of two files is one change. A directory
  // that never gets quiet is reported every twenty of these.
  std::chrono::milliseconds debounce{50};
  // While a directory can't be watched (missing, deleted, no inotify left): how often it is tried again; each
  // try counts as a change.
  std::chrono::milliseconds poll{5000};
};

// Names of files, without their directory, that had an event since the last call. nullopt: anything may have
// changed (queue overflow, a directory that went or came or is not watched, more than 1024 names).
using ChangedNames = std::optional<std::set<std::string>>;

// The callback runs on the watch's own thread, one call at a time; it should compare before it acts, since a
// change is signalled even if it is not certain (queue overflow, a directory that went or came). It may call
// set_directories, but not destroy the watch; an exception that it throws is swallowed. Not recursive.
class FileWatch {
 public:
  // Watches are in place when this returns: a change after a later read can't be missed.
  FileWatch(std::vector<std::filesystem::path> directories,
            std::function<void(const ChangedNames&)> on_change, FileWatchOptions options = {});
  // No call is running once this returns.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Replaces the set. The callback is called once afterwards, for changes before the watches were in place.
  void set_directories(std::vector<std::filesystem::path> directories);

 private:
  enum class Woken { Timeout, Changed, Replaced, Stop };

  void run();
  Woken wait(std::chrono::milliseconds timeout);
  void settle();
  bool drain_events();
  void note(const char* name);
  void apply_directories();
  void add_missing();
  void wake();

  const std::function<void(const ChangedNames&)> on_change_;
  const FileWatchOptions options_;
  Descriptor inotify_;  // none: the kernel gave none, everything is polled
  Descriptor wake_;     // eventfd

  struct Watched {
    std::filesystem::path path;
    int descriptor = -1;  // -1: not watched at the moment
  };
  std::vector<Watched> watched_;  // of the watch's thread, as `changed_`
  ChangedNames changed_;

  std::mutex mutex_;  // guards the three below
  std::vector<std::filesystem::path> directories_;
  bool replaced_ = false, stopping_ = false;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace nccl_env::net
