// SPDX-License-Identifier: Apache-2.0
// A list as it stands in the document: items that are not read can be written again.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <string>

namespace nccl_env {

// Lives as long as the document that was parsed.
class ListSource {
 public:
  ListSource() = default;
  // Takes simdjson's element of the list, which this header does not show.
  template <class Element>
  static ListSource of(const Element& list) {
    ListSource made;
    made.handle_ = std::bit_cast<Handle>(list);
    return made;
  }
  // The items' JSON in their order, without the items at `left_out` (ascending), with a comma between two.
  [[nodiscard]] std::string items_without(std::span<const std::size_t> left_out) const;

 private:
  struct alignas(8) Handle {
    std::array<std::byte, 16> bytes{};
  } handle_;
};

}  // namespace nccl_env
