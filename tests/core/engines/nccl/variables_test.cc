// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/text/join.h"
#include "support/golden.h"
#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace nccl_env::variables_test {
namespace {

using ::testing::Optional;

constexpr auto kNoProblem = std::nullopt;

std::string repeated(std::string_view entry, int times) {
  std::string out(entry);
  for (int i = 1; i < times; ++i) out += "," + std::string(entry);
  return out;
}

TEST(Catalogue, IsSortedByNameAndGivesAReasonForEachRow) {
  const auto rows = nccl_variables();
  ASSERT_GT(rows.size(), 100u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].name, rows[i].name);
  for (const Variable& row : rows) {
    EXPECT_EQ(find_variable(row.name), &row);
    EXPECT_FALSE(row.note.empty()) << row.name;
    EXPECT_EQ(row.kind == ValueKind::Integer && row.min >= row.max, false) << row.name;
    const bool words = row.kind == ValueKind::Enum || row.kind == ValueKind::WordList;
    EXPECT_EQ(words, !row.choices.empty()) << row.name;
  }
}

TEST(Catalogue, HoldsNothingForUnknownNames) {
  EXPECT_EQ(find_variable("NCCL_IB_HCAS"), nullptr);
  EXPECT_EQ(find_variable(""), nullptr);
  EXPECT_EQ(value_problem("NCCL_IB_HCAS", "anything"), kNoProblem);
}

TEST(Catalogue, KnowsWhatFieldRefsNeed) {
  // A missing annotation is an empty value, so these have to treat empty as unset.
  for (const auto name : {variable::kIbHca, variable::kIbGidIndex, variable::kIbAddrFamily,
                          variable::kIbAddrRange, variable::kSocketIfname}) {
    ASSERT_NE(find_variable(name), nullptr) << name;
    EXPECT_TRUE(find_variable(name)->empty_is_unset) << name;
  }
  for (const auto name : {"NCCL_NET", "NCCL_COMM_ID", "NCCL_HOSTID", "NCCL_DEBUG_SUBSYS", "NCCL_NET_PLUGIN",
                          "NCCL_NET_MERGE_LEVEL", "NCCL_IBVERBS_LIB", "NCCL_TOPO_FILE"}) {
    EXPECT_FALSE(find_variable(name)->empty_is_unset) << name;
  }
}

TEST(Catalogue, KnowsWhatAllRanksShareAndWhatLoadsCode) {
  EXPECT_EQ(find_variable("NCCL_IB_QPS_PER_CONNECTION")->ranks, Ranks::Equal);
  EXPECT_EQ(find_variable("NCCL_IB_SPLIT_DATA_ON_QPS")->ranks, Ranks::Equal);
  EXPECT_EQ(find_variable("NCCL_IB_TC")->ranks, Ranks::Fabric);
  EXPECT_EQ(find_variable("NCCL_IB_HCA")->ranks, Ranks::Node);
  EXPECT_EQ(find_variable("NCCL_IB_TIMEOUT")->ranks, Ranks::Any);
  for (const auto name : {"NCCL_NET_PLUGIN", "NCCL_ENV_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN",
                          "NCCL_IBVERBS_LIB", "NCCL_CONF_FILE"}) {
    EXPECT_TRUE(find_variable(name)->loads_code) << name;
  }
  EXPECT_FALSE(find_variable("NCCL_NET_PLUGIN_REF_COUNT")->loads_code);
}

void takes(const std::string& name, const std::vector<std::string>& values) {
  for (const std::string& value : values) EXPECT_EQ(value_problem(name, value), kNoProblem) << value;
}
// Each value is refused; the golden holds why.
void refuses(const std::string& name, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    const auto problem = value_problem(name, value);
    EXPECT_NE(problem, kNoProblem) << name << "=" << value;
    const SettingProblem told = setting_problem(name, value).value_or(SettingProblem{});
    if (problem)
      tests::expect_golden(name + "=" + nlohmann::json(value).dump(-1, ' ', true),
                           *problem + (told.as_meant ? " (info) " : " ") + told.remedy);
  }
}

TEST(Meaning, OfADefaultIsThatOfNoValue) {
  const auto meaning = [](const char* name, const char* value) {
    return nccl_meaning(*find_nccl_variable(name), value);
  };
  EXPECT_EQ(meaning("NCCL_IB_QPS_PER_CONNECTION", "1"), "");
  EXPECT_EQ(meaning("NCCL_IB_QPS_PER_CONNECTION", "2"), "2");
  EXPECT_EQ(meaning("NCCL_CROSS_NIC", "2"), "");
  EXPECT_EQ(meaning("NCCL_IB_DISABLE", "0"), "");
}

TEST(Value, OfIntegersIsPlainDecimalWithinTheBounds) {
  refuses("NCCL_IB_RETRY_CNT", {"10", "15"});  // mlx5 makes 7 of 15
  refuses("NCCL_IB_TIMEOUT", {"0", "32", "40"});
  refuses("NCCL_P2P_DISABLE", {"True", "false"});
  refuses("NCCL_IB_QPS_PER_CONNECTION", {"129"});
  takes("NCCL_IB_RETRY_CNT", {"7"});
  takes("NCCL_IB_TIMEOUT", {"31"});
  takes("NCCL_IB_QPS_PER_CONNECTION", {"128"});
  takes("NCCL_IB_GID_INDEX", {"-1"});
  takes("NCCL_IB_DISABLE", {"2"});
  takes("NCCL_CROSS_NIC", {"0"});
  refuses("NCCL_IB_TIMEOUT", {"022", "abc", "22 ", " 22", "+22", "0x16", "1e1", "2.0", "-", "--1",
                              "99999999999999999999", "-0"});
  // No value is empty.
  refuses("NCCL_IB_HCA", {""});
  refuses("NCCL_SOMETHING_NEW", {""});
}

TEST(Value, OfWordsCountsCaseWhereNcclDoes) {
  takes("NCCL_IB_ADDR_FAMILY", {"AF_INET6"});
  refuses("NCCL_IB_ADDR_FAMILY", {"af_inet6"});
  takes("NCCL_DEBUG", {"info"});
  refuses("NCCL_DEBUG", {"verbose", "TRUE"});
}

TEST(Value, OfLevelsIsAWordOrADigit) {
  for (const auto name : {"NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"}) {
    takes(name, {"0", "5", "SYS", "PHB"});
    refuses(name, {"6", "-1", "sys", "PHB2"});
  }
}

TEST(HcaList, TakesPrefixesPortsRailsAndPlanes) {
  takes("NCCL_IB_HCA", {"mlx5_0", "=mlx5_0,mlx5_1", "^mlx5_0", "^=mlx5_0:1", "=mlx5_0:1:0,mlx5_1:1:1:2",
                        "=rocep1s0f1,roceP2p1s0f1", "mlx5_0,", ",mlx5_0", "mlx5_0,,mlx5_1"});
}

TEST(HcaList, RefusesWhatNcclWouldReadOtherwise) {
  refuses("NCCL_IB_HCA", {"mlx5_0, mlx5_1", " mlx5_0", "mlx5_0 ", "\"mlx5_0\" ", "=", "^", "^=", ",", ":1",
                          "=^mlx5_0", "==mlx5_0", "^^mlx5_0", "=mlx5_0,=mlx5_1"});
  refuses("NCCL_IB_HCA", {"mlx5_0:", "mlx5_0:0", "mlx5_0:x", "mlx5_0:256", "mlx5_0:01", "mlx5_0::0:1",
                          "mlx5_0:1:2:3:4", "mlx5_0:1:0:16384", "mlx5_0\n", "mlx5_\xc3\xa4"});
}

// Each selects nothing, whatever the node has.
TEST(HcaList, RefusesWhatNoNameHas) {
  refuses("NCCL_IB_HCA", {"=mlx5_1;mlx5_2", "mlx5_0,mlx5_*", "mlx5_[0-7]", "'mlx5_0'", "mlx5_0/1"});
  refuses("NCCL_SOCKET_IFNAME", {"eth0;eth1", "eth*", "^\"lo\""});
  refuses("NCCL_NET_FORCE_MERGE", {"mlx5_0,mlx5_?;mlx5_2"});
}

TEST(HcaList, HoldsAsManyEntriesAndBytesAsNcclDoes) {
  takes("NCCL_IB_HCA", {"=" + repeated("mlx5_0", 32), std::string(63, 'a')});
  refuses("NCCL_IB_HCA", {"=" + repeated("mlx5_0", 33), std::string(64, 'a')});
  takes("NCCL_OOB_NET_IFNAME", {repeated("mlx5_0", 16)});
  refuses("NCCL_OOB_NET_IFNAME", {repeated("mlx5_0", 17)});
}

TEST(InterfaceList, IsTwoCharactersSixteenEntriesAndNoPorts) {
  takes("NCCL_SOCKET_IFNAME",
        {"eth0", "=eth0", "^lo,docker0", "lo", repeated("eth0", 16), "abcdefghijklmno"});
  refuses("NCCL_SOCKET_IFNAME",
          {"lo,abcdefghijklmnop", "e", "=", "^", "eth0:1", "eth0, eth1", repeated("eth0", 17)});
}

TEST(Value, OfGroupsRangesAndTexts) {
  takes("NCCL_NET_FORCE_MERGE", {"mlx5_0,mlx5_1;mlx5_2:1,mlx5_3:1"});
  refuses("NCCL_NET_FORCE_MERGE", {"mlx5_0,mlx5_1;", ";mlx5_0", ",", "mlx5_0;:1", "=mlx5_0"});
  takes("NCCL_IB_ADDR_RANGE", {"10.1.0.0/16", "10.1.2.3/16", "fd02::/16", "10.0.0.1/32"});
  refuses("NCCL_IB_ADDR_RANGE",
          {"10.1.0.0", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/16,10.2.0.0/16", "10.1/16", "/16"});
  takes("NCCL_TOPO_FILE", {"/opt/topo.xml"});
  refuses("NCCL_TOPO_FILE", {"~/topo.xml"});
  takes("NCCL_NET", {std::string(1023, 'a')});
  refuses("NCCL_NET", {"Ring\n", std::string(1024, 'a')});
}

TEST(WordList, IsOfAllFunctionsThenOfOneEach) {
  takes("NCCL_ALGO",
        {"Ring", "^nvls,PAT", "ring,collnetdirect;allreduce:tree;broadcast:ring", "AllReduce:Tree", "Ring,"});
  takes("NCCL_PROTO", {"LL,Simple;allreduce:^LL", "^LL128"});
  refuses("NCCL_ALGO",
          {"treee", "Ring ", "Ring, Tree", "Ring;Tree", "reducescater:Ring", "allreduce:", "^", ","});
  refuses("NCCL_PROTO", {"foo", "LL;allreduce:LL126"});
}

TEST(NcclInteger, IsStrtollInBaseZero) {
  const std::pair<const char*, int> rows[] = {{"022", 18},   {"0x10", 16}, {"abc", 0},  {"\"22\"", 0},
                                              {"22abc", 22}, {"1e3", 1},   {" -1", -1}, {"", 0}};
  for (const auto& [text, value] : rows) EXPECT_THAT(nccl_integer(text), Optional(value)) << text;
  EXPECT_EQ(nccl_integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(nccl_integer("-9223372036854775809"), std::nullopt);
}

// The columns of docs/reference/variables.md that repeat the catalogue.
std::string accepted(const Variable& row) {
  if (row.kind == ValueKind::Integer) {
    constexpr std::int64_t kLarge = 2147483647;
    return row.max >= kLarge ? "at least " + std::to_string(row.min)
                             : std::to_string(row.min) + " to " + std::to_string(row.max);
  }
  std::string out(to_string(row.kind));
  if (row.kind == ValueKind::Enum) {
    out.clear();
    for (const auto choice : row.choices) out += (out.empty() ? "" : ", ") + std::string(choice);
    if (row.ignore_case) out += " (any case)";
  }
  if (row.kind == ValueKind::WordList) out += " of " + join(row.choices);
  if (row.max > 0) out += ", at most " + std::to_string(row.max) + " entries";
  if (row.loads_code) out += ", code";
  return out;
}

std::string documented(const Variable& row) {
  return "| `" + std::string(row.name) + "` | " + accepted(row) + " | " + std::string(row.note) + " |";
}

TEST(VariablesDocument, HasExactlyTheCataloguesRows) {
  std::ifstream file(tests::in_source("/docs/reference/variables.md"));
  ASSERT_TRUE(file.is_open());
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `NCCL_")) lines[line.substr(3, line.find('`', 3) - 3)] = line;
  }
  for (const Variable& row : nccl_variables()) {
    const std::string wanted = documented(row);
    const std::string& line = lines[std::string(row.name)];
    EXPECT_TRUE(line.starts_with(wanted)) << "in the document: " << line << "\n     catalogue: " << wanted;
  }
  EXPECT_EQ(lines.size(), nccl_variables().size());
}

// The cell that names all variables of a kind.
template <typename Kind>
std::string cell_of(Kind is_of_kind) {
  std::string out = "|";
  for (const Variable& row : nccl_variables()) {
    if (is_of_kind(row)) out += " `" + std::string(row.name) + "`";
  }
  return out + " |\n";
}

TEST(VariablesDocument, NamesThoseThatRanksShareAndThoseWhoseEmptyValueCounts) {
  std::ifstream file(tests::in_source("/docs/reference/variables.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Ranks ranks : {Ranks::Equal, Ranks::Fabric, Ranks::Node})
    EXPECT_THAT(page, ::testing::HasSubstr(cell_of([&](const Variable& row) { return row.ranks == ranks; })));
  EXPECT_THAT(page, ::testing::HasSubstr(cell_of([](const Variable& row) { return !row.empty_is_unset; })));
}

}  // namespace
}  // namespace nccl_env::variables_test
