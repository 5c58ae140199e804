// SPDX-License-Identifier: Apache-2.0
#include "cluster/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "nccl_env/base/descriptor.h"

namespace nccl_env::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxComplaint = 64u << 10;
constexpr int kTick = 5;  // ms between looks at whether it ended: other processes may keep its pipes open
constexpr int kMostReads = 64;  // in a row: a program that writes without end must not hide its deadline
constexpr std::chrono::seconds kShowAfter{1};

Error failed(const std::string& what, int code) {
  return {what + ": " + std::generic_category().message(code)};
}

// A process that the destructor kills if it still runs.
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

  // Returns 0 or an errno. `input` below 0: the terminal's, or nothing.
  int start(const Program& program, int input, int output, int complaints) {
    std::vector<char*> words{const_cast<char*>(program.path.c_str())};  // which nothing writes to
    for (const std::string& word : program.args) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    own_group_ = !in_foreground();

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    if (input >= 0) {
      ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    } else if (own_group_ || ::isatty(STDIN_FILENO) != 1) {
      ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, complaints, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);  // sockets, of libraries

    // A program expects neither our blocked signals nor our ignored SIGPIPE.
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

    const int code = ::posix_spawn(&pid_, words.front(), &files, &attributes, words.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    runs_ = code == 0;
    return code;
  }

  // True once it ended, and before it was started.
  bool ended() {
    if (!runs_) return true;
    const pid_t found = ::waitpid(pid_, &status_, WNOHANG);
    lost_ = found < 0 && errno != EINTR;  // SIGCHLD is ignored: nobody keeps the status
    runs_ = found != pid_ && !lost_;
    return !runs_;
  }

  // Its exit code, once it ended.
  [[nodiscard]] Result<int> code() const {
    if (lost_) return Error{"its exit code is not known"};
    if (WIFSIGNALED(status_)) return Error{"ended by signal " + std::to_string(WTERMSIG(status_))};
    return WEXITSTATUS(status_);
  }

 private:
  pid_t pid_ = -1;
  bool runs_ = false, own_group_ = false, lost_ = false;
  int status_ = 0;
};

struct Pipe {
  Descriptor from, to;

  Status open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed("pipe", errno);
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
    // Only our end: programs expect theirs to block.
    return ::fcntl(from.get(), F_SETFL, O_NONBLOCK) == 0 ? done() : failed("pipe", errno);
  }
  // Passes on what is there to read, at least as much as a pipe holds, and closes the pipe once nothing more
  // will come. False if `on_part` returns false.
  bool take(const std::function<bool(std::string_view)>& on_part) {
    std::array<char, 64 << 10> part;
    for (int reads = 0; from && reads < kMostReads; ++reads) {
      const ssize_t n = ::read(from.get(), part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) from.close();
      if (n > 0 && !on_part({part.data(), static_cast<std::size_t>(n)})) return false;
    }
    return true;
  }
};

// The whole text as a file that a program reads from its beginning.
Status fill(Descriptor& file, std::string_view text) {
  file = Descriptor(::memfd_create("input", MFD_CLOEXEC));
  while (file && !text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return text.empty() && file && ::lseek(file.get(), 0, SEEK_SET) == 0 ? done() : failed("input", errno);
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* variable = std::getenv("PATH");
  // Does as Go's LookPath: a dot or an empty entry in $PATH does not name the working directory.
  for (std::string_view left = variable != nullptr ? variable : ""; !left.empty();) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(folder.size() + 1, left.size()));
    if (folder.empty() || folder.front() != '/') continue;
    const auto path = std::filesystem::path(folder) / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0)
      return path.string();
  }
  return "";
}

bool in_foreground() {
  const Descriptor terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return terminal && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

Result<Ended> run_program(const Program& program, const std::function<bool(std::string_view)>& on_part) {
  Pipe output, complaints;
  Descriptor input;
  for (Pipe* pipe : {&output, &complaints}) {
    if (const Status opened = pipe->open(); !opened) return opened.error();
  }
  if (!program.input.empty()) {
    if (const Status filled = fill(input, program.input); !filled) return filled.error();
  }
  Child child;
  if (const int code = child.start(program, input.get(), output.to.get(), complaints.to.get()); code != 0)
    return failed("can't be started", code);
  output.to.close();
  complaints.to.close();
  const bool shown = in_foreground();
  Clock::time_point heard = Clock::now();  // on its stderr
  Clock::time_point deadline = heard + program.limit;
  Ended ended;
  const auto keep = [&](std::string_view part) {
    ended.complaint += part.substr(0, kMaxComplaint - std::min(kMaxComplaint, ended.complaint.size()));
    heard = Clock::now();
    return true;
  };
  const auto give = [&](std::string_view part) {
    if (program.idle) deadline = Clock::now() + program.limit;
    return on_part(part);
  };
  for (;;) {
    const bool over = child.ended();  // before the pipes are read: what it wrote is in there
    if (!complaints.take(keep) || !output.take(give)) return Ended{};
    if (over) break;
    const Clock::time_point now = Clock::now();
    if (now >= deadline)
      return Error{"it did not end within " + std::to_string(program.limit.count() / 1000) + " s"};
    if (shown && !ended.complaint.empty() && now >= heard + kShowAfter) {
      std::cerr << ended.complaint << std::flush;
      ended.complaint.clear();
    }
    std::array<pollfd, 3> waits{
        {{output.from.get(), POLLIN, 0}, {complaints.from.get(), POLLIN, 0}, {program.interrupt, POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), !output.from && !complaints.from ? 1 : kTick);
    if (waits[2].revents != 0) return Error{"interrupted"};
  }
  const auto code = child.code();
  if (!code) return code.error();
  ended.code = *code;
  return ended;
}

}  // namespace nccl_env::cli
