// SPDX-License-Identifier: Apache-2.0
// Text from others whose parts are multiplied up to the size that commands take: listings, tables, manifests,
// NCCL's log. Each is read in a process of its own, whose CPU time and memory the kernel counts. Time that
// grew with the square of a repetition would be minutes.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/base/yaml.h"
#include "nccl_env/core/fabric/node_table.h"
#include "nccl_env/judge/nccl_log/nccl_log.h"
#include "nccl_env/listing/import.h"
#include "support/sanitized.h"

namespace nccl_env::multiplied_test {
namespace {

#ifdef NDEBUG
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif
constexpr bool kSanitized = NCCL_ENV_SANITIZED;

// Ten times what the largest takes; a debug build, which is some twenty times slower, reads a part of the
// size instead.
constexpr rlim_t kSeconds = 20;
constexpr double kKibibytes = 256 << 10;

// The part [begin, end) of a text, repeated in its place.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Each line, each pair of lines, and each word and each sign where it stands first.
std::vector<Part> parts_of(const std::string& text) {
  std::vector<Part> parts;
  std::set<std::string> seen;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end && seen.insert(text.substr(begin, end - begin)).second) parts.push_back({begin, end});
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    add(begin, end);
    if (end < text.size()) add(begin, std::min(text.find('\n', end), text.size() - 1) + 1);
    for (std::size_t at = begin; at + 1 < end;) {
      const std::size_t blank = std::min(text.find(' ', at), end - 1);
      add(at, std::min(blank + 1, end - 1));
      for (std::size_t sign = at; sign < blank; ++sign) {
        if (std::string_view("[]{}:/,-").find(text[sign]) != std::string_view::npos) add(sign, sign + 1);
      }
      at = blank + 1;
    }
    begin = end;
  }
  return parts;
}

std::string multiplied(const std::string& text, const Part& part, std::size_t size) {
  std::string result = text.substr(0, part.begin);
  const std::string once = text.substr(part.begin, part.end - part.begin);
  while (result.size() + text.size() + once.size() < size) result += once;
  return result + text.substr(part.begin);
}

struct Cost {
  bool ended_well = false;
  double seconds = 0;
  double kibibytes = 0;  // at most, above those of the parent
};

// `work` returns whether it found what it has to find.
Cost cost_of(const std::function<bool()>& work) {
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{kSeconds, kSeconds + 1};
    ::setrlimit(RLIMIT_CPU, &limit);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  rusage used{};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, seconds(used.ru_utime) + seconds(used.ru_stime),
          static_cast<double>(used.ru_maxrss - before.ru_maxrss)};
}

using CostOfPart = std::pair<Cost, Part>;

constexpr std::size_t kSome = std::size_t{64} << 10U;

struct Reading {
  std::string name;
  std::size_t size;  // that commands take; of YAML less, whose library takes a second for some MiB
  std::string text;
  bool (*read)(std::string text);
};

bool read_listing(std::string text) {
  const ImportOutcome outcome = import_listing({"a.txt", std::move(text)}, {"n", {}});
  return outcome.report.has_value() == outcome.findings.empty() && outcome.findings.size() < 100;
}

bool read_table(std::string text) {
  const auto documents = parse_documents(text, "a.yaml");
  if (!documents) return !documents.error().message.empty() && documents.error().message.size() < 4096;
  return std::all_of(documents->begin(), documents->end(), [](const nlohmann::json& document) {
    const auto table = parse_node_fabric(document);
    return table || table.error().message.size() < (64U << 10U);
  });
}

bool read_log(std::string text) {
  NcclLogReader reader;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    reader.read_line(line.substr(0, NcclLogReader::kMaxLine), line.size() > NcclLogReader::kMaxLine);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return reader.log().devices.size() <= 256;
}

std::vector<Reading> readings() {
  constexpr std::size_t kListing = std::size_t{4} << 20U;
  constexpr std::size_t kLog = std::size_t{8} << 20U;
  constexpr std::size_t kYaml = std::size_t{512} << 10U;
  return {
      {"show_gids", kListing,
       "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\n"
       "mlx5_0 1 3 0000:0000:0000:0000:0000:ffff:0a01:0002 10.1.0.2 v2 eth1\n"
       "n_gids_found=1\n",
       read_listing},
      {"ibv_devinfo", kListing,
       "hca_id: mlx5_0\n  transport: InfiniBand (0)\n  sys_image_guid: b83f:d203:00b4:f5a2\n"
       "  board_id: MT_0000000223\n  phys_port_cnt: 1\n    port: 1\n      state: PORT_ACTIVE (4)\n"
       "      link_layer: Ethernet\n      max_msg_sz: 0x40000000\n      gid_tbl_len: 255\n"
       "      active_speed: 25.0 Gbps (32)\n      GID[  3]: ::ffff:10.1.0.2, RoCE v2\n",
       read_listing},
      {"rdma_link", kListing, "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth1\n",
       read_listing},
      {"table", kYaml,
       "apiVersion: nccl-env.io/v1alpha1\nkind: NodeFabric\nmetadata: {name: n}\nobserved:\n  ports:\n"
       "  - {hca: mlx5_0, port: 1}\n  - hca: mlx5_1\n    port: 1\n    gids:\n"
       "    - {index: 3, gid: \"::ffff:10.1.0.2\", type: RoCEv2}\n"
       "  - hca: mlx5_2\n    port: 1\n    gidRows:\n    - 3 RoCEv2 10.1.0.2 dev eth1\n"
       "  interfaces:\n  - {name: eth1, addresses: [10.1.0.2/24]}\n---\n",
       read_table},
      {"manifest", kYaml,
       "# a pod\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: c\n    env:\n"
       "    - {name: A, value: 'x: [y]'}\n    - name: B\n      value: |\n        text: [\n         - a\n"
       "    args: [\"a\", b, {c: d}]\n...\n",
       read_table},
      {"nccl_log", kLog,
       "NCCL version 2.21.5+cuda12.4\nh:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to =mlx5_0\n"
       "h:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB "
       "eth0:10.1.2.3<0>\n"
       "h:1:2 [0] NCCL WARN something\n",
       read_log},
  };
}

class Multiplied : public ::testing::TestWithParam<Reading> {
 protected:
  static Cost read(const Part& part, std::size_t size) {
    const std::string& text = GetParam().text;
    const Cost cost = cost_of([&] { return GetParam().read(multiplied(text, part, size)); });
    const std::string what = text.substr(part.begin, part.end - part.begin);
    EXPECT_TRUE(cost.ended_well) << what << " took " << cost.seconds << " s";
    if (!kSanitized) {
      EXPECT_LT(cost.kibibytes, kKibibytes) << what;
    }
    return cost;
  }
};

// What takes too long at the whole size stands out at a quarter of it, at which all lines are read.
TEST_P(Multiplied, AnyPartCostsTimeInProportionAndBoundedMemory) {
  const Reading& reading = GetParam();
  const bool large = kOptimised && !kSanitized;
  std::vector<CostOfPart> lines;
  for (const Part& part : parts_of(reading.text)) {
    const bool of_lines = large && reading.text[part.end - 1] == '\n';
    const Cost cost = read(part, of_lines ? reading.size / 4 : kSome);
    if (of_lines) lines.emplace_back(cost, part);
  }
  for (const auto counted : {&Cost::seconds, &Cost::kibibytes}) {
    std::ranges::sort(lines, std::greater(), [counted](const CostOfPart& one) { return one.first.*counted; });
    for (std::size_t i = 0; i < std::min<std::size_t>(2, lines.size()); ++i)
      read(lines[i].second, reading.size);
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, Multiplied, ::testing::ValuesIn(readings()),
                         [](const auto& with) { return with.param.name; });

}  // namespace
}  // namespace nccl_env::multiplied_test
