// SPDX-License-Identifier: Apache-2.0
// The lines of a test, field by field.
#pragma once

#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/proof/proof.h"

namespace nccl_env::described {
namespace proof {

// The names of all enumerators, in their order.
template <class Enum, class... Names>
consteval auto words(Names... names) {
  int at = 0;
  return std::array{Words<Enum>{names, static_cast<Enum>(at++)}...};
}

inline constexpr Int kPlace{0, kMaxProofMembers - 1}, kRail{0, kMaxProofRails - 1}, kLink{0, 1 << 30},
    kError{0, kMaxErrorNumber}, kMtu{0, 65535}, kCount{0, kMaxProofMembers};

}  // namespace proof

template <>
inline constexpr auto words_of<ProofStep> = proof::words<ProofStep>("answer", "open", "port", "row", "memory",
                                                                    "queue", "connect", "packet", "packets",
                                                                    "bytes");
template <>
inline constexpr auto words_of<ProofEnd> = proof::words<ProofEnd>("from", "to", "both");
template <>
inline constexpr auto words_of<RailsBy> = proof::words<RailsBy>("network", "name", "place", "cross");

template <>
inline constexpr auto fields_of<ProofRail> =
    std::tuple{Field{"hca", &ProofRail::hca, table::kHca, "Name of the device."},
               Field{"port", &ProofRail::port, Int{1, 255}, "Its port."},
               Field{"linkLayer", &ProofRail::link_layer, Word<LinkLayer>{}, "Link layer."},
               Field{"gidIndex", &ProofRail::gid_index, Int{0, kMaxGidIndex}, "Row that NCCL would use."},
               Field{"gid", &ProofRail::gid, table::kGid, "The row's GID."},
               Field{"network", &ProofRail::network, table::kPrintable, "The row's network."},
               Field{"mtu", &ProofRail::mtu, proof::kMtu, "Active MTU in bytes."},
               Field{"step", &ProofRail::step, Word<ProofStep>{}, "The step that failed."},
               Field{"error", &ProofRail::error, proof::kError, "Its errno."}};

template <>
inline constexpr auto fields_of<ProofMember> =
    std::tuple{Field{"place", &ProofMember::place, proof::kPlace, "Completion index."},
               Field{"node", &ProofMember::node, table::kPrintable, "Its node."},
               Field{"rails", &ProofMember::rails, Objects<ProofRail>{kMaxProofRails}, "Its rails."}};

template <>
inline constexpr auto fields_of<ProofLink> =
    std::tuple{Field{"from", &ProofLink::from, proof::kRail, "Rail of the first member."},
               Field{"to", &ProofLink::to, proof::kRail, "Rail of the second one."},
               Field{"step", &ProofLink::step, Word<ProofStep>{}, "The step that failed."},
               Field{"end", &ProofLink::end, Word<ProofEnd>{}, "The end that saw it."},
               Field{"error", &ProofLink::error, proof::kError, "errno, or a completion's status."}};

template <>
inline constexpr auto fields_of<ProofPair> = std::tuple{
    Field{"from", &ProofPair::from, proof::kPlace, "Place of a member."},
    Field{"to", &ProofPair::to, proof::kPlace, "Place of the other one."},
    Field{"by", &ProofPair::by, Word<RailsBy>{}, "How rails were put together."},
    Field{"links", &ProofPair::links, Objects<ProofLink>{kMaxProofLinks}, "Links that were tried."}};

template <>
inline constexpr auto fields_of<LinkWord> =
    std::tuple{Field{"link", &LinkWord::link, proof::kLink, "Its number."},
               Field{"end", &LinkWord::end, Word<ProofEnd>{}, "The end that the member is."},
               Field{"rail", &LinkWord::rail, proof::kRail, "Rail of the member that is asked."},
               Field{"bytes", &LinkWord::bytes, Int{256, 4096}, "Size of the longer message."},
               Field{"queuePair", &LinkWord::queue_pair, Int{0, (1 << 24) - 1}, "Its number."},
               Field{"gid", &LinkWord::gid, table::kGid, "The end's GID."},
               Field{"lid", &LinkWord::lid, Int{0, 65535}, "The port's LID."},
               Field{"mtu", &LinkWord::mtu, proof::kMtu, "Active MTU in bytes."},
               Field{"key", &LinkWord::key, Number{0, 4294967295.0}, "The memory's remote key."},
               Field{"step", &LinkWord::step, Word<ProofStep>{}, "The step that failed."},
               Field{"error", &LinkWord::error, proof::kError, "errno, or a completion's status."}};

template <>
inline constexpr auto fields_of<JournalLine> =
    std::tuple{Field{"expected", &JournalLine::expected, Int{1, kMaxProofMembers}, "Members."},
               Field{"rounds", &JournalLine::rounds, proof::kCount, "That there are to be."},
               Field{"roundsDone", &JournalLine::rounds_done, proof::kCount, "That are over."},
               Field{"left", &JournalLine::left, proof::kPlace, "Place of a member that went."},
               Field{"members", &JournalLine::members, Objects<ProofMember>{1}, "One that came."},
               Field{"pairs", &JournalLine::pairs, Objects<ProofPair>{1}, "One that was tried."},
               Field{"ended", &JournalLine::ended, Bool{}, "Nothing follows."}};

static_assert(is_described_once<ProofRail>() && is_described_once<ProofMember>() &&
              is_described_once<ProofLink>() && is_described_once<ProofPair>() &&
              is_described_once<LinkWord>() && is_described_once<JournalLine>());

}  // namespace nccl_env::described
