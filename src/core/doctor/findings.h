// SPDX-License-Identifier: Apache-2.0
// Findings of one pool, to which each check adds, and the sentences that they share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doctor/pool.h"
#include "nccl_env/core/text/join.h"

namespace nccl_env::doctor {

class Report {
 public:
  Report(const PoolView& of, const DoctorInput& from, std::vector<Finding>& findings)
      : pool(of), input(from), findings_(findings) {}

  void add(DoctorCheck check, Severity severity, const NodeView* node, std::string hca,
           std::string evidence) {
    findings_.push_back({check, severity, pool.name, node ? node->table->name : std::string(), std::move(hca),
                         std::move(evidence)});
  }
  void add(DoctorCheck check, Severity severity, const NodeView& node, const Port& port,
           std::string evidence) {
    add(check, severity, &node, port_name(*node.table, port), std::move(evidence));
  }

  const PoolView& pool;
  const DoctorInput& input;

 private:
  std::vector<Finding>& findings_;
};

using OnPort = std::function<void(const NodeView& node, const Rail& rail, const Port& port)>;
// Every port that is there of the fabric's rails, rail by rail.
void each_fabric_port(const PoolView& pool, const OnPort& visit);
// "a, b, c, d and 5 more"
inline std::string some_of(const std::vector<std::string>& names) {
  return join_some(names, 4);
}

}  // namespace nccl_env::doctor
