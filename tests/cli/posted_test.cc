// SPDX-License-Identifier: Apache-2.0
// Listings and manifests as people post them: tests/data/posted/cases.tsv names each input with its commands,
// the exit code of the last one, what they have to say and what they must not.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/cli_run.h"
#include "nccl_env/base/yaml.h"

namespace nccl_env::posted_test {
namespace {

using namespace nccl_env::tests;

std::vector<std::string> split(const std::string& text, const std::string& between) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(between, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + between.size();
  }
  return parts;
}

struct Case {
  std::string input;
  std::string commands;
  int code = 0;
  std::vector<std::string> says;
  std::vector<std::string> silent;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.input << ": " << one.commands;
}

std::vector<Case> cases() {
  std::ifstream file(source_file("tests/data/posted/cases.tsv"));
  std::vector<Case> all;
  std::string line;
  std::getline(file, line);  // the head
  while (std::getline(file, line)) {
    std::vector<std::string> columns = split(line, "\t");
    columns.resize(5);
    all.push_back({columns[0], columns[1], std::stoi(columns[2]), split(columns[3], " && "),
                   split(columns[4], " && ")});
  }
  return all;
}

class Posted : public CliTest, public ::testing::WithParamInterface<Case> {
 protected:
  // FILE is the input, D the folder of it, P that of shipped policies, T the table of
  // four-rails.show_gids.txt as node n1; each command reads what the one before it printed.
  CliResult run_all(const Case& one) {
    CliResult all;
    std::string piped;
    for (const std::string& command : split(one.commands, " | ")) {
      std::vector<std::string> words;
      for (const std::string& word : split(command, " ")) words.push_back(place_of(word, one.input));
      const CliResult result = run_cli(words, piped);
      piped = result.out;
      all.code = result.code;
      all.out += result.out + result.err;
    }
    return all;
  }

 private:
  std::string place_of(const std::string& word, const std::string& input) {
    if (word == "FILE") return source_file("tests/data/posted/" + input);
    if (word.starts_with("D/")) return source_file("tests/data/posted/" + word.substr(2));
    if (word.starts_with("P/")) return source_file("policies/" + word.substr(2));
    if (word != "T") return word;
    const CliResult table = run_cli({"table", "import", "--node", "n1", "--node-interface", "eth0",
                                     source_file("tests/data/posted/four-rails.show_gids.txt")});
    EXPECT_EQ(table.code, 0) << table.err;
    return write("T.yaml", table.out);
  }
};

// Lines are wrapped where a terminal would end.
std::string unwrapped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c != '\n' && c != ' ') {
      result += c;
    } else if (!result.ends_with(' ')) {
      result += ' ';
    }
  }
  return result;
}

TEST_P(Posted, IsAnsweredAsTheTableSays) {
  const CliResult result = run_all(GetParam());
  EXPECT_EQ(result.code, GetParam().code) << result.out;
  const std::string text = unwrapped(result.out);
  for (const std::string& words : GetParam().says) EXPECT_THAT(text, HasSubstr(words));
  for (const std::string& words : GetParam().silent) EXPECT_THAT(text, Not(HasSubstr(words)));
}

INSTANTIATE_TEST_SUITE_P(Cases, Posted, ::testing::ValuesIn(cases()), [](const auto& with) {
  std::string name = std::to_string(with.index) + "_" + with.param.input;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(PostedFiles, EachIsNamedInTheTable) {
  std::set<std::string> named{"cases.tsv"};
  for (const Case& one : cases()) {
    named.insert(one.input);
    for (const std::string& word : split(one.commands, " ")) {
      if (word.starts_with("D/")) named.insert(word.substr(2));
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(source_file("tests/data/posted")))
    EXPECT_TRUE(named.contains(entry.path().filename().string())) << entry.path();
}

}  // namespace
}  // namespace nccl_env::posted_test
