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
constexpr std::string_view kColumns = "expected DEV PORT INDEX GID [IPv4] v1|v2 [netdev]: ";

bool is_header(const Line& line) {
  return line.word(0) == "DEV" && line.word(1) == "PORT" && line.word(2) == "INDEX" && line.word(3) == "GID";
}

bool is_rule(const Line& line) {
  return line.text.find_first_not_of("- ") == std::string::npos;
}

bool is_count(const Line& line) {
  return line.text.compare(0, kCount.size(), kCount) == 0;
}

bool starts_as_row(const Line& line) {
  const auto gid = line.word(3);
  return read_number(line.word(1), kMaxPortNumber) && read_number(line.word(2), kMaxGidIndex) &&
         std::count(gid.begin(), gid.end(), ':') >= 2;
}

class ShowGidsReader : public Reader {
 public:
  [[nodiscard]] bool begins(const Line& line) const override {
    return is_header(line) || is_count(line) || starts_as_row(line);
  }

  bool take(const Line& line, Facts& facts) override {
    if (is_header(line)) {
      open(line);
    } else if (is_count(line)) {
      check_count(line, facts);
    } else if (starts_as_row(line) || (is_numbered_device(line.word(0)) && is_port_column(line.word(1)))) {
      if (rows_ == 0 && !has_header_) first_ = line.place;
      ++rows_;
      read_row(line, facts);
    } else {
      return is_rule(line);
    }
    return true;
  }

  void finish(Facts& /*facts*/) override {
    rows_ = 0;
    has_header_ = false;
  }

 private:
  void open(const Line& line) {
    rows_ = 0;
    has_header_ = true;
    first_ = line.place;
  }

  void check_count(const Line& line, Facts& facts) {
    const std::string_view number = std::string_view(line.text).substr(kCount.size());
    const auto count = read_number(number, 1000000);
    if (!count) {
      facts.problem(line.place, "expected n_gids_found=NUMBER, not " + quote(line.text));
    } else if (*count != rows_) {
      std::string found = std::to_string(rows_) + " rows were read";
      if (rows_ > 0 || has_header_) found += " since " + to_string(first_);
      facts.problem(line.place, "expected as many rows as n_gids_found=" + std::to_string(*count) +
                                    " says, but " + found);
    }
    finish(facts);
  }

  void read_row(const Line& line, Facts& facts) const;
  static bool read_tail(const Line& line, PortFacts& port, RowFacts& row, Facts& facts);

  int rows_ = 0;  // since the header, the first row or the last count
  bool has_header_ = false;
  Place first_;
};

void ShowGidsReader::read_row(const Line& line, Facts& facts) const {
  const auto refuse = [&](const std::string& what) {
    facts.problem(line.place, std::string(kColumns) + what);
  };
  const auto number = read_port_number(line.word(1));
  const auto index = read_number(line.word(2), kMaxGidIndex);
  const std::string gid_text(line.word(3));
  if (!is_hca_name(line.word(0))) return refuse(quote(line.word(0)) + " is not a device name");
  if (!number) return refuse(quote(line.word(1)) + " is not a port number");
  if (!index) return refuse(quote(line.word(2)) + " is not a GID index");
  const auto gid = parse_gid(gid_text);
  if (gid_text.find(':') == gid_text.npos || !gid.ok()) return refuse(quote(gid_text) + " is not a GID");

  PortFacts port;
  port.hca = line.word(0);
  port.number = *number;
  port.place = line.place;
  port.table = {"show_gids", first_};
  RowFacts row;
  row.index = *index;
  row.gid = {gid.value(), line.place};
  if (!read_tail(line, port, row, facts)) return;
  port.rows.push_back(std::move(row));
  facts.add(std::move(port));
}

// The columns after the GID.
bool ShowGidsReader::read_tail(const Line& line, PortFacts& port, RowFacts& row, Facts& facts) {
  const auto refuse = [&](const std::string& what) {
    facts.problem(line.place, std::string(kColumns) + what);
    return false;
  };
  std::size_t at = 4;
  if (line.word(at).find('.') != std::string_view::npos) {
    const auto address = parse_ip(line.word(at));
    if (!address.ok() || !address->is_v4()) return refuse(quote(line.word(at)) + " is not an IPv4 address");
    if (*address != row.gid.value.address()) {
      facts.problem(line.place, "the IPv4 column says " + format_ip(*address) + ", but the GID is " +
                                    describe(row.gid.value) + " (" + format_ip(row.gid.value.address()) +
                                    ")");
      return false;
    }
    ++at;
  }
  const auto version = line.word(at);
  const auto netdev = line.word(at + 1);
  if (version != "v1" && version != "v2") {
    return refuse(version.empty() ? "the row ends before v1 or v2" : quote(version) + " is not v1 or v2");
  }
  if (line.words.size() > at + 2) return refuse(quote(line.word(at + 2)) + " is one word too many");
  if (!netdev.empty() && !is_plain_netdev_name(netdev))
    return refuse(quote(netdev) + " is not a netdev name");
  if (!netdev.empty()) row.netdev = {std::string(netdev), line.place};
  if (version == "v2" || row.netdev) {
    row.type = {version == "v2" ? GidType::RoCEv2 : GidType::RoCEv1, line.place};
    port.link_layer = {LinkLayer::Ethernet, line.place};
  } else {
    row.not_v2 = line.place;
  }
  return true;
}

}  // namespace

std::unique_ptr<Reader> make_show_gids_reader() {
  return std::make_unique<ShowGidsReader>();
}

}  // namespace nccl_env::listing
