// SPDX-License-Identifier: Apache-2.0
#include "support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace nccl_env::tests {

using Clock = std::chrono::steady_clock;

Child::Child(const std::vector<std::string>& command, const std::filesystem::path& error_file) {
  ::signal(SIGPIPE, SIG_IGN);  // a program that ended is seen by its exit code
  std::array<int, 2> in{}, out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    if (!error_file.empty()) {
      const int file = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      ::dup2(file, STDERR_FILENO);
    }
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

Child::~Child() {
  close_input();
  ::close(output_);
  if (exit_code_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(input_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Child::close_input() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
}

std::string Child::read_until(std::string_view marker) {
  const auto end = Clock::now() + kPatience;
  std::array<char, 16384> block;
  for (;;) {
    if (const auto found = unread_.find(marker); !marker.empty() && found != std::string::npos) {
      std::string text = unread_.substr(0, found + marker.size());
      unread_.erase(0, text.size());
      return text;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd fd{output_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&fd, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t size = ::read(output_, block.data(), block.size());
    if (size <= 0) break;
    unread_.append(block.data(), static_cast<std::size_t>(size));
  }
  return std::exchange(unread_, {});
}

void Child::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (!exit_code_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (Clock::now() > end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return exit_code_;
}

CommandResult run_command(const std::vector<std::string>& command, std::string_view input,
                          const std::filesystem::path& error_file) {
  Child child(command, error_file);
  child.write(input);
  child.close_input();
  CommandResult result;
  result.output = child.read_all();
  result.code = child.wait().value_or(-1);
  return result;
}

}  // namespace nccl_env::tests
