// SPDX-License-Identifier: Apache-2.0
// A test of a fabric by packets, as its members report it (docs/use/fabric-test.md).
//
//   [ ProofMember ]*: a node with its [ ProofRail ]*     a rail fails by itself: it opens no device, has no
//   row
//          |
//   [ ProofPair ]*:   two members with [ ProofLink ]*    a link fails between two rails: no route, no answer
//          |
//          v
//   [ Proof ] <--journal-- log of the collector          who came, what was tried, the first step that failed
//
// Members are named by their places, which are completion indices of the Job; rails by their places in the
// member. A Proof owns everything; a reader fills it line by line, so that a log which ends early still tells
// what came before.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/node_fabric.h"

namespace nccl_env {

// Several times what a cluster tests at once, and what a node has.
inline constexpr int kMaxProofMembers = 4096;
inline constexpr int kMaxProofRails = 64;   // of a member
inline constexpr int kMaxProofLinks = 256;  // of a pair
inline constexpr int kMaxErrorNumber = 4095;
// Bytes of a line, of the journal or between members: a pair with kMaxProofLinks that failed has 15 KiB.
inline constexpr std::size_t kMaxProofLine = 64u << 10;

// Steps of a connection, in their order; of two ends the earlier one counts. Five need no peer.
enum class ProofStep {
  Answer,   // the member's program says nothing any more
  Open,     // ibv_open_device
  Port,     // the port is Active
  Row,      // the GID row that NCCL would use is there, and reaches other nodes
  Memory,   // ibv_reg_mr
  Queue,    // ibv_create_qp, and INIT
  Connect,  // RTR and RTS: the kernel finds the way to the peer's address
  Packet,   // a write of 256 bytes, one packet at any MTU
  Packets,  // a write of 4 KiB, in packets of the path's MTU
  Bytes     // what came is what was sent
};

// The end of a link that saw the failure. From is the end of the member of the lower place.
enum class ProofEnd { From, To, Both };

struct ProofRail {
  std::string hca;
  int port = 1;
  std::optional<LinkLayer> link_layer = {};
  std::optional<int> gid_index = {};  // that NCCL would use; absent: none on this link layer, or none found
  std::optional<Gid> gid = {};        // of that row; of InfiniBand row 0
  std::optional<std::string> network = {};  // "10.0.1.0/24"; of InfiniBand the subnet prefix
  std::optional<int> mtu = {};              // active, in bytes
  std::optional<ProofStep> step = {};       // that failed without any peer
  std::optional<int> error = {};            // errno of that step
};
// "mlx5_0:1".
inline std::string name_of(const ProofRail& rail) {
  return rail.hca + ":" + std::to_string(rail.port);
}

struct ProofMember {
  int place = 0;
  std::string node;
  std::vector<ProofRail> rails = {};
};

struct ProofLink {
  int from = 0, to = 0;                // rails
  std::optional<ProofStep> step = {};  // the first that failed; absent: all went well
  std::optional<ProofEnd> end = {};    // of a step that failed
  std::optional<int> error = {};  // errno; of Packet and Packets the completion's status (enum ibv_wc_status)

  // False: an end fell silent, which says nothing of the link.
  [[nodiscard]] bool has_result() const { return step != ProofStep::Answer; }
  [[nodiscard]] bool failed() const { return step && has_result(); }
};

// The rule by which rails of two members were put together.
enum class RailsBy { Network, Name, Place, Cross };

struct ProofPair {
  int from = 0, to = 0;  // places; from < to
  RailsBy by = RailsBy::Name;
  std::vector<ProofLink> links = {};
};

struct Proof {
  int expected = 0;  // members
  int rounds = 0;    // that there are to be
  int rounds_done = 0;
  std::vector<ProofMember> members;   // those that came, by place
  std::vector<ProofPair> pairs = {};  // that were tried
  std::vector<int> left = {};         // places of members that went in the middle
  bool ended = false;                 // the collector said its last line

  [[nodiscard]] const ProofMember* at(int place) const;  // null: it did not come
};

// An end's word on a link, or to it (lines.h).
struct LinkWord {
  std::optional<int> link = {};
  std::optional<ProofEnd> end = {};  // the one that is told
  std::optional<int> rail = {};      // of that member
  std::optional<int> bytes = {};     // of the longer message
  std::optional<int> queue_pair = {};
  std::optional<Gid> gid = {};
  std::optional<int> lid = {};     // InfiniBand
  std::optional<int> mtu = {};     // active, in bytes
  std::optional<double> key = {};  // of the memory that the peer writes, from its first byte on: 32 bits
  std::optional<ProofStep> step = {};
  std::optional<int> error = {};
};

// News for the journal.
struct JournalLine {
  std::optional<int> expected = {}, rounds = {}, rounds_done = {}, left = {};
  std::optional<std::vector<ProofMember>> members = {};
  std::optional<std::vector<ProofPair>> pairs = {};
  std::optional<bool> ended = {};
};

}  // namespace nccl_env
