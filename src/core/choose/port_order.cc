// SPDX-License-Identifier: Apache-2.0
#include "choose/port_order.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "fabric/hca_name.h"

namespace nccl_env {
namespace {

using PciOrder = std::tuple<unsigned, unsigned, unsigned, unsigned>;

std::optional<PciOrder> pci_order(const Port& port) {
  if (!port.pci_address) return std::nullopt;
  unsigned fields[4] = {};
  const char* at = port.pci_address->data();
  const char* end = at + port.pci_address->size();
  for (unsigned& field : fields) {
    const auto [next, error] = std::from_chars(at, end, field, 16);
    if (error != std::errc()) return std::nullopt;
    at = next == end ? end : next + 1;
  }
  return PciOrder{fields[0], fields[1], fields[2], fields[3]};
}

}  // namespace

void sort_for_output(std::vector<const Port*>& ports) {
  const bool by_pci =
      std::all_of(ports.begin(), ports.end(), [](const Port* port) { return pci_order(*port).has_value(); });
  std::sort(ports.begin(), ports.end(), [&](const Port* left, const Port* right) {
    if (by_pci && pci_order(*left) != pci_order(*right)) return pci_order(*left) < pci_order(*right);
    if (left->hca != right->hca) return hca_name_less(left->hca, right->hca);
    return left->number < right->number;
  });
}

}  // namespace nccl_env
