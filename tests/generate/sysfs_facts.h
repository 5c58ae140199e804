// SPDX-License-Identifier: Apache-2.0
// The attributes of a device in sysfs that hold facts of a table as they are, each with an example.
#pragma once

#include "generate/described.h"
#include "nccl_env/core/fabric/description.h"
#include "nccl_env/node/sysfs_facts.h"

namespace nccl_env::generate {

// Calls visit(attribute, text).
template <class Visit>
void each_sysfs_fact(const Visit& visit) {
  const auto visit_fact = [&](const auto& fact) {
    visit_field(fact.member, [&](const auto& field) {
      const ordered_json example = example_of(field.kind, false);
      visit(fact.attribute, example.is_string() ? example.get<std::string>() : example.dump());
    });
  };
  std::apply([&](const auto&... fact) { (visit_fact(fact), ...); }, node::kSysfsFacts);
}

}  // namespace nccl_env::generate
