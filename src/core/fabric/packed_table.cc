// SPDX-License-Identifier: Apache-2.0
// The form exists only in memory, so it may change at any time. Fields stand one after the other in the
// order of walk(), the same for both directions: numbers in as few bytes as they need (LEB128, signed ones in
// zigzag), an object behind a number whose bits say which of its optional members are there, a text once and
// from then on as its number.
#include "nccl_env/core/fabric/packed_table.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nccl_env/core/fabric/description.h"

namespace nccl_env {
namespace {

constexpr double kMostWhole = 1U << 30U;  // rates are usually whole, and far below this

class Packer {
 public:
  Packer() { out_.reserve(4096); }
  void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  void raw(const void* from, std::size_t size) {
    out_.insert(out_.end(), static_cast<const char*>(from), static_cast<const char*>(from) + size);
  }

  void operator()(const std::string& text) {
    const auto [known, added] = texts_.try_emplace(text, texts_.size());
    number(added ? 0 : known->second + 1);
    if (!added) return;
    number(text.size());
    raw(text.data(), text.size());
  }
  void operator()(double value) {
    const bool whole = value >= 0 && value <= kMostWhole && std::floor(value) == value;
    number(whole ? static_cast<std::uint64_t>(value) * 2 : 1);
    if (!whole) raw(&value, sizeof value);
  }
  template <class Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void operator()(Number value) {
    const auto wide = static_cast<std::int64_t>(value);
    number((static_cast<std::uint64_t>(wide) << 1U) ^ static_cast<std::uint64_t>(wide >> 63U));
  }
  void operator()(const std::array<std::uint8_t, 16>& bytes) {
    const bool again = bytes == last_;
    byte(again ? 1 : 0);
    if (!again) raw(bytes.data(), bytes.size());
    last_ = bytes;
  }
  template <class List>
  std::size_t size(const List& list) {
    number(list.size());
    return list.size();
  }
  void bits(std::uint64_t value) { number(value); }

  [[nodiscard]] std::string take() { return {out_.begin(), out_.end()}; }  // a copy without spare capacity

 private:
  std::vector<char> out_;
  std::array<std::byte, 8192> room_;  // for the texts of most tables
  std::pmr::monotonic_buffer_resource pool_{room_.data(), room_.size()};
  std::pmr::unordered_map<std::string_view, std::size_t> texts_{64, &pool_};
  std::array<std::uint8_t, 16> last_{};
};

// Reads what a Packer wrote, and nothing else.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : at_(bytes.data()) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(*at_++); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fU} << shift;
      if (next < 0x80) return value;
    }
  }
  void raw(void* to, std::size_t size) {
    std::memcpy(to, at_, size);
    at_ += size;
  }
  std::string_view text() {
    if (const auto known = number(); known > 0) return texts_[known - 1];
    const std::size_t size = number();
    at_ += size;
    return texts_.emplace_back(at_ - size, size);
  }

  void operator()(std::string& value) { value = text(); }
  void operator()(double& value) {
    const std::uint64_t whole = number();
    if (whole % 2 == 0) {
      value = static_cast<double>(whole >> 1U);
    } else {
      raw(&value, sizeof value);
    }
  }
  template <class Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void operator()(Number& value) {
    const std::uint64_t folded = number();
    value = static_cast<Number>(static_cast<std::int64_t>((folded >> 1U) ^ (0 - (folded & 1U))));
  }
  void operator()(std::array<std::uint8_t, 16>& bytes) {
    if (byte() == 0) raw(last_.data(), last_.size());
    bytes = last_;
  }
  template <class List>
  std::size_t size(List& list) {
    list.resize(number());
    return list.size();
  }
  void bits(std::uint64_t& value) { value = number(); }

 private:
  const char* at_;
  std::vector<std::string_view> texts_;
  std::array<std::uint8_t, 16> last_{};
};

// Calls visit(member) for each member but a table's name.
template <class Object, class Visit>
void each_member(Object& object, const Visit& visit) {
  if constexpr (std::is_same_v<std::remove_const_t<Object>, NodeFabric>) visit(object.written);
  described::each_field<std::remove_const_t<Object>>([&](const auto& field) { visit(object.*field.member); });
}

template <class Fields, class Object>
void walk_object(Fields& fields, Object& object) {
  std::uint64_t there = 0, bit = 1;
  static_assert(
      std::tuple_size_v<std::remove_cvref_t<decltype(described::fields_of<std::remove_const_t<Object>>)>> <
      64);
  if constexpr (std::is_const_v<Object>)
    each_member(object, [&]<class Member>(const Member& member) {
      if constexpr (described::is_optional<Member>) there |= std::exchange(bit, bit << 1U) * (member ? 1 : 0);
    });
  fields.bits(there);
  each_member(object, [&]<class Member>(Member& member) {
    if constexpr (!described::is_optional<std::remove_const_t<Member>>) {
      walk(fields, member);
    } else if ((std::exchange(there, there >> 1U) & 1U) != 0) {
      if constexpr (!std::is_const_v<Member>) member.emplace();
      walk(fields, *member);
    }
  });
}

// Walks over the fields of a value, as they are described, for both directions: Fields is a Packer, with
// constant values, or an Unpacker.
template <class Fields, class Value>
void walk(Fields& fields, Value& value) {
  using Plain = std::remove_const_t<Value>;
  if constexpr (described::is_list<Plain>) {
    const std::size_t size = fields.size(value);
    for (std::size_t at = 0; at < size; ++at) walk(fields, value[at]);
  } else if constexpr (std::is_same_v<Plain, Timestamp>) {
    auto seconds = value.time_since_epoch().count();
    fields(seconds);
    if constexpr (!std::is_const_v<Value>) value = Timestamp(Timestamp::duration(seconds));
  } else if constexpr (std::is_same_v<Plain, Gid> || std::is_same_v<Plain, IpAddress>) {
    fields(value.bytes);
  } else if constexpr (std::is_same_v<Plain, InterfaceAddress>) {
    walk(fields, value.address);
    walk(fields, value.prefix);
  } else if constexpr (described::is_described<Plain>) {
    if constexpr (std::is_same_v<Plain, NodeFabric>) fields(value.name);
    walk_object(fields, value);
  } else {
    fields(value);
  }
}

}  // namespace

PackedTable::PackedTable(const NodeFabric& table) : dated_(table.dated()) {
  Packer fields;
  walk(fields, table);
  bytes_ = fields.take();
  if (!table.boot_id) return;
  boot_at_ = static_cast<std::uint16_t>(bytes_.find(*table.boot_id));
  boot_size_ = static_cast<std::uint16_t>(table.boot_id->size());
}

NodeFabric PackedTable::unpack() const {
  NodeFabric table;
  Unpacker fields(bytes_);
  walk(fields, table);
  return table;
}

std::string_view PackedTable::name() const {
  return Unpacker(bytes_).text();
}

}  // namespace nccl_env
