// SPDX-License-Identifier: Apache-2.0
// show_gids: a table of the valid GID rows, one line each:
//   DEV PORT INDEX GID [IPv4] VER [DEV]
// The columns are tab separated and collapse to blanks in copies, so that the empty IPv4 column of
// link-local and IPv6 rows vanishes. The netdev is empty on InfiniBand and iWARP.
#include <algorithm>

#include "reader.h"
#include "values.h"

namespace nccl_env::listing {
namespace {

constexpr std::string_view kCount = "n_gids_found=";
bool is_header(const Line& line) {
  return line.word(0) == "DEV" && line.word(1) == "PORT" && line.word(2) == "INDEX" && line.word(3) == "GID";
}

bool is_rule(const Line& line) {
  return line.text.find_first_not_of("- ") == std::string::npos;
}

bool is_count(const Line& line) {
  return line.text.starts_with(kCount);
}

bool starts_as_row(const Line& line) {
  const auto gid = line.word(3);
  return read_number(line.word(1), kMaxPortNumber) && read_number(line.word(2), kMaxGidIndex) &&
         std::count(gid.begin(), gid.end(), ':') >= 2;
}

// Returns what is wrong; "" if all could be read.
std::string read_columns(const Line& line, Port& port, RowFacts& row) {
  const auto refuse = [](const std::string& what) {
    return "expected DEV PORT INDEX GID [IPv4] v1|v2 [netdev]: " + what;
  };
  const auto number = read_port_number(line.word(1)), index = read_number(line.word(2), kMaxGidIndex);
  const auto gid = parse_gid(line.word(3));
  if (!is_hca_name(line.word(0))) return refuse(quote(line.word(0)) + " is not a device name");
  if (!number) return refuse(quote(line.word(1)) + " is not a port number");
  if (!index) return refuse(quote(line.word(2)) + " is not a GID index");
  if (!gid) return refuse(quote(line.word(3)) + " is not a GID");
  std::size_t at = 4;
  if (const auto shown = line.word(at); shown.find('.') != std::string_view::npos) {
    const auto address = parse_ip(shown);
    if (!address.ok() || !address->is_v4()) return refuse(quote(shown) + " is not an IPv4 address");
    if (*address != gid->address())
      return "the IPv4 column says " + format_ip(*address) + ", but the GID is " + format_gid(*gid) + " (" +
             format_ip(gid->address()) + ")";
    ++at;
  }
  const auto version = line.word(at), netdev = line.word(at + 1);
  if (version.empty()) return refuse("the row ends before v1 or v2");
  if (version != "v1" && version != "v2") return refuse(quote(version) + " is not v1 or v2");
  if (line.words.size() > at + 2) return refuse(quote(line.word(at + 2)) + " is one word too many");
  if (!netdev.empty() && !is_plain_netdev_name(netdev))
    return refuse(quote(netdev) + " is not a netdev name");
  port.hca = line.word(0);
  port.number = *number;
  row = {line.number, {*index, *gid, {}, {}, {}}, version == "v1" && netdev.empty()};
  if (!netdev.empty()) row.row.netdev = netdev;
  if (!row.not_v2) row.row.type = version == "v2" ? GidType::RoCEv2 : GidType::RoCEv1;
  return {};
}

class ShowGidsReader : public Reader {
 public:
  using Reader::Reader;

  [[nodiscard]] bool begins(const Line& line) const override {
    return is_header(line) || is_count(line) || starts_as_row(line);
  }

  bool take(const Line& line) override {
    if (is_header(line)) {
      rows_ = 0;
    } else if (is_count(line)) {
      check_count(line);
    } else if (starts_as_row(line) || (is_numbered_device(line.word(0)) && is_port_column(line.word(1)))) {
      ++rows_;
      read_row(line);
    } else {
      return is_rule(line);
    }
    return true;
  }

 private:
  void check_count(const Line& line) {
    const auto count = read_number(std::string_view(line.text).substr(kCount.size()), 1000000);
    if (!count) {
      facts_.problem(line.number, expected("n_gids_found=NUMBER", line.text));
    } else if (*count != rows_) {
      facts_.problem(line.number, "expected as many rows as n_gids_found=" + std::to_string(*count) +
                                      " says, but " + std::to_string(rows_) + " were read");
    }
    rows_ = 0;
  }

  void read_row(const Line& line) {
    PortFacts port;
    RowFacts row;
    const std::string problem = read_columns(line, port.port, row);
    if (!problem.empty()) return facts_.problem(line.number, problem);
    port.line = line.number;
    PortFacts* told = facts_.find(port.port.hca, port.port.number);
    if (!told) told = facts_.add(std::move(port));
    if (!told) return;
    if (!row.not_v2) told->port.link_layer = LinkLayer::Ethernet;
    facts_.add_row(*told, std::move(row));
  }

  int rows_ = 0;  // since the header or the last count
};

}  // namespace

std::unique_ptr<Reader> make_show_gids_reader(Facts& facts) {
  return std::make_unique<ShowGidsReader>(facts);
}

}  // namespace nccl_env::listing
