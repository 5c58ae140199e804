// SPDX-License-Identifier: Apache-2.0
#include "exec/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace nccl_env::kube {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = 1u << 20;
constexpr int kTick = 10;  // ms between looks at whether it ended: its pipe may outlive it in others' hands

Error failed(const std::string& what, int code) {
  return {what + ": " + std::generic_category().message(code)};
}

struct Descriptor {
  int fd = -1;
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

// As Go's LookPath: nothing is run from the working directory because $PATH has a dot or an empty entry.
Result<std::string> find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* variable = std::getenv("PATH");
  for (std::string_view left = variable != nullptr ? variable : ""; !left.empty();) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(folder.size() + 1, left.size()));
    if (folder.empty() || folder.front() != '/') continue;
    const auto path = std::filesystem::path(folder) / command;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0)
      return path.string();
  }
  return Error{"there is no such program in $PATH"};
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> made;
  const auto overridden = [&](std::string_view entry) {
    return std::any_of(more.begin(), more.end(), [&](const auto& variable) {
      return entry.substr(0, entry.find('=')) == variable.first;
    });
  };
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!overridden(*entry)) made.emplace_back(*entry);
  }
  for (auto variable = more.begin(); variable != more.end(); ++variable) {
    const bool again = std::any_of(variable + 1, more.end(),
                                   [&](const auto& later) { return later.first == variable->first; });
    if (!again) made.push_back(variable->first + "=" + variable->second);
  }
  return made;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  made.reserve(texts.size() + 1);
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

// A process that is killed if it is still there at the end.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (ended()) return;
    ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  // 0 or an errno.
  int start(const std::string& path, const Program& program, int output) {
    std::vector<std::string> args{program.command};
    args.insert(args.end(), program.args.begin(), program.args.end());
    std::vector<std::string> env = environment_with(program.env);
    own_group_ = !program.terminal && !in_foreground();

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    if (!program.terminal) ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);  // sockets, of libraries

    // Of ours, a program expects neither the blocked signals nor the ignored SIGPIPE.
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    const int group = own_group_ ? POSIX_SPAWN_SETPGROUP : 0;  // 0, the default: a new one
    ::posix_spawnattr_setflags(&attributes,
                               static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &pipe);

    const int code =
        ::posix_spawn(&pid_, path.c_str(), &files, &attributes, pointers(args).data(), pointers(env).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    started_ = code == 0;
    return code;
  }

  // True once it ended, and before it was started.
  bool ended() {
    if (!started_) return true;
    const pid_t found = ::waitpid(pid_, &status_, WNOHANG);
    lost_ = found < 0 && errno != EINTR;  // SIGCHLD is ignored: nobody keeps the status
    if (found == pid_ || lost_) started_ = false;
    return !started_;
  }

  // Once it ended.
  [[nodiscard]] Status success() const {
    if (lost_) return Error{"its exit code is not known"};
    if (WIFSIGNALED(status_)) return Error{"ended by signal " + std::to_string(WTERMSIG(status_))};
    if (WEXITSTATUS(status_) != 0) return Error{"exit code " + std::to_string(WEXITSTATUS(status_))};
    return done();
  }

 private:
  pid_t pid_ = -1;
  bool started_ = false, own_group_ = false, lost_ = false;
  int status_ = 0;
};

// What is there to read; false: nothing more will come.
bool take(int fd, std::string& into) {
  std::array<char, 16384> part;
  while (into.size() <= kMaxOutput) {
    const ssize_t n = ::read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    into.append(part.data(), static_cast<std::size_t>(n));
  }
  return true;
}

Result<std::string> output_of(Child& child, int fd, std::chrono::milliseconds limit,
                              const net::StopSignal& stop) {
  const Clock::time_point deadline = Clock::now() + limit;
  std::string text;
  for (bool open = true;;) {
    const bool ended = child.ended();  // before the pipe is read: what it wrote is in there
    open = open && take(fd, text);
    if (text.size() > kMaxOutput) return Error{"it prints more than 1 MiB"};
    if (ended) break;
    if (stop.is_set()) return Error{"stopped"};
    if (Clock::now() >= deadline)
      return Error{"it did not end within " + std::to_string(limit.count() / 1000) + " s"};
    std::array<pollfd, 2> waits{{{open ? fd : -1, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), kTick);
  }
  if (const Status success = child.success(); !success) return success.error();
  return text;
}

}  // namespace

bool in_foreground() {
  Descriptor terminal;
  terminal.fd = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  return terminal.fd >= 0 && ::tcgetpgrp(terminal.fd) == ::getpgrp();
}

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

Result<std::string> run_program(const Program& program, std::chrono::milliseconds limit,
                                const net::StopSignal& stop) {
  const auto path = find_program(program.command);
  if (!path) return path.error();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed("pipe", errno);
  Descriptor from, to;
  from.fd = ends[0];
  to.fd = ends[1];
  // Of our end alone: the program's stays as programs expect it.
  if (::fcntl(from.fd, F_SETFL, O_NONBLOCK) != 0) return failed("pipe", errno);
  Child child;
  if (const int code = child.start(*path, program, to.fd); code != 0) return failed("can't be started", code);
  to.close();
  return output_of(child, from.fd, limit, stop);
}

}  // namespace nccl_env::kube
