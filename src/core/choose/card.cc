// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/choose/card.h"

#include <string>
#include <string_view>

namespace nccl_env {
namespace {

// "0000:53:00" of "0000:53:00.1".
std::string_view slot_of(const std::string& pci_address) {
  return std::string_view(pci_address).substr(0, pci_address.find('.'));
}

}  // namespace

std::optional<bool> are_on_one_card(const Port& left, const Port& right) {
  const bool images = left.sys_image_guid && right.sys_image_guid;
  const bool addresses = left.pci_address && right.pci_address;
  if (!images && !addresses) return std::nullopt;
  return (images && left.sys_image_guid == right.sys_image_guid) ||
         (addresses && slot_of(*left.pci_address) == slot_of(*right.pci_address));
}

}  // namespace nccl_env
