// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/file_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nccl_env::net {
namespace {

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
                                  IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
constexpr int kMaxSettle = 20;  // times the debounce time
constexpr std::size_t kMaxNames = 1024;

void reset_eventfd(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(fd, &count, sizeof count);
}

}  // namespace

FileWatch::FileWatch(std::vector<std::filesystem::path> directories,
                     std::function<void(const ChangedNames&)> on_change, FileWatchOptions options)
    : on_change_(std::move(on_change)),
      options_(options),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      directories_(std::move(directories)) {
  apply_directories();
  thread_ = std::thread([this] { run(); });
}

FileWatch::~FileWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void FileWatch::set_directories(std::vector<std::filesystem::path> directories) {
  {
    std::lock_guard lock(mutex_);
    directories_ = std::move(directories);
    replaced_ = true;
  }
  wake();
}

void FileWatch::wake() {
  const std::uint64_t one = 1;
  // A full counter wakes as well; there is no other failure that could be acted on.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void FileWatch::run() {
  for (;;) {
    const bool all_watched = std::none_of(watched_.begin(), watched_.end(),
                                          [](const Watched& entry) { return entry.descriptor < 0; });
    const Woken woken = wait(all_watched ? std::chrono::milliseconds(-1) : options_.poll);
    if (woken == Woken::Stop) return;
    if (woken != Woken::Changed) changed_.reset();
    if (woken == Woken::Replaced) {
      apply_directories();
    } else {
      settle();
      add_missing();
    }
    try {
      on_change_(changed_);
      changed_.emplace();
    } catch (const std::exception&) {
      changed_.reset();  // the next change calls again
    }
  }
}

// Returns the first of the events, or Timeout. inotify's events are taken off the queue.
FileWatch::Woken FileWatch::wait(std::chrono::milliseconds timeout) {
  // Without an eventfd (no descriptors left) a stop would go unseen: look once per poll interval at least.
  const int limit = static_cast<int>(!wake_ ? options_.poll.count() : timeout.count());
  for (;;) {
    std::array<pollfd, 2> fds{{{wake_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}}};
    const int ready = ::poll(fds.data(), fds.size(), limit);
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) reset_eventfd(wake_.get());
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return Woken::Stop;
      if (replaced_) return Woken::Replaced;
    }
    if (ready > 0 && fds[1].revents != 0 && drain_events()) return Woken::Changed;
    if (ready == 0) return Woken::Timeout;
  }
}

// Waits until nothing happened for `debounce`, but not for ever.
void FileWatch::settle() {
  const auto give_up = std::chrono::steady_clock::now() + kMaxSettle * options_.debounce;
  pollfd fd{inotify_.get(), POLLIN, 0};
  while (std::chrono::steady_clock::now() < give_up) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    const int ready = ::poll(&fd, 1, static_cast<int>(options_.debounce.count()));
    if (ready == 0) return;
    if (ready > 0) drain_events();
  }
}

// Takes all events; true if one means a change.
bool FileWatch::drain_events() {
  alignas(inotify_event) std::array<char, 16 * 1024> buffer;
  bool changed = false;
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return changed;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = event.len > 0 ? buffer.data() + at + sizeof event : "";
      at += sizeof event + event.len;
      // An event of a watch that was just removed does not count; an overflow (wd -1) counts as a change.
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        changed = true;
        changed_.reset();
      }
      for (Watched& entry : watched_) {  // two paths of one directory share a descriptor
        if (entry.descriptor < 0 || entry.descriptor != event.wd) continue;
        changed = true;
        note(name);
        if ((event.mask & kGone) == 0) continue;
        ::inotify_rm_watch(inotify_.get(), entry.descriptor);  // a moved directory would still be watched
        entry.descriptor = -1;
      }
    }
  }
}

// "": the directory itself.
void FileWatch::note(const char* name) {
  if (changed_) changed_->insert(name);
  if (*name == 0 || (changed_ && changed_->size() > kMaxNames)) changed_.reset();
}

void FileWatch::apply_directories() {
  std::vector<Watched> next;
  {
    std::lock_guard lock(mutex_);
    replaced_ = false;
    for (const auto& path : directories_) next.push_back({path, -1});
  }
  for (const Watched& old : watched_) {
    const auto kept =
        std::find_if(next.begin(), next.end(), [&](const Watched& w) { return w.path == old.path; });
    if (kept != next.end()) {
      kept->descriptor = old.descriptor;
    } else if (old.descriptor >= 0) {
      ::inotify_rm_watch(inotify_.get(), old.descriptor);
    }
  }
  watched_ = std::move(next);
  add_missing();
}

void FileWatch::add_missing() {
  for (Watched& entry : watched_) {
    if (entry.descriptor < 0 && inotify_) {
      changed_.reset();
      entry.descriptor = ::inotify_add_watch(inotify_.get(), entry.path.c_str(), kEvents);
    }
  }
}

}  // namespace nccl_env::net
