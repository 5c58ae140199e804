// SPDX-License-Identifier: Apache-2.0
// The messages of a test, field by field.
#pragma once

#include "nccl_env/core/fabric/description.h"
#include "nccl_env/core/proof/messages.h"

namespace nccl_env::described {

template <>
inline constexpr std::array words_of<ProofStep> = {
    Words<ProofStep>{"open", ProofStep::Open},     Words<ProofStep>{"port", ProofStep::Port},
    Words<ProofStep>{"row", ProofStep::Row},       Words<ProofStep>{"memory", ProofStep::Memory},
    Words<ProofStep>{"queue", ProofStep::Queue},   Words<ProofStep>{"connect", ProofStep::Connect},
    Words<ProofStep>{"packet", ProofStep::Packet}, Words<ProofStep>{"packets", ProofStep::Packets},
    Words<ProofStep>{"bytes", ProofStep::Bytes},   Words<ProofStep>{"answer", ProofStep::Answer}};
template <>
inline constexpr std::array words_of<ProofEnd> = {Words<ProofEnd>{"from", ProofEnd::From},
                                                  Words<ProofEnd>{"to", ProofEnd::To},
                                                  Words<ProofEnd>{"both", ProofEnd::Both}};
template <>
inline constexpr std::array words_of<RailsBy> = {
    Words<RailsBy>{"network", RailsBy::Network}, Words<RailsBy>{"name", RailsBy::Name},
    Words<RailsBy>{"place", RailsBy::Place}, Words<RailsBy>{"cross", RailsBy::Cross}};
template <>
inline constexpr std::array words_of<OrderWord> = {
    Words<OrderWord>{"prepare", OrderWord::Prepare}, Words<OrderWord>{"connect", OrderWord::Connect},
    Words<OrderWord>{"write", OrderWord::Write},     Words<OrderWord>{"check", OrderWord::Check},
    Words<OrderWord>{"release", OrderWord::Release}, Words<OrderWord>{"end", OrderWord::End}};

namespace proof {

inline constexpr Int kPlace{0, kMaxProofMembers - 1}, kRail{0, kMaxProofRails - 1},
    kLink{0, kMaxProofLinks - 1}, kError{0, kMaxErrorNumber}, kMtu{0, 65535}, kPair{0, 1 << 30},
    kNumber24{0, (1 << 24) - 1};

}  // namespace proof

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
static_assert(is_described_once<ProofRail>());

template <>
inline constexpr auto fields_of<ProofMember> =
    std::tuple{Field{"place", &ProofMember::place, proof::kPlace, "Completion index."},
               Field{"node", &ProofMember::node, table::kPrintable, "Its node."},
               Field{"rails", &ProofMember::rails, Objects<ProofRail>{kMaxProofRails}, "Its rails."}};
static_assert(is_described_once<ProofMember>());

template <>
inline constexpr auto fields_of<ProofLink> =
    std::tuple{Field{"from", &ProofLink::from, proof::kRail, "Rail of the first member."},
               Field{"to", &ProofLink::to, proof::kRail, "Rail of the second one."},
               Field{"step", &ProofLink::step, Word<ProofStep>{}, "The step that failed."},
               Field{"end", &ProofLink::end, Word<ProofEnd>{}, "The end that saw it."},
               Field{"error", &ProofLink::error, proof::kError, "errno, or a completion's status."}};
static_assert(is_described_once<ProofLink>());

template <>
inline constexpr auto fields_of<ProofPair> =
    std::tuple{Field{"from", &ProofPair::from, proof::kPlace, "Place of a member."},
               Field{"to", &ProofPair::to, proof::kPlace, "Place of the other one."},
               Field{"by", &ProofPair::by, Word<RailsBy>{}, "How rails were put together."},
               Field{"links", &ProofPair::links, Objects<ProofLink>{kMaxProofLinks}, "What was tried."}};
static_assert(is_described_once<ProofPair>());

template <>
inline constexpr auto fields_of<LinkEnd> =
    std::tuple{Field{"link", &LinkEnd::link, proof::kLink, "Place in the pair."},
               Field{"queuePair", &LinkEnd::queue_pair, proof::kNumber24, "Its number."},
               Field{"firstPacket", &LinkEnd::first_packet, proof::kNumber24, "Its number."},
               Field{"gid", &LinkEnd::gid, table::kGid, "The end's GID."},
               Field{"lid", &LinkEnd::lid, Int{0, 65535}, "The port's LID."},
               Field{"mtu", &LinkEnd::mtu, proof::kMtu, "Active MTU in bytes."},
               Field{"key", &LinkEnd::key, Number{0, 4294967295.0}, "The memory's remote key."}};
static_assert(is_described_once<LinkEnd>());

template <>
inline constexpr auto fields_of<LinkRail> =
    std::tuple{Field{"link", &LinkRail::link, proof::kLink, "Place in the pair."},
               Field{"rail", &LinkRail::rail, proof::kRail, "Rail of the member that is asked."}};
static_assert(is_described_once<LinkRail>());

template <>
inline constexpr auto fields_of<LinkFault> =
    std::tuple{Field{"link", &LinkFault::link, proof::kLink, "Place in the pair."},
               Field{"step", &LinkFault::step, Word<ProofStep>{}, "The step that failed."},
               Field{"error", &LinkFault::error, proof::kError, "errno, or a completion's status."}};
static_assert(is_described_once<LinkFault>());

template <>
inline constexpr auto fields_of<Order> =
    std::tuple{Field{"word", &Order::word, Word<OrderWord>{}, "What to do."},
               Field{"pair", &Order::pair, proof::kPair, "The pair's number."},
               Field{"end", &Order::end, Word<ProofEnd>{}, "Which end the member is."},
               Field{"rails", &Order::rails, Objects<LinkRail>{kMaxProofLinks}, "Rails to prepare."},
               Field{"ends", &Order::ends, Objects<LinkEnd>{kMaxProofLinks}, "The peer's ends."}};
static_assert(is_described_once<Order>());

template <>
inline constexpr auto fields_of<Reply> =
    std::tuple{Field{"pair", &Reply::pair, proof::kPair, "The pair's number."},
               Field{"word", &Reply::word, Word<OrderWord>{}, "The order that it answers."},
               Field{"ends", &Reply::ends, Objects<LinkEnd>{kMaxProofLinks}, "The member's ends."},
               Field{"faults", &Reply::faults, Objects<LinkFault>{kMaxProofLinks}, "Links that failed."}};
static_assert(is_described_once<Reply>());

}  // namespace nccl_env::described
