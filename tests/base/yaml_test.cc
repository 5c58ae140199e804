// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/yaml.h"

#include <gmock/gmock.h>

#include <map>

#include "support/golden.h"

namespace nccl_env::yaml_test {
namespace {

using nlohmann::json;

// The one document of the text, or the message as a string under "error".
json read(std::string_view text, std::string_view file_name = "f.yaml") {
  const auto documents = parse_documents(text, file_name);
  if (!documents) return {{"error", documents.error().message}};
  EXPECT_EQ(documents->size(), 1U) << text;
  return documents->empty() ? json() : documents->front();
}

std::string message(std::string_view text, std::string_view file_name = "f.yaml") {
  const auto documents = parse_documents(text, file_name);
  return documents ? "" : documents.error().message;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t at = 0; at < times; ++at) result += text;
  return result;
}

// Each text is refused; the golden holds why.
void refuses(const std::vector<std::string>& texts, std::string_view file_name = "f.yaml") {
  for (const std::string& text : texts) {
    const std::string said = message(text, file_name);
    EXPECT_NE(said, "") << text;
    const bool plain =
        text.size() < 400 && text.find_first_of("\x04\x1b\xc0\xc3\xe0\xed\xf0\xf4\xff") == text.npos;
    const std::string hidden = std::to_string(text.size()) + " bytes of " +
                               json(text.substr(0, 8)).dump(-1, ' ', true, json::error_handler_t::replace);
    tests::expect_golden(plain ? text : hidden, said);
  }
}

std::map<std::string, int> lines_in(std::string_view text, std::string_view file_name, std::size_t document,
                                    const std::vector<std::string>& paths) {
  std::vector<FieldLines> lines;
  const auto documents = parse_documents(text, file_name, &lines);
  EXPECT_TRUE(documents) << text;
  EXPECT_EQ(documents->size(), lines.size());
  std::map<std::string, int> found;
  for (const std::string& path : paths) found[path] = line_of_field(lines.at(document), path);
  return found;
}

TEST(Yaml, FieldsHaveTheLinesOfTheFile) {
  const std::string text =
      "# a comment\na: 1\n---\n\n---\nkind: K\nspec:\n  list:\n  - x: 1\n    y: 2\n  - {x: 3, y: [4]}\n";
  const std::map<std::string, int> second{{"kind", 6},
                                          {"spec", 7},
                                          {"spec.list[0].y", 10},
                                          {"spec.list[1].y[0]", 11},
                                          {"spec.list[1].z", 11},
                                          {"spec.none.x", 7}};
  std::vector<std::string> paths;
  for (const auto& [path, line] : second) paths.push_back(path);
  EXPECT_EQ(lines_in(text, "f.yaml", 1, paths), second) << "a field that is not there has the line around it";
  EXPECT_EQ(lines_in(text, "f.yaml", 0, {"a"}).at("a"), 2);
}

TEST(Yaml, FieldsOfJsonHaveNoLines) {
  for (const char* name : {"f.json", "f.yaml"})
    EXPECT_EQ(lines_in("{\n\"a\":\n{\"b\": 1}}", name, 0, {"a", "a.b"}),
              (std::map<std::string, int>{{"a", 0}, {"a.b", 0}}));
}

// Long keys at every level would make paths of gigabytes.
TEST(Yaml, LinesOfAHostileTextAreBounded) {
  std::string text;
  for (int level = 0; level < 60; ++level)
    text += std::string(static_cast<std::size_t>(level), ' ') + std::string(900, 'k') +
            std::to_string(level) + ":\n";
  std::vector<FieldLines> lines;
  ASSERT_TRUE(parse_documents(text, "f.yaml", &lines));
  std::size_t bytes = 0;
  for (const auto& [path, line] : lines.at(0)) bytes += path.size();
  EXPECT_LT(bytes, 4096u);
}

// Found by fuzzing: yaml-cpp made bytes of them that are not UTF-8, and writing such a value as JSON throws.
TEST(Yaml, EscapesThatWouldNotBeUtf8AreRefused) {
  refuses({R"(a: "x\Ny")", R"("\_": 1)"});
  EXPECT_EQ(read(R"(a: "\u0085\u00a0\L\xe9")"), json({{"a", "\u0085\u00a0\u2028\u00e9"}}));
}

// Compared with the output of `kubectl label --local`, 1.33.
TEST(Yaml, PlainScalarsAreThoseOfKubectl) {
  EXPECT_EQ(read("NCCL_IB_TIMEOUT: 22")["NCCL_IB_TIMEOUT"].type(), json::value_t::number_unsigned);
  const auto expect = [](const json& value, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) EXPECT_EQ(read("a: " + text)["a"], value) << text;
  };
  expect(true, {"true", "y", "Yes", "ON"});
  expect(false, {"False", "n", "NO", "off"});
  expect(nullptr, {"~", "NULL", ""});
  expect("22", {"\"22\"", "'22'", "!!str 22", "! 22"});
  expect("no", {"'no'"});
  expect("true", {"'true'"});
  expect("~", {"\"~\""});
  for (const char* text : {"yEs", "tRue", "0x", "_1", "1_x", "1:20", "1.2.3", "2026-11-20",
                           "2026-11-20T08:00:00Z", "0xfffffffffffffffff", "1e", ".", "+", "e3"})
    expect(text, {text});
  const json numbers =
      json::parse(R"({"22": 22, "-7": -7, "+7": 7, "0x1F": 31, "0X1f": 31, "0o17": 15, "0644": 420,
      "08": 8.0, "-0b11": -3, "1_0.5": 10.5, "1_000": 1000, "1.5": 1.5, "1e3": 1000.0, ".5": 0.5, "-1.": -1.0,
      "18446744073709551615": 18446744073709551615, "-9223372036854775808": -9223372036854775808,
      "18446744073709551616": 18446744073709551616.0})");
  for (const auto& [text, value] : numbers.items()) expect(value, {text});
}

TEST(Yaml, NumbersThatJsonLacksAreRefusedWithTheirPlace) {
  refuses({"a: 1\nb: .inf", "a: -.INF", "a: .nan", "a: 1e999"});
  EXPECT_EQ(read("a: '.inf'")["a"], ".inf");
}

TEST(Yaml, ReadsEveryDocumentAndSkipsEmptyOnes) {
  const auto documents = parse_documents("---\n---\na: 1\n---\n# nothing\n---\n~\n---\n[b]\n...\n", "f.yaml");
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(json(*documents), json::parse(R"([{"a":1},["b"]])"));
  for (const char* text : {"", " \n\t\n", "# only a remark\n", "---\n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(parse_documents(text, "f.yaml")->size(), 0U) << text;
  }
}

TEST(Yaml, OneByteOrderMarkIsSkippedAndASecondRefused) {
  const std::string mark = "\xef\xbb\xbf";
  for (const char* name : {"f.yaml", "f.json"}) {
    EXPECT_TRUE(parse_documents(mark + R"({"a": 1})", name).ok()) << name;
    const auto twice = parse_documents(mark + mark + R"({"a": 1})", name);
    ASSERT_FALSE(twice.ok()) << name;
    EXPECT_EQ(twice.error().message, std::string(name) + ":1: a second byte order mark");
  }
}

TEST(Yaml, FindsTheNextDocumentBehindAnyText) {
  const auto documents =
      parse_documents("a: \xc3\xa4\xf0\x9f\x98\x80\r\n---\r\n# \xc3\xa4\r\nb: 1\r\n...\r\n--- c\r\n", "f");
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(json(*documents), json::parse(R"([{"a":"\u00e4\ud83d\ude00"},{"b":1},"c"])"));
}

TEST(Yaml, RefusesWhatIsLeftOverBehindADocument) {
  refuses({"]", "a: 1\n]", "[a] b", "'a' 'b'", "{a: 1}\n{b: 2}", "a\n---\n}"});
}

TEST(Yaml, RefusesAKeyThatStandsTwice) {
  refuses({"a: 1\nb: 2\na: 3\n", "{\"a\": 1,\n \"a\": 2}", "1: a\n'1': b\n"});
  refuses({"{\"a\": 1,\n \"a\": 2}"}, "f.json");
}

TEST(Yaml, RefusesAQuoteThatIsNotClosed) {
  refuses({"a: \"x\n", "a: 'x\nb: y\n", "a: \"x\\\"\n", "a: \"\u00e9\"\nb: \"\u00e9\n", "\"a: b\n"});
  EXPECT_EQ(read("a: \"\u00e9\"\nb: 'it''s' # it's\nc: \"x\\\"\"\n"),
            json::parse("{\"a\":\"\u00e9\",\"b\":\"it's\",\"c\":\"x\\\"\"}"));
  EXPECT_EQ(read("a: \"b\n  c\"\r\nd: |\r\n  \"e\r\n"), json::parse(R"({"a":"b c","d":"\"e\n"})"));
}

TEST(Yaml, KeysAreScalars) {
  EXPECT_EQ(read("8080: a\ntrue: b\n"), json::parse(R"({"8080":"a","true":"b"})"));
  refuses({"? [a]\n: b", "? {a: 1}\n: b", "~: a", ": a", "null: a", "a: &x b\n*x : c"});
}

TEST(Yaml, AliasesAreWrittenOut) {
  EXPECT_EQ(read("Master: &replica {replicas: 1, template: [&c a, *c]}\nWorker: *replica\n"),
            json::parse(R"({"Master": {"replicas": 1, "template": ["a", "a"]},
                            "Worker": {"replicas": 1, "template": ["a", "a"]}})"));
  EXPECT_EQ(read("a: &x\nb: *x\n"), json::parse(R"({"a": null, "b": null})"));
  EXPECT_EQ(read("a: &x 1\nb: &x 2\nc: *x\n")["c"], 2);
  refuses({"a: &x 1\n---\nb: *x\n"});
}

TEST(Yaml, MergedFieldsGiveWayToTheObjectsOwn) {
  EXPECT_EQ(read("a: &x {b: 1, c: 1}\nd:\n  c: 2\n  <<: *x\n")["d"], (json{{"b", 1}, {"c", 2}}));
  EXPECT_EQ(read("\"<<\": 1\n"), (json{{"<<", 1}})) << "a text";
  EXPECT_EQ(read("- &x {b: 1}\n- &y {b: 2, c: 2}\n- {<<: [*x, *y], d: {<<: *y}}\n")[2],
            json::parse(R"({"b": 1, "c": 2, "d": {"b": 2, "c": 2}})"));
  refuses({"a: {<<: 1}"});
}

TEST(Yaml, WhatAliasesMakeIsBounded) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string one = "*a" + std::to_string(i - 1);
    laughs +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + one + repeated(", " + one, 9) + "]\n";
  }
  refuses({laughs});
  refuses({"a: &a [*a]\n"});
  const std::string deep = "a: &a " + repeated("[", 40) + repeated("]", 40) + "\n";
  refuses({deep + "b: " + repeated("[", 30) + "*a" + repeated("]", 30)});
  std::string nested;  // each level keeps all below it
  for (int i = 0; i < 60; ++i) nested += "&n" + std::to_string(i) + " [";
  nested += "'" + std::string(300000, 'x') + "'" + repeated("]", 60);
  refuses({nested});
}

// yaml-cpp's scanner took 2 GB for 8 MiB of "[" before anything could be refused.
TEST(Yaml, TheScannerDoesNotReadFarAheadOfWhatItTells) {
  constexpr std::size_t kHalfMiB = 512U << 10U;
  refuses({"a: 1\nb:\n- " + std::string(7U << 20U, '['), "- " + repeated("[a],", 200000),
           "a: " + std::string(2 * kHalfMiB, 'x')});
  EXPECT_EQ(read("a: " + std::string(kHalfMiB - 1000, 'x'))["a"].get<std::string>().size(), kHalfMiB - 1000);
  EXPECT_EQ(read(repeated("- x\n", 200000)).size(), 200000U);
}

TEST(Yaml, DepthIsBounded) {
  const auto nested = [](std::size_t depth) { return repeated("[", depth) + repeated("]", depth); };
  for (const char* name : {"f.yaml", "f.json"}) {
    EXPECT_EQ(message(nested(64), name), "");
    refuses({nested(65), repeated("[", 100000), repeated("{\"a\":", 100000)}, name);
  }
  refuses({repeated("- ", 100000), "a: " + repeated("{a: ", 100000), repeated("? ", 100000)});
}

TEST(Yaml, SizeIsBounded) {
  refuses({std::string((8 << 20) + 1, ' ')});
  EXPECT_EQ(message(std::string(8 << 20, ' ')), "");
}

TEST(Yaml, RefusesTextThatIsNotUtf8OrHoldsControls) {
  refuses({"a: b\nc: \x1b[2J", "a: \xc3\xa4\x04\nb: 1", "a: \xff", "a: \xc0\x80", "a: \xed\xa0\x80",
           "a: \xf4\x90\x80\x80", "a: \xc3", std::string("\xff\xfe") + "a", "a: \xe0\x80\x80",
           "a: \xf0\x80\x80\x80"});
  EXPECT_THAT(message("\xfe\xff"), testing::EndsWith("save it as UTF-8"));
  EXPECT_EQ(read("a: \xc3\xa4\xf0\x9f\x98\x80")["a"], "\xc3\xa4\xf0\x9f\x98\x80");
}

TEST(Yaml, JsonIsReadAsJsonAndFlowStyleAsYaml) {
  EXPECT_EQ(read(R"({"a": "\ud83d\ude00\/"})")["a"], "\xf0\x9f\x98\x80/");
  EXPECT_EQ(read("{a: [b, 1], }"), json::parse(R"({"a":["b",1]})"));
  EXPECT_EQ(parse_documents("{\"a\": 1}\n---\n{b: 2}\n", "f.yaml")->size(), 2U);
  refuses({"{a: 1}", "{\"a\": 1}\n{\"b\": 2}", "a: 1", "{\"a\": 1e999}"}, "f.json");
}

TEST(Yaml, ErrorsNameTheLine) {
  refuses({"a: 1\nb: [1, 2\nc: 3\n", "a: !env X", "a:\n\t- b", "a: {{ .b }}", "{{- if .b }}\na: 1"});
  refuses({"{\"a\": 1,\n \"b\": tru}", "{\"a\": \"x\n\"}", "{\"a\": 1,\n\"b\": {"}, "f.json");
}

}  // namespace
}  // namespace nccl_env::yaml_test
