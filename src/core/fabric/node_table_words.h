// SPDX-License-Identifier: Apache-2.0
// The words of a NodeFabric's enumerations, for reading and for writing.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "nccl_env/core/fabric/node_table.h"

namespace nccl_env {

template <class Enum, std::size_t N>
using Words = std::array<std::pair<std::string_view, Enum>, N>;

template <class Enum>
inline constexpr auto words = nullptr;
template <>
inline constexpr Words<LinkLayer, 3> words<LinkLayer> = {{{"Ethernet", LinkLayer::Ethernet},
                                                          {"InfiniBand", LinkLayer::InfiniBand},
                                                          {"Unspecified", LinkLayer::Unspecified}}};
template <>
inline constexpr Words<Transport, 4> words<Transport> = {{{"InfiniBand", Transport::InfiniBand},
                                                          {"RoCE", Transport::RoCE},
                                                          {"iWARP", Transport::iWARP},
                                                          {"eRDMA", Transport::eRDMA}}};
template <>
inline constexpr Words<PortState, 4> words<PortState> = {{{"Active", PortState::Active},
                                                          {"Armed", PortState::Armed},
                                                          {"Init", PortState::Init},
                                                          {"Down", PortState::Down}}};
template <>
inline constexpr Words<GidType, 3> words<GidType> = {
    {{"IB", GidType::IB}, {"RoCEv1", GidType::RoCEv1}, {"RoCEv2", GidType::RoCEv2}}};
template <>
inline constexpr Words<RdmaNamespaceMode, 2> words<RdmaNamespaceMode> = {
    {{"shared", RdmaNamespaceMode::Shared}, {"exclusive", RdmaNamespaceMode::Exclusive}}};

}  // namespace nccl_env
