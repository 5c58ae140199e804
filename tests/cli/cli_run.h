// SPDX-License-Identifier: Apache-2.0
// nccl-env run as a function, in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/cli/cli.h"
#include "nccl_env/program/version.h"
#include "support/golden.h"
#include "support/matchers.h"
#include "support/places.h"
#include "support/temporary_directory.h"

namespace nccl_env::tests {

using Json = nlohmann::json;

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
  std::string command;
};

// Without what differs from run to run: the test's directory, the port of its cluster, when a certificate
// ends.
inline std::string steady(std::string text) {
  static const std::pair<std::regex, const char*> patterns[] = {
      {std::regex(" --kubeconfig [^ ]*config"), ""},
      {std::regex("[^\\s\"'=,]*nccl-env-test-\\w{6}/?"), ""},
      {std::regex("127\\.0\\.0\\.1:\\d{5}"), "127.0.0.1:PORT"},
      {std::regex("until \\S+Z \\(\\d+ days\\)"), "until TIME (N days)"},
      {std::regex("\\b" + std::string(program::kVersion) + "\\b"), "VERSION"}};
  for (const auto& [pattern, with] : patterns) text = std::regex_replace(text, pattern, with);
  return text;
}

// Checks the exit code; what the command prints stands in the golden.
inline void expect_shown(const CliResult& result, int code = 0, Place at = Place::here()) {
  EXPECT_EQ(result.code, code) << result.command << "\n" << result.out << result.err;
  expect_golden(steady(result.command), steady(result.out + result.err), at);
}

// The same of the first block, up to a blank line: the answer, where others show the form of the rest.
inline void expect_answer(CliResult result, int code = 0, Place at = Place::here()) {
  if (const std::size_t end = result.out.find("\n\n"); end != result.out.npos) result.out.resize(end + 1);
  expect_shown(result, code, at);
}

// The same of the lines about a part.
inline void expect_part(CliResult result, const std::string& part, int code = 0, Place at = Place::here()) {
  std::istringstream lines(std::exchange(result.out, ""));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != line.npos) result.out += line + "\n";
  }
  expect_shown(result, code, at);
}

// From here on the process and its children ask clusters through tests/support/programs/kubectl.cc.
inline void use_fake_kubectl() {
  static const std::string before = std::getenv("PATH");
  ::setenv("PATH", (tests::in_build("/tests/programs") + ":" + before).c_str(), 1);
}

// `width`: of a terminal; 0: it is none.
inline CliResult run_cli(std::vector<std::string> arguments, const std::string& input = "",
                         std::size_t width = 0) {
  std::vector<const char*> argv{"nccl-env"};
  std::string command = "$ nccl-env";
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
    command += " " + argument;
  }
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int code = cli::run_cli(static_cast<int>(argv.size()), argv.data(), {in, out, err, width});
  return {code, out.str(), err.str(), std::move(command)};
}

// The words of a command that needs no quotes.
inline std::vector<std::string> words(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

inline std::string source_file(const std::string& path) {
  return tests::in_source("/" + path);
}

class CliTest : public ::testing::Test {
 public:
  CliTest() { use_fake_kubectl(); }

 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_.path() / name).string();
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace nccl_env::tests
