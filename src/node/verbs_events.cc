// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/verbs_events.h"

#include <algorithm>

namespace nccl_env::node {

bool may_hold_open(std::string_view driver) {
  // The driver of the device's PCI function: irdma is an auxiliary device of ice or i40e, hns_roce of hns3.
  constexpr std::string_view kDisassociate[] = {"mlx5_core", "mlx4_core", "irdma",         "ice",
                                                "i40e",      "hns3",      "hns_roce_hw_v2"};
  return std::ranges::count(kDisassociate, driver) > 0;
}

bool VerbsEvents::follow(const std::vector<std::string>& names) {
  const auto wanted = [&](std::string_view name) { return std::ranges::count(names, name) > 0; };
  std::erase_if(held_, [&](const auto& entry) { return !wanted(entry.first); });
  const auto is_held = [&](const std::string& name) { return held_.contains(name); };
  if (std::all_of(names.begin(), names.end(), is_held)) return false;
  const auto listed = verbs_.list();
  if (!listed) return false;
  bool opened = false;
  for (const auto& device : *listed) {
    if (!wanted(device->name()) || is_held(device->name())) continue;
    auto context = device->open();
    if (!context || (*context)->event_descriptor() < 0) continue;
    held_.emplace(device->name(), std::move(*context));
    opened = true;
  }
  return opened;
}

std::vector<int> VerbsEvents::descriptors() const {
  std::vector<int> descriptors;
  for (const auto& [name, context] : held_) descriptors.push_back(context->event_descriptor());
  return descriptors;
}

int VerbsEvents::take() {
  // A device that reports without end must not hold the caller.
  constexpr int kMost = 1024;
  int count = 0;
  std::erase_if(held_, [&](const auto& entry) {
    bool gone = false;
    for (int taken = 0; taken < kMost && !gone; ++taken) {
      const auto event = entry.second->next_event();
      if (!event) break;
      gone = event->fatal;
      ++count;
    }
    return gone;
  });
  return count;
}

}  // namespace nccl_env::node
