// SPDX-License-Identifier: Apache-2.0
// ibdev2netdev: one line per port,
//   DEV port N ==> NETDEV (Up|Down)
// Up and Down are the netdev's, and say nothing of the port. Older versions draw the arrow as <===>.
#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

constexpr std::string_view kForm = "expected DEVICE port N ==> NETDEV (Up|Down): ";

bool is_arrow(std::string_view word) {
  return word == "==>" || word == "<===>";
}

bool holds_port_and_arrow(const Line& line) {
  bool port = false;
  for (const auto word : line.words) {
    if (word == "port") port = true;
    if (port && is_arrow(word)) return true;
  }
  return false;
}

class Ibdev2netdevReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override { return holds_port_and_arrow(line); }

  bool take(const Line& line, Facts& facts) override {
    if (!begins(line)) return false;
    const auto refuse = [&](const std::string& what) {
      facts.problem(line.place, std::string(kForm) + what);
      return true;
    };
    const auto number = read_port_number(line.word(2));
    if (!is_hca_name(line.word(0))) return refuse(quote(line.word(0)) + " is not a device name");
    if (line.word(1) != "port") return refuse("a device name, then port (the output without -v)");
    if (!number) return refuse(quote(line.word(2)) + " is not a port number");
    if (!is_arrow(line.word(3))) return refuse(quote(line.word(3)) + " is not ==>");
    if (!is_plain_netdev_name(line.word(4))) return refuse(quote(line.word(4)) + " is not a netdev name");
    if (line.words.size() != 6 || (line.word(5) != "(Up)" && line.word(5) != "(Down)")) {
      return refuse("the line does not end in (Up) or (Down)");
    }
    PortFacts port;
    port.hca = line.word(0);
    port.number = *number;
    port.place = line.place;
    port.netdev = {std::string(line.word(4)), line.place};
    facts.add(std::move(port));
    return true;
  }
};

}  // namespace

std::unique_ptr<Reader> make_ibdev2netdev_reader() {
  return std::make_unique<Ibdev2netdevReader>();
}

}  // namespace nccl_env::listing
