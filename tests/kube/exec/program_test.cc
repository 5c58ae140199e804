// SPDX-License-Identifier: Apache-2.0
#include "exec/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "kube/temporary_directory.h"

namespace nccl_env::kube::program_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

// False for a zombie, which waits for init.
bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z" && state != "X";
}

class RunProgram : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  net::StopSignal stop;

  std::string script(const std::string& name, const std::string& text) {
    const auto path = directory.path() / name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  std::string output(const Program& program, std::chrono::milliseconds limit = 60s) {
    const auto text = run_program(program, limit, stop);
    return text ? *text : "error: " + text.error().message;
  }
};

TEST_F(RunProgram, ArgumentsAreNotForAShell) {
  EXPECT_EQ(output({script("echo", "printf '%s|' \"$@\""), {"a b", "$(id)", "", "*"}}), "a b|$(id)||*|");
}

TEST_F(RunProgram, ItsEnvironmentIsOursAndMore) {
  ::setenv("NCCL_ENV_TEST_KEPT", "kept", 1);
  ::setenv("NCCL_ENV_TEST_OTHER", "old", 1);
  EXPECT_EQ(output({script("env", "echo $NCCL_ENV_TEST_KEPT $NCCL_ENV_TEST_OTHER"),
                    {},
                    {{"NCCL_ENV_TEST_OTHER", "new"}, {"NCCL_ENV_TEST_OTHER", "newer"}}}),
            "kept newer\n");
}

TEST_F(RunProgram, ANameIsLookedForInAbsoluteFoldersOfThePath) {
  script("login-of-test", "echo here");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ("::.:/nowhere:" + directory.path().string() + ":" + before).c_str(), 1);
  EXPECT_EQ(output({"login-of-test"}), "here\n");
  std::filesystem::permissions(directory.path() / "login-of-test", std::filesystem::perms::owner_read);
  EXPECT_EQ(output({"login-of-test"}), "error: there is no such program in $PATH");
  script("login-of-test", "echo here");
  const auto working = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  ::setenv("PATH", (".::" + before).c_str(), 1);
  EXPECT_EQ(output({"login-of-test"}), "error: there is no such program in $PATH");
  std::filesystem::current_path(working);
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(RunProgram, WhatCannotBeStartedIsAnError) {
  EXPECT_THAT(output({"/nowhere/login"}), HasSubstr("can't be started: No such file"));
  const auto path = directory.path() / "data";
  std::ofstream(path) << "x";
  EXPECT_THAT(output({path.string()}), HasSubstr("can't be started: Permission denied"));
}

TEST_F(RunProgram, AnotherExitCodeThanZeroIsAnErrorWithoutTheOutput) {
  EXPECT_EQ(output({script("three", "echo SECRET; exit 3")}), "error: exit code 3");
  EXPECT_EQ(output({script("killed", "kill -9 $$")}), "error: ended by signal 9");
}

TEST_F(RunProgram, OneMebibyteIsTheLimit) {
  const std::string path = script("many", "head -c \"$1\" /dev/zero");
  EXPECT_EQ(output({path, {"1048576"}}).size(), 1048576u);
  EXPECT_EQ(output({path, {"1048577"}}), "error: it prints more than 1 MiB");
  EXPECT_EQ(output({script("endless", "exec cat /dev/zero")}), "error: it prints more than 1 MiB");
}

TEST_F(RunProgram, WhatTakesTooLongIsAnError) {
  EXPECT_EQ(output({script("slow", "exec sleep 1000")}, 1000ms), "error: it did not end within 1 s");
}

TEST_F(RunProgram, AStopKillsItAndWhatItStarted) {
  const auto pids = directory.path() / "pids";
  const std::string path = script("slow", "sleep 1000 &\necho $$ $! > " + pids.string() + ".new\nmv " +
                                              pids.string() + ".new " + pids.string() + "\nwait");
  std::thread stopper([&] {
    while (!std::filesystem::exists(pids)) std::this_thread::yield();
    stop.set();
  });
  EXPECT_EQ(output({path}), "error: stopped");
  stopper.join();
  pid_t own = 0, started = 0;
  std::ifstream(pids) >> own >> started;
  EXPECT_EQ(::kill(own, 0), -1);
  if (in_foreground()) return static_cast<void>(::kill(started, SIGKILL));  // it shares our group
  const auto patience = std::chrono::steady_clock::now() + 20s;
  while (is_alive(started) && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_FALSE(is_alive(started));
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
}  // namespace nccl_env::kube::program_test
