// SPDX-License-Identifier: Apache-2.0
#include "cluster/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "nccl_env/base/descriptor.h"
#include "support/temporary_directory.h"

namespace nccl_env::cli::child_process_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using tests::TemporaryDirectory;

// False for a zombie, which waits for init.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z" && state != "X";
}

class RunProgram : public ::testing::Test {
 protected:
  TemporaryDirectory directory;

  std::string script(const std::string& name, const std::string& text) {
    const auto path = directory.path() / name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  // Its output; then what it complained of, and its code if that is not 0.
  static std::string output(const Program& program) {
    std::string text;
    const auto ended = run_program(program, [&](std::string_view part) {
      text += part;
      return true;
    });
    if (!ended) return "error: " + ended.error().message;
    return text + ended->complaint + (ended->code == 0 ? "" : "code " + std::to_string(ended->code));
  }
  static Program limited(std::string path, std::chrono::milliseconds limit) {
    Program program{std::move(path)};
    program.limit = limit;
    return program;
  }
};

TEST_F(RunProgram, ArgumentsAreNotForAShell) {
  EXPECT_EQ(output({script("echo", "printf '%s|' \"$@\""), {"a b", "$(id)", "", "*"}}), "a b|$(id)||*|");
}

TEST_F(RunProgram, ItsEnvironmentIsOurs) {
  ::setenv("NCCL_ENV_TEST_KEPT", "kept", 1);
  EXPECT_EQ(output({script("env", "echo $NCCL_ENV_TEST_KEPT")}), "kept\n");
}

TEST_F(RunProgram, ANameIsLookedForInAbsoluteFoldersOfThePath) {
  const std::string here = script("login-of-test", "echo here");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ("::.:/nowhere:" + directory.path().string() + ":" + before).c_str(), 1);
  EXPECT_EQ(find_program("login-of-test"), here);
  std::filesystem::permissions(here, std::filesystem::perms::owner_read);
  EXPECT_EQ(find_program("login-of-test"), "");
  script("login-of-test", "echo here");
  const auto working = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  ::setenv("PATH", (".::" + before).c_str(), 1);
  EXPECT_EQ(find_program("login-of-test"), "");
  std::filesystem::current_path(working);
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(RunProgram, WhatCannotBeStartedIsAnError) {
  EXPECT_THAT(output({"/nowhere/login"}), HasSubstr("can't be started: No such file"));
  const auto path = directory.path() / "data";
  std::ofstream(path) << "x";
  EXPECT_THAT(output({path.string()}), HasSubstr("can't be started: Permission denied"));
}

TEST_F(RunProgram, ItsCodeAndItsComplaintAreTold) {
  EXPECT_EQ(output({script("three", "echo no >&2; exit 3")}), "no\ncode 3");
  EXPECT_EQ(output({script("killed", "kill -9 $$")}), "error: ended by signal 9");
  EXPECT_EQ(output({script("endless", "head -c 200000 /dev/zero >&2")}).size(), 65536u);
}

TEST_F(RunProgram, WhoTakesItsOutputEndsIt) {
  std::size_t taken = 0;
  const auto ended = run_program({script("endless", "exec cat /dev/zero")}, [&](std::string_view part) {
    taken += part.size();
    return taken < 1u << 20;
  });
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(ended->code, 0);
  EXPECT_GE(taken, 1u << 20);
}

TEST_F(RunProgram, ItsInputIsTheText) {
  Program program{script("read", "cat")};
  program.input = std::string(300'000, 'x');
  EXPECT_EQ(output(program), program.input);
}

TEST_F(RunProgram, WhatTakesTooLongIsAnError) {
  EXPECT_EQ(output(limited(script("slow", "exec sleep 1000"), 1000ms)), "error: it did not end within 1 s");
}

TEST_F(RunProgram, WhatIsInterruptedEndsAtOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor from(ends[0]), to(ends[1]);
  Program program = limited(script("wait", "echo a; exec sleep 60"), 60s);
  program.interrupt = from.get();
  std::string text;
  const auto ended = run_program(program, [&](std::string_view part) {
    text += part;
    return ::write(to.get(), "x", 1) == 1;
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "interrupted");
  EXPECT_EQ(text, "a\n");
}

TEST_F(RunProgram, WhoEndsItKillsWhatItStartedToo) {
  std::string pids;
  const auto ended =
      run_program({script("slow", "sleep 1000 &\necho $$ $!\nwait")}, [&](std::string_view part) {
        pids += part;
        return !pids.ends_with("\n");
      });
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  pid_t own = 0, started = 0;
  ASSERT_TRUE(std::istringstream(pids) >> own >> started) << pids;
  EXPECT_EQ(::kill(own, 0), -1);
  if (in_foreground()) return static_cast<void>(::kill(started, SIGKILL));  // it shares our group
  const auto patience = std::chrono::steady_clock::now() + 20s;
  while (is_alive(started) && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_FALSE(is_alive(started));
}

TEST_F(RunProgram, WhoComplainsWithoutEndIsStoppedByTheLimit) {
  EXPECT_EQ(output(limited(script("endless", "exec cat /dev/zero >&2"), 1000ms)),
            "error: it did not end within 1 s");
}

TEST_F(RunProgram, AChildOfItsOwnThatKeepsItsStdoutHoldsNothingUp) {
  const std::string path = script("daemon", "sleep 1000 & echo $!");
  const std::string pid = output({path});
  ASSERT_GT(std::atoi(pid.c_str()), 0) << pid;
  EXPECT_EQ(::kill(std::atoi(pid.c_str()), SIGKILL), 0);
}

TEST_F(RunProgram, WithoutATerminalItHasNothingToRead) {
  EXPECT_EQ(output({script("read", "cat; readlink /proc/self/fd/0")}), "/dev/null\n");
}

TEST_F(RunProgram, NoDescriptorOfOursIsLeftToIt) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as libraries open sockets
  ASSERT_GE(leaked, 0);
  EXPECT_EQ(output({script("look", "test -e /proc/self/fd/$1 && echo there || echo gone"),
                    {std::to_string(leaked)}}),
            "gone\n");
  ::close(leaked);
}

TEST_F(RunProgram, SigpipeThatWeIgnoreEndsIt) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(output({script("pipe", "kill -s PIPE $$; echo alive")}), "error: ended by signal 13");
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace nccl_env::cli::child_process_test
