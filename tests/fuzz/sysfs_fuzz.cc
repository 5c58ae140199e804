// SPDX-License-Identifier: Apache-2.0
// Any contents of sysfs: a table that can be written and read again, with values that NCCL takes, or none.
// The input is lines PATH=CONTENT below class/infiniband, PATH>TARGET for a link (from the root on), PATH!for
// a read that fails; and interfaces as @INDEX NAME MASTER KIND ADDRESS/PREFIX.
#include <algorithm>
#include <charconv>

#include "fuzz/fuzz.h"
#include "fuzz/samples.h"
#include "nccl_env/core/choose/summary.h"
#include "nccl_env/core/decide/start.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/node/make_table.h"
#include "node/sysfs_tree.h"

namespace nccl_env::fuzz::sysfs_fuzz {
namespace {

// Names are compared one by one in the tree: this keeps a run short.
constexpr int kMaxLines = 300;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (words.size() < 5) {
    const auto blank = line.find(' ');
    words.push_back(line.substr(0, blank));
    if (blank == line.npos) break;
    line.remove_prefix(blank + 1);
  }
  words.resize(5);
  return words;
}

void add_netdev(std::string_view line, node::Netdevs& netdevs) {
  const auto words = words_of(line);
  node::Netdev netdev;
  std::from_chars(words[0].data(), words[0].data() + words[0].size(), netdev.index);
  netdev.name = words[1];
  std::from_chars(words[2].data(), words[2].data() + words[2].size(), netdev.master);
  netdev.kind = words[3];
  netdev.up = true;
  netdev.addresses.emplace();
  if (const auto cidr = parse_cidr(words[4])) netdev.addresses->push_back({cidr->address, cidr->prefix});
  // The kernel gives each index and each name once.
  if (netdev.index != 0 && !netdevs.find(netdev.index) && !netdevs.find(netdev.name))
    netdevs.all.push_back(std::move(netdev));
}

struct Inputs {
  tests::SysfsTree tree;
  node::Netdevs netdevs;
};

Inputs read_inputs(std::string_view input) {
  Inputs inputs;
  for (int lines = 0; lines < kMaxLines && !input.empty(); ++lines) {
    const auto end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (line.starts_with('@')) {
      add_netdev(line.substr(1), inputs.netdevs);
      continue;
    }
    const auto mark = line.find_first_of("=>!");
    if (mark == line.npos || mark == 0) continue;
    const std::string path = "class/infiniband/" + std::string(line.substr(0, mark));
    const std::string rest(line.substr(mark + 1));
    if (line[mark] == '=') inputs.tree.file(path, rest);
    if (line[mark] == '>') inputs.tree.link(path, rest);
    if (line[mark] == '!') inputs.tree.invalid.insert(path);
  }
  return inputs;
}

void check_table(const NodeFabric& table) {
  const auto written = to_json(table, summarize(table, sample_context().now));
  const auto again = parse_node_fabric(unordered(written));
  require(again.ok(), "what is read from sysfs can be published");
  require(to_json(*again) == to_json(table), "and is read again unchanged");
  for (const auto& policy : sample_policies()) {
    const Resolution resolution = resolve_in_pod(*policy, table, true, sample_context().now);
    const auto conf = render_conf(resolution.values);
    require(conf.ok(), "every value can stand in nccl.conf");
    require(
        static_cast<std::size_t>(std::count(conf->begin(), conf->end(), '\n')) == resolution.values.size(),
        "one line for each value");
  }
}

}  // namespace

FUZZ_TARGET(sysfs) {
  Inputs inputs = read_inputs(input);
  node::Problems problems;
  const auto devices = node::read_devices(inputs.tree, problems);
  for (const bool live : {true, false}) {
    inputs.netdevs.live = live;
    NodeFabric table = node::make_table({devices, inputs.netdevs, nullptr, {}, live}, problems);
    table.name = "node-a";
    check_table(table);
  }
}

}  // namespace nccl_env::fuzz::sysfs_fuzz
