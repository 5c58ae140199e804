// SPDX-License-Identifier: Apache-2.0
// An object of ours is described once, as a tuple of its fields in the order in which they are read and
// written:
//
//   fields_of<Port> = tuple{ Field{"hca", &Port::hca, kHca, "Name of the RDMA device."}, … }
//                              |       |           |       |
//                   name in JSON    member      its kind   sentence for people
//
// The tuple is where a field gets these. Everything else asks it: reader (described/reader.h), writer
// (described/writer.h), the packed form of tables, and the schema, the pages and the dictionaries that
// `make generate` writes. To add a kind, add a type here and an overload to each of them. A field whose
// member is an optional may be absent; every other one is required.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/result.h"

namespace nccl_env::described {

// A text that `parse` takes.
template <class Value>
struct Text {
  Result<Value> (*parse)(std::string_view);
  std::string (*format)(const Value&);
  int shortest;  // in bytes
  int longest;
  std::string_view pattern;  // a regular expression for the whole text, which may take more than `parse`
  std::string_view example;
  std::string_view form;   // in a sentence, as the reference pages print it
  bool may_be_empty = {};  // "" says that it is known that there is none; its value is then Value()

  [[nodiscard]] constexpr Text or_none() const {
    Text with_none = *this;
    with_none.may_be_empty = true;
    return with_none;
  }
};

// One of the words of an enumeration.
template <class Enum>
struct Word {};
template <class Enum>
using Words = std::pair<std::string_view, Enum>;
template <class Enum>
inline constexpr auto words_of = nullptr;  // specialised for each, as a std::array of Words

template <class Enum>
std::string_view word_of(Enum value) {
  for (const auto& [word, meaning] : words_of<Enum>) {
    if (meaning == value) return word;
  }
  return "";
}

struct Time {};  // RFC 3339
struct Bool {};
struct Int {
  int least;
  int most;
  int example = least;
};
struct Number {
  double least;
  double most;
  double example = least;
};

template <class Value>
struct Texts {
  Text<Value> item;
  int most;
  int least = 0;
};
// A list of objects that are described themselves.
template <class Object>
struct Objects {
  int most;
};

// A list that an older release wrote as objects, in a field of another name. One of the two is there.
template <class Value>
struct TextsOrOlder {
  Texts<Value> texts;
  std::string_view older_name;
  std::string_view older_means;
  Objects<Value> older;
};

template <class Object, class Member, class Kind>
struct Field {
  std::string_view name;
  Member Object::*member;
  Kind kind;
  std::string_view means;               // a sentence or more
  std::string_view absent = "unknown";  // what it says if the field is not there
};
// clang 14 does not deduce an aggregate's arguments.
template <class Object, class Member, class Kind, class... Texts>
Field(std::string_view, Member Object::*, Kind, Texts...) -> Field<Object, Member, Kind>;

// An object whose fields are members of the object that it stands in.
template <class... Fields>
struct Group {
  std::string_view name;
  std::tuple<Fields...> fields;
  std::string_view means;
};
template <class... Fields>
Group(std::string_view, std::tuple<Fields...>, std::string_view) -> Group<Fields...>;

// A field that is not one member; its kind reads and writes the whole object.
template <class Kind>
struct WholeField {
  std::string_view name;
  Kind kind;
  std::string_view means;
};
template <class Kind>
WholeField(std::string_view, Kind, std::string_view) -> WholeField<Kind>;

// Specialised for each object, as a std::tuple of Fields and, where needed, of the two above.
template <class Object>
inline constexpr auto fields_of = nullptr;
template <class Object>
inline constexpr bool is_described = !std::is_same_v<decltype(fields_of<Object>), const std::nullptr_t>;

template <class>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;
template <class>
inline constexpr bool is_list = false;
template <class Value>
inline constexpr bool is_list<std::vector<Value>> = true;
template <class Value>
inline constexpr bool is_list<std::optional<std::vector<Value>>> = true;

template <class Member>
inline constexpr bool is_required = !is_optional<Member>;

// Calls visit(field) for each field, in order.
template <class Object, class Visit>
constexpr void each_field(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields_of<Object>);
}

// Calls visit(field) for the field of this member.
template <class Object, class Member, class Visit>
constexpr void visit_field(Member Object::*member, const Visit& visit) {
  each_field<Object>([&]<class Other, class Kind>(const Field<Object, Other, Kind>& field) {
    if constexpr (std::is_same_v<Other, Member>) {
      if (field.member == member) visit(field);
    }
  });
}

// Stands for any value in the braces of an aggregate.
struct AnyMember {
  template <class Value>
  operator Value&() const&;
  template <class Value>
  operator Value&() const&&;
};

template <class Object, class... Members>
consteval std::size_t count_members() {
  if constexpr (requires { Object{Members{}..., AnyMember{}}; }) {
    return count_members<Object, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

template <class One, class Other>
constexpr bool same_member(One one, Other other) {
  if constexpr (std::is_same_v<One, Other>) {
    return one == other;
  } else {
    return false;
  }
}

// The fields that have a member, those of groups among them, as a tuple.
template <class Object, class Member, class Kind>
constexpr auto with_members(const Field<Object, Member, Kind>& field) {
  return std::tuple{field};
}
template <class... Fields>
constexpr auto with_members(const Group<Fields...>& group) {
  return group.fields;
}
template <class Kind>
constexpr auto with_members(const WholeField<Kind>& /*field*/) {
  return std::tuple<>();
}

// Whether every member of the object is described, and none twice; `besides`: members that stand elsewhere.
template <class Object>
consteval bool is_described_once(std::size_t besides = 0) {
  const auto fields = std::apply([](const auto&... each) { return std::tuple_cat(with_members(each)...); },
                                 fields_of<Object>);
  return std::apply(
      [&](const auto&... field) {
        const auto times = [&](auto member) {
          return (std::size_t{same_member(member, field.member)} + ...);
        };
        return ((times(field.member) == 1) && ...) && sizeof...(field) + besides == count_members<Object>();
      },
      fields);
}

}  // namespace nccl_env::described
