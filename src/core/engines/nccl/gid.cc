// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/engines/nccl/gid.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/text/join.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

// A port's GID table as ibv_query_gid shows it: every index up to the table's length has a GID, and an
// empty slot's is zero.

enum class GidFamily { V4, V6 };

class NcclGidTable {
 public:
  explicit NcclGidTable(const Port& port);

  [[nodiscard]] bool rows_known() const { return rows_known_; }
  [[nodiscard]] bool length_known() const { return length_known_; }
  // Where it is not known: up to the highest known row.
  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] bool has_gaps() const;
  [[nodiscard]] bool has_unknown_types() const;

  // nullptr for an empty slot.
  [[nodiscard]] const GidRow* row(std::int64_t index) const;
  [[nodiscard]] Gid gid(std::int64_t index) const;

  // The indexes above 0 that a search over the whole table has to look at: every row, and one slot of
  // each gap, since a second empty slot after a first changes nothing.
  [[nodiscard]] std::vector<int> candidates() const;

 private:
  std::vector<const GidRow*> rows_;  // by index, each once, all below length_
  std::int64_t length_ = 0;
  bool rows_known_ = false;
  bool length_known_ = false;
};

// getGidAddrFamily: ::ffff:a.b.c.d and ff0e::ffff:a.b.c.d are IPv4, all else (zero too) IPv6.
GidFamily gid_family(const Gid& gid);
// validGid: neither zero nor in fe80::/64.
bool is_valid_gid(const Gid& gid);
// The forwarding identifier of a routable InfiniBand GID (ncclIbExtractFlid).
int gid_flid(const Gid& gid);
// ncclIbRoceGetVersionNum: 1 or 2; nullopt where the type is not known.
std::optional<int> roce_version(const GidRow& row);

NcclGidTable::NcclGidTable(const Port& port)
    : rows_known_(port.gids.has_value()), length_known_(port.gid_table_length.has_value()) {
  if (port.gids) {
    for (const GidRow& row : *port.gids) {
      const bool inside = row.index >= 0 && (!port.gid_table_length || row.index < *port.gid_table_length);
      if (inside && !row.gid.is_zero()) rows_.push_back(&row);
    }
  }
  const auto by_index = [](const GidRow* a, const GidRow* b) { return a->index < b->index; };
  const auto same_index = [](const GidRow* a, const GidRow* b) { return a->index == b->index; };
  std::stable_sort(rows_.begin(), rows_.end(), by_index);
  rows_.erase(std::unique(rows_.begin(), rows_.end(), same_index), rows_.end());
  const std::int64_t known_end = rows_.empty() ? 0 : std::int64_t{rows_.back()->index} + 1;
  length_ = port.gid_table_length ? std::max(*port.gid_table_length, 0) : known_end;
}

bool NcclGidTable::has_gaps() const {
  return !rows_.empty() && static_cast<std::size_t>(rows_.back()->index) + 1 != rows_.size();
}

bool NcclGidTable::has_unknown_types() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const GidRow* row) { return !row->type; });
}

const GidRow* NcclGidTable::row(std::int64_t index) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), index,
                       [](const GidRow* row, std::int64_t wanted) { return row->index < wanted; });
  return found != rows_.end() && (*found)->index == index ? *found : nullptr;
}

Gid NcclGidTable::gid(std::int64_t index) const {
  const GidRow* found = row(index);
  return found == nullptr ? Gid{} : found->gid;
}

std::vector<int> NcclGidTable::candidates() const {
  std::vector<int> indexes;
  std::int64_t next = 1;
  for (const GidRow* row : rows_) {
    if (row->index > next) indexes.push_back(static_cast<int>(next));
    if (row->index >= 1) {
      indexes.push_back(row->index);
      next = std::int64_t{row->index} + 1;
    }
  }
  if (next < length_) indexes.push_back(static_cast<int>(next));
  return indexes;
}

GidFamily gid_family(const Gid& gid) {
  static constexpr std::array<std::uint8_t, 12> kMulticastMapped{0xff, 0x0e, 0, 0, 0,    0,
                                                                 0,    0,    0, 0, 0xff, 0xff};
  const bool multicast = std::equal(kMulticastMapped.begin(), kMulticastMapped.end(), gid.bytes.begin());
  return gid.is_v4_mapped() || multicast ? GidFamily::V4 : GidFamily::V6;
}

bool is_valid_gid(const Gid& gid) {
  static constexpr std::array<std::uint8_t, 8> kLinkLocal{0xfe, 0x80};
  return !gid.is_zero() && !std::equal(kLinkLocal.begin(), kLinkLocal.end(), gid.bytes.begin());
}

int gid_flid(const Gid& gid) {
  return gid.bytes[4] * 256 + gid.bytes[5];
}

std::optional<int> roce_version(const GidRow& row) {
  if (!row.type) return std::nullopt;
  return *row.type == GidType::RoCEv2 ? 2 : 1;
}

// Criteria of NCCL's dynamic GID search: family, range, RoCE version.

struct GidRange {
  IpAddress address;
  int prefix = 0;  // negative: matches nothing, as in NCCL
};

struct GidWish {
  GidFamily family = GidFamily::V4;
  std::int64_t version = 2;
  std::optional<GidRange> range;  // absent: every GID is in range

  // matchGidAddrPrefix: for IPv4 the last four bytes alone are compared.
  [[nodiscard]] bool in_range(const Gid& gid) const;
};

// envIbAddrFamily, envIbAddrRange, NCCL_IB_ROCE_VERSION_NUM. A range that is ignored is explained in
// `notes`; nullopt where reading it kills the process (2.21.5 and 2.22.3, no '/').
std::optional<GidWish> read_gid_wish(const NcclEnv& env, const NcclVersion& version,
                                     std::vector<std::string>& notes);

constexpr std::size_t kRangeBuffer = 128;  // char addrString[128], with its NUL

std::optional<IpAddress> parse_address_of(GidFamily family, std::string_view text) {
  const bool written_as_v6 = text.find(':') != std::string_view::npos;
  const auto address = parse_ip(text);
  if (!address || written_as_v6 != (family == GidFamily::V6)) return std::nullopt;
  return *address;
}

std::string range_note(std::string_view text, std::string_view what) {
  return std::string(variable::kIbAddrRange) + "=" + in_quotes(text) + " " + std::string(what) + ".";
}

std::optional<GidRange> read_range(std::string_view text, GidFamily family, std::vector<std::string>& notes) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    notes.push_back(range_note(text, "has no prefix length, and NCCL ignores it silently"));
    return std::nullopt;
  }
  const auto address = parse_address_of(family, text.substr(0, slash));
  if (!address) {
    notes.push_back(range_note(text, family == GidFamily::V4 ? "is not an IPv4 range, and NCCL ignores it"
                                                             : "is not an IPv6 range, and NCCL ignores it"));
    return std::nullopt;
  }
  GidRange range{*address, nccl_atoi(text.substr(slash + 1))};
  if (range.prefix > (family == GidFamily::V4 ? 32 : 128)) {
    notes.push_back(range_note(text, "has too long a prefix, and NCCL ignores it"));
    return std::nullopt;
  }
  if (text.find(',') != std::string_view::npos)
    notes.push_back(range_note(text, "is a list, of which NCCL reads only the first range"));
  if (range.prefix < 0) notes.push_back(range_note(text, "has a negative prefix length and matches nothing"));
  return range;
}

bool GidWish::in_range(const Gid& gid) const {
  if (!range || range->prefix <= 0) return !range || range->prefix == 0;
  const std::size_t first = family == GidFamily::V4 ? 12 : 0;
  const auto bits = static_cast<std::size_t>(range->prefix);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const std::size_t byte = first + bit / 8;
    const unsigned mask = 0x80U >> (bit % 8);
    if (((gid.bytes[byte] ^ range->address.bytes[byte]) & mask) != 0) return false;
  }
  return true;
}

std::optional<GidWish> read_gid_wish(const NcclEnv& env, const NcclVersion& version,
                                     std::vector<std::string>& notes) {
  GidWish wish;
  wish.family =
      nccl_getenv_or_empty(env, variable::kIbAddrFamily) == "AF_INET6" ? GidFamily::V6 : GidFamily::V4;
  wish.version = static_cast<int>(nccl_parameter(env, variable::kIbRoceVersionNum, 2));
  const std::string_view text = nccl_getenv_or_empty(env, variable::kIbAddrRange).substr(0, kRangeBuffer - 1);
  if (text.empty()) return wish;
  if (version < nccl_since::kRangeWithoutSlash && text.find('/') == std::string_view::npos) {
    notes.push_back(range_note(text, "has no prefix length, which crashes NCCL 2.21.5 and 2.22.3"));
    return std::nullopt;
  }
  wish.range = read_range(text, wish.family, notes);
  return wish;
}

}  // namespace

namespace {

using Sentences = std::vector<std::string>;

constexpr std::string_view kLengthNotKnown =
    "The GID table's length is not known, and is taken to end at the highest known GID.";

std::string index_text(std::int64_t index) {
  return "GID index " + std::to_string(index);
}

// Says what is wrong with the index for RoCE traffic; "" where nothing is known to be.
std::string flaw_of(const NcclGidTable& table, std::int64_t index) {
  const GidRow* row = table.row(index);
  if (row == nullptr) {
    const bool maybe_outside = !table.length_known() && index >= table.length();
    return maybe_outside ? "is empty or outside the table, so that connections fail"
                         : "is empty, so that connections fail";
  }
  const bool is_v1 = roce_version(*row) == 1;
  if (!is_valid_gid(row->gid)) return is_v1 ? "is link-local and RoCE v1" : "is link-local";
  return is_v1 ? "is RoCE v1" : "";
}

// ibv_query_gid with this index, then ah_attr.grh.sgid_index, which has eight bits.
std::optional<int> use_literal(const NcclGidTable& table, int index, bool roce, std::string_view source,
                               Sentences& notes) {
  const std::string what = index_text(index) + " (" + std::string(source) + ")";
  if (index < 0 || (table.length_known() && index >= table.length())) {
    notes.push_back(what + " is outside the table, and the first connection fails.");
    return std::nullopt;
  }
  if (!roce) return index;
  if (index > 255) {
    notes.push_back(what + " is cut to eight bits: " + std::to_string(index & 255) + " is used.");
    index &= 255;
  }
  const std::string flaw = table.rows_known() ? flaw_of(table, index) : std::string{};
  if (!flaw.empty()) notes.push_back(what + " " + flaw + ".");
  return index;
}

// The head of ncclIbGetGidIndex from 2.22.3 on: a routable GID if the port has one.
std::optional<int> infiniband_index(const NcclGidTable& table, const NcclEnv& env, Sentences& notes) {
  const auto routable = static_cast<int>(nccl_parameter(env, "NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1));
  if (routable < 0) {
    notes.push_back("NCCL_IB_ROUTABLE_FLID_GID_INDEX is negative, and the first connection fails.");
    return std::nullopt;
  }
  if (table.length_known() && routable >= table.length()) return 0;
  if (!table.rows_known()) {
    notes.push_back("The GIDs are not known, so it is open whether NCCL takes the routable one or index 0.");
    return std::nullopt;
  }
  return gid_flid(table.gid(routable)) != 0 ? routable : 0;
}

enum class Verdict { Keep, Move, Fail, Unknown };

// The second branch of ncclUpdateGidIndex: both types are read from sysfs.
Verdict compare_versions(const NcclGidTable& table, int current, const GidRow& candidate, std::int64_t wanted,
                         const NcclVersion& version) {
  const GidRow* current_row = table.row(current);
  if (current_row == nullptr && version < nccl_since::kUnreadableTypeSkipped) return Verdict::Fail;
  const auto candidate_version = roce_version(candidate);
  if (candidate_version && *candidate_version != wanted) return Verdict::Keep;
  const bool current_valid = current_row != nullptr && is_valid_gid(current_row->gid);
  const auto current_version = current_row == nullptr ? std::nullopt : roce_version(*current_row);
  if (current_valid && current_version == wanted)
    return Verdict::Keep;  // also if the candidate's type is not known: neither type would move it
  if (!candidate_version || (current_valid && !current_version)) return Verdict::Unknown;
  return Verdict::Move;
}

// ncclUpdateGidIndex.
Verdict step_to(const NcclGidTable& table, int current, int candidate, const GidWish& wish,
                const NcclVersion& version) {
  const Gid gid = table.gid(candidate);
  const bool fits = gid_family(gid) == wish.family && wish.in_range(gid);
  if (!fits) return Verdict::Keep;
  if (gid_family(gid) != gid_family(table.gid(current)))
    return Verdict::Move;  // even to a GID that is not valid or of the wrong version
  const GidRow* row = table.row(candidate);
  if (row == nullptr || !is_valid_gid(row->gid)) return Verdict::Keep;
  return compare_versions(table, current, *row, wish.version, version);
}

std::string unfit_note(const NcclGidTable& table, int index, const GidWish& wish) {
  const Gid gid = table.gid(index);
  std::string flaw = flaw_of(table, index);
  const GidRow* row = table.row(index);
  if (row != nullptr && wish.version == 1 && is_valid_gid(row->gid)) flaw.clear();
  if (flaw.empty() && gid_family(gid) != wish.family) {
    flaw = wish.family == GidFamily::V4 ? "is not IPv4 (NCCL_IB_ADDR_FAMILY=AF_INET6 would ask for IPv6)"
                                        : "is not IPv6";
  }
  if (flaw.empty() && !wish.in_range(gid)) flaw = "is outside NCCL_IB_ADDR_RANGE";
  if (flaw.empty() && row != nullptr && row->type && roce_version(*row) != wish.version)
    flaw = "is not of the RoCE version asked for";
  return flaw.empty() ? flaw
                      : "NCCL's search silently ends at " + index_text(index) + ", which " + flaw + ".";
}

void note_pod_failure(const NcclGidTable& table, const NcclVersion& version, Sentences& notes) {
  if (version < nccl_since::kUnreadableTypeSkipped && (table.has_gaps() || table.has_unknown_types())) {
    notes.push_back(
        "NCCL 2.21 to 2.25 fails the connection when it can't read the type of a GID, as in pods whose GIDs "
        "lie in several network namespaces; there an explicit index is the only way.");
  }
}

// ncclIbGetGidIndex without a literal.
std::optional<int> search_index(const NcclGidTable& table, const NcclEnv& env, const NcclVersion& version,
                                bool roce, Sentences& notes, bool& needs_rows) {
  const auto wish = read_gid_wish(env, version, notes);
  if (!wish) return std::nullopt;
  if (!roce && wish->family == GidFamily::V4) return 0;  // no GID of an InfiniBand port is IPv4
  needs_rows = !table.rows_known();
  if (needs_rows) return std::nullopt;
  if (roce && !table.length_known()) notes.emplace_back(kLengthNotKnown);
  if (roce) note_pod_failure(table, version, notes);
  int current = 0;
  for (const int candidate : table.candidates()) {
    const Verdict step = step_to(table, current, candidate, *wish, version);
    if (step == Verdict::Fail) {
      notes.push_back("NCCL reads the type of the empty " + index_text(current) +
                      ", and the connection fails.");
      return std::nullopt;
    }
    if (step == Verdict::Unknown) {
      notes.push_back("NCCL's choice depends on the type of " + index_text(current) + " or " +
                      std::to_string(candidate) + ", which is not known.");
      return std::nullopt;
    }
    current = step == Verdict::Move ? candidate : current;
  }
  if (const std::string note = unfit_note(table, current, *wish); roce && !note.empty())
    notes.push_back(note);
  return current;
}

std::optional<int> choose(const Port& port, const NcclGidTable& table, const NcclEnv& env,
                          const NcclVersion& version, Sentences& notes, bool& needs_rows) {
  const auto link_layer = link_layer_of(port);
  const bool roce = link_layer != LinkLayer::InfiniBand;
  const bool dynamic = version >= nccl_since::kDynamicGid;
  if (version >= nccl_since::kInfiniBandOwnGid && !roce) return infiniband_index(table, env, notes);
  if (version >= nccl_since::kInfiniBandOwnGid && !link_layer) {
    notes.push_back("The link layer is not known, and with it which rule NCCL applies to find the GID.");
    return std::nullopt;
  }
  // NCCL stores the parameter's 64 bits in an int.
  const auto index = static_cast<int>(nccl_parameter(env, variable::kIbGidIndex, dynamic ? -1 : 0));
  if (index >= 0) {
    const bool set = !nccl_getenv_or_empty(env, variable::kIbGidIndex).empty();
    return use_literal(table, index, roce, set ? "from NCCL_IB_GID_INDEX" : "the default before 2.21", notes);
  }
  if (!dynamic) {
    notes.push_back(
        "NCCL before 2.21 takes a negative NCCL_IB_GID_INDEX literally, and the first connection fails.");
    return std::nullopt;
  }
  return search_index(table, env, version, roce, notes, needs_rows);
}

// Says why the index carries no traffic beyond the port's own link; nothing where that is not known.
std::optional<NcclFault> fault_of(const Port& port, const NcclGidTable& table, const NcclEnv& env,
                                  const NcclVersion& version, std::optional<int> index) {
  if (link_layer_of(port) != LinkLayer::Ethernet) return std::nullopt;
  const bool by_variable = nccl_parameter(env, variable::kIbGidIndex, -1) >= 0;
  if (!index) return by_variable ? std::optional(NcclFault::EmptyIndex) : std::nullopt;  // out of the table
  if (!table.rows_known()) return std::nullopt;
  const GidRow* row = table.row(*index);
  if (row == nullptr) return NcclFault::EmptyIndex;
  const bool has_v2 = std::any_of(port.gids->begin(), port.gids->end(), [](const GidRow& other) {
    return roce_version(other) == 2 && is_valid_gid(other.gid);
  });
  if (!is_valid_gid(row->gid)) {
    const bool by_default =
        version < nccl_since::kDynamicGid && nccl_getenv_or_empty(env, variable::kIbGidIndex).empty();
    if (!has_v2 || by_variable) return NcclFault::LinkLocal;
    return by_default ? NcclFault::OldDefault : NcclFault::OtherFamily;
  }
  return has_v2 && roce_version(*row) == 1 ? std::optional(NcclFault::RoceV1) : std::nullopt;
}

}  // namespace

NcclGid nccl_gid_index(const Port& port, const NcclEnv& env, const NcclVersion& version) {
  NcclGid gid;
  Sentences notes;
  const NcclGidTable table(port);
  gid.index = choose(port, table, env, version, notes, gid.needs_rows);
  if (gid.index && table.length_known() && table.length() == 0) {
    notes.assign(1, "The GID table has no entries, and the first connection fails.");
    gid.index.reset();
  }
  gid.fault = fault_of(port, table, env, version, gid.index);
  if (gid.fault) std::erase(notes, kLengthNotKnown);    // the search has passed better rows
  if (gid.fault == NcclFault::RoceV1 && notes.empty())  // its search found what it was told to look for
    notes.push_back(index_text(*gid.index) + " is RoCE v1.");
  gid.note = join(notes, " ");
  return gid;
}

}  // namespace nccl_env
