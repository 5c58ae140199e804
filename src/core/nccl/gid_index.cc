// SPDX-License-Identifier: Apache-2.0
#include "nccl/changes.h"
#include "nccl/choice.h"
#include "nccl/environment.h"
#include "nccl/gid_search.h"
#include "nccl/gid_table.h"
#include "nccl_env/core/fabric/port_facts.h"
#include "nccl_env/core/nccl/rules.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {
namespace {

using Notes = std::vector<std::string>;

std::string index_text(std::int64_t index) {
  return "GID index " + std::to_string(index);
}

// What is wrong with the index for RoCE traffic; empty where nothing is known to be.
std::string flaw_of(const NcclGidTable& table, std::int64_t index) {
  const GidRow* row = table.row(index);
  if (row == nullptr) {
    const bool maybe_outside = !table.length_known() && index >= table.length();
    return maybe_outside ? "is empty or outside the table, so that connections fail"
                         : "is empty, so that connections fail";
  }
  const bool is_v1 = roce_version(*row) == 1;
  if (!is_valid_gid(row->gid)) {
    return is_v1 ? "is link-local and RoCE v1" : "is link-local";
  }
  return is_v1 ? "is RoCE v1" : "";
}

// ibv_query_gid with this index, then ah_attr.grh.sgid_index, which has eight bits.
std::optional<int> use_literal(const NcclGidTable& table, int index, bool roce, std::string_view source,
                               Notes& notes) {
  const std::string what = index_text(index) + " (" + std::string(source) + ")";
  if (index < 0 || (table.length_known() && index >= table.length())) {
    notes.push_back(what + " is outside the table, and the first connection fails.");
    return std::nullopt;
  }
  if (!roce) {
    return index;
  }
  if (index > 255) {
    notes.push_back(what + " is cut to eight bits: " + std::to_string(index & 255) + " is used.");
    index &= 255;
  }
  const std::string flaw = table.rows_known() ? flaw_of(table, index) : std::string{};
  if (!flaw.empty()) {
    notes.push_back(what + " " + flaw + ".");
  }
  return index;
}

// The head of ncclIbGetGidIndex from 2.22.3 on: a routable GID if the port has one.
std::optional<int> infiniband_index(const NcclGidTable& table, const NcclEnv& env, Notes& notes) {
  const auto routable = static_cast<int>(nccl_parameter(env, "NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1));
  if (routable < 0) {
    notes.push_back("NCCL_IB_ROUTABLE_FLID_GID_INDEX is negative, and the first connection fails.");
    return std::nullopt;
  }
  if (table.length_known() && routable >= table.length()) {
    return 0;
  }
  if (!table.rows_known()) {
    notes.push_back("The GIDs are not known, so it is open whether NCCL takes the routable one or index 0.");
    return std::nullopt;
  }
  return gid_flid(table.gid(routable)) != 0 ? routable : 0;
}

enum class Step { Keep, Move, Fail, Unknown };

// The second branch of ncclUpdateGidIndex: both types are read from sysfs.
Step compare_versions(const NcclGidTable& table, int current, const GidRow& candidate, std::int64_t wanted,
                      const NcclVersion& version) {
  const GidRow* current_row = table.row(current);
  if (current_row == nullptr && version < nccl_since::kUnreadableTypeSkipped) {
    return Step::Fail;
  }
  const auto candidate_version = roce_version(candidate);
  if (candidate_version && *candidate_version != wanted) {
    return Step::Keep;
  }
  const bool current_valid = current_row != nullptr && is_valid_gid(current_row->gid);
  const auto current_version = current_row == nullptr ? std::nullopt : roce_version(*current_row);
  if (current_valid && current_version == wanted) {
    return Step::Keep;  // also if the candidate's type is not known: it moves only to another version
  }
  if (!candidate_version || (current_valid && !current_version)) {
    return Step::Unknown;
  }
  return Step::Move;
}

// ncclUpdateGidIndex.
Step step_to(const NcclGidTable& table, int current, int candidate, const GidWish& wish,
             const NcclVersion& version) {
  const Gid gid = table.gid(candidate);
  const bool fits = gid_family(gid) == wish.family && wish.in_range(gid);
  if (!fits) {
    return Step::Keep;
  }
  if (gid_family(gid) != gid_family(table.gid(current))) {
    return Step::Move;  // neither valid nor of the right version, perhaps
  }
  const GidRow* row = table.row(candidate);
  if (row == nullptr || !is_valid_gid(row->gid)) {
    return Step::Keep;
  }
  return compare_versions(table, current, *row, wish.version, version);
}

std::string unfit_note(const NcclGidTable& table, int index, const GidWish& wish) {
  const Gid gid = table.gid(index);
  std::string flaw = flaw_of(table, index);
  const GidRow* row = table.row(index);
  if (row != nullptr && wish.version == 1 && is_valid_gid(row->gid)) {
    flaw.clear();
  }
  if (flaw.empty() && gid_family(gid) != wish.family) {
    flaw = wish.family == GidFamily::V4 ? "is not IPv4 (NCCL_IB_ADDR_FAMILY=AF_INET6 would ask for IPv6)"
                                        : "is not IPv6";
  }
  if (flaw.empty() && !wish.in_range(gid)) {
    flaw = "is outside NCCL_IB_ADDR_RANGE";
  }
  if (flaw.empty() && row != nullptr && row->type && roce_version(*row) != wish.version) {
    flaw = "is not of the RoCE version asked for";
  }
  return flaw.empty() ? flaw
                      : "NCCL's search silently ends at " + index_text(index) + ", which " + flaw + ".";
}

void note_pod_failure(const NcclGidTable& table, const NcclVersion& version, Notes& notes) {
  if (version < nccl_since::kUnreadableTypeSkipped && (table.has_gaps() || table.has_unknown_types())) {
    notes.push_back(
        "NCCL 2.21 to 2.25 fails the connection when it can't read the type of a GID, as in pods whose GIDs "
        "lie in several network namespaces; there an explicit index is the only way.");
  }
}

// ncclIbGetGidIndex without a literal.
std::optional<int> search_index(const NcclGidTable& table, const NcclEnv& env, const NcclVersion& version,
                                bool roce, Notes& notes) {
  const auto wish = read_gid_wish(env, version, notes);
  if (!wish) {
    return std::nullopt;
  }
  if (!roce && wish->family == GidFamily::V4) {
    return 0;  // no GID of an InfiniBand port is IPv4
  }
  if (!table.rows_known()) {
    notes.emplace_back(kGidsNotKnown);
    return std::nullopt;
  }
  if (roce && !table.length_known()) {
    notes.push_back("The GID table's length is not known, and is taken to end at the highest known GID.");
  }
  if (roce) {
    note_pod_failure(table, version, notes);
  }
  int current = 0;
  for (const int candidate : table.candidates()) {
    const Step step = step_to(table, current, candidate, *wish, version);
    if (step == Step::Fail) {
      notes.push_back("NCCL reads the type of the empty " + index_text(current) +
                      ", and the connection fails.");
      return std::nullopt;
    }
    if (step == Step::Unknown) {
      notes.push_back("NCCL's choice depends on the type of " + index_text(current) + " or " +
                      std::to_string(candidate) + ", which is not known.");
      return std::nullopt;
    }
    current = step == Step::Move ? candidate : current;
  }
  if (const std::string note = unfit_note(table, current, *wish); roce && !note.empty()) {
    notes.push_back(note);
  }
  return current;
}

std::optional<int> choose(const Port& port, const NcclGidTable& table, const NcclEnv& env,
                          const NcclVersion& version, Notes& notes) {
  const auto link_layer = link_layer_of(port);
  const bool roce = link_layer != LinkLayer::InfiniBand;
  const bool dynamic = version >= nccl_since::kDynamicGid;
  if (version >= nccl_since::kInfiniBandOwnGid && !roce) {
    return infiniband_index(table, env, notes);
  }
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
  return search_index(table, env, version, roce, notes);
}

}  // namespace

std::optional<int> nccl_gid_index(const Port& port, const NcclEnv& env, const NcclVersion& version,
                                  std::string* note) {
  Notes notes;
  const NcclGidTable table(port);
  auto index = choose(port, table, env, version, notes);
  if (index && table.length_known() && table.length() == 0) {
    notes.assign(1, "The GID table has no entries, and the first connection fails.");
    index.reset();
  }
  if (note != nullptr) {
    note->clear();
    for (const std::string& sentence : notes) {
      *note += (note->empty() ? "" : " ") + sentence;
    }
  }
  return index;
}

}  // namespace nccl_env
