// SPDX-License-Identifier: Apache-2.0
// The checks of the doctor, each over one pool, and the findings that they add to.
//
//   [ PoolView ] --> rows of attributes.cc: what ports of a rail, or nodes, have to share --+
//               \--> nodes.cc, index.cc: what one node tells by itself ---------------------+--> Report
//   all pools -----> duplicates.cc ----------------------------------------------------------+
//
// A check tells each node's ports by themselves. Equal findings of most nodes become one of the pool, and
// consequences go (core/findings/explains.h), once all are there.
#pragma once

#include <string>
#include <vector>

#include "doctor/pool.h"
#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::doctor {

// The findings of one pool.
class Report {
 public:
  Report(const PoolView& of, const DoctorInput& from, std::vector<Finding>& findings)
      : pool(of), input(from), findings_(findings) {}

  void add(Code code, Severity severity, const NodeView& node, std::vector<std::string> ports,
           std::string sentence, std::string_view remedy = {}) {
    findings_.push_back({code, severity, of_node(node.table->name, std::move(ports)), std::move(sentence),
                         std::string(remedy)});
  }
  // A finding whose cause, if there is one, says `clause` in its place.
  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  const PoolView& pool;
  const DoctorInput& input;

 private:
  std::vector<Finding>& findings_;
};

// "a, b, c, d and 5 more"
inline constexpr std::size_t kMostNamed = 4;
template <class Names>
std::string some_of(const Names& names) {
  return join_some(names, kMostNamed);
}

// "; Active on 19 of 20 nodes of its pool"
inline std::string usual_text(const std::string& usual, std::size_t count, std::size_t known,
                              std::string_view noun = "node") {
  return "; " + usual + " on " + std::to_string(count) + " of " + count_of(known, noun) + " of its pool";
}

// HardwareDiffers, PortDown, RateLow, MtuDiffers, NoAddress, SubnetDiffers, LossyTrafficClass; of nodes
// NamespaceModeDiffers
void check_attributes(Report& report);
// StaleTable, ManagementInFabric, HcaMissing, HcasDiffer, NoFabric
void check_nodes(Report& report);
// GidIndexDiffers inside a node, GidIndexMoved
void check_index(Report& report);
// NoFabric, of nodes without hardware, which are in no pool.
void check_bare(const std::vector<NodeView>& views, std::vector<Finding>& findings);
// DuplicateAddress, over all pools: two pools may share a network.
void check_duplicates(const std::vector<PoolView>& pools, const DoctorInput& input,
                      std::vector<Finding>& findings);

}  // namespace nccl_env::doctor
