// SPDX-License-Identifier: Apache-2.0
// Reads the JSON of others strictly, for policies, tables and pods.
//
//   text -- parse() --> [ Element ] --+-- [ Fields ]: of an object, field by field; all refusals are told
//                                     +-- pick(): a few fields of an object, in one pass; the first is told
//
//   [ Path ]: where a value stands     [ Refusals ]: what becomes of a refusal, and in whose words it is told
//
// Elements and the texts in them live as long as the parser, until it parses the next document. A key that
// stands twice is refused: readers disagree on which of the two counts.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nccl_env/result.h"

namespace nccl_env::json {

using Element = simdjson::dom::element;

// Parses the text, unless it is not JSON or reading it would cost too much (json_cost.h). If it is `padded`,
// simdjson::SIMDJSON_PADDING bytes behind it are readable; else it is copied.
Result<Element> parse(simdjson::dom::parser& parser, std::string_view text, bool padded = false);

// Where a value stands in a document. Frames live on the stack and are written out only for a refusal.
struct Path {
  const Path* parent = nullptr;
  std::string_view key = {};
  int index = -1;
  bool quoted = false;

  [[nodiscard]] Path field(std::string_view name) const { return {this, name, -1, false}; }
  // A field whose name others chose: in brackets and quotes, unless it is a plain word.
  [[nodiscard]] Path entry(std::string_view name) const { return {this, name, -1, true}; }
  [[nodiscard]] Path item(int position) const { return {this, {}, position, false}; }
  [[nodiscard]] std::string text() const;  // "" at the top
};

// Takes refusals. The words are those of tables and pods; those of policies are in policy/fields.h.
class Refusals {
 public:
  virtual ~Refusals() = default;
  virtual void add(const Path& at, std::string_view message) = 0;
  // The value is not what it has to be, such as "a string".
  virtual void mismatch(const Path& at, std::string_view wanted, Element found);
  virtual void bad_integer(const Path& at, int least, int most, Element found);
  // It is not a list, or has too many items.
  virtual void bad_list(const Path& at, std::size_t most, Element found);
  // Whether a null is a value, of a wrong kind. Else it counts as absent, as it does in Kubernetes.
  [[nodiscard]] virtual bool refuses_null() const { return false; }
  // Nothing more is kept.
  [[nodiscard]] virtual bool is_full() const { return false; }
};

// The first refusal of one reading; every step after it does nothing.
class Failure : public Refusals {
 public:
  void add(const Path& at, std::string_view what) override;
  // Ends the reading without an error.
  void stop() { stopped_ = true; }
  // Nothing more is to be read.
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  bool stopped_ = false;
  std::optional<Error> error_;
};

// All refusals in one sentence; after twenty of them the rest is counted.
class Sentence : public Refusals {
 public:
  void add(const Path& at, std::string_view message) override;
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string text() const;

 private:
  std::string text_;
  std::size_t count_ = 0;
};

// "one of A, B"
std::string one_of(std::span<const std::string_view> words);
std::optional<std::string_view> repeated_key(simdjson::dom::object object);

class Fields {
 public:
  // Keeps references: the document, what `at` leads back to, and `refusals` outlive it, and it outlives what
  // path() returns. A value that is not an object is refused here, and so is a key that stands twice. Where
  // names are `accepted`, any other is refused, with the nearest of them.
  Fields(Element value, Path at, Refusals& refusals, std::span<const std::string_view> accepted = {});

  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] Path path(std::string_view name) const { return path_.field(name); }
  [[nodiscard]] Refusals& refusals() const { return *refusals_; }
  [[nodiscard]] std::optional<Element> find(std::string_view name) const;  // empty if absent
  [[nodiscard]] bool empty() const { return object_ && object_->begin() == object_->end(); }
  void refuse(std::string_view name, std::string_view message) const;
  void require(std::string_view name) const;

  // An absent or refused field is empty.
  [[nodiscard]] std::optional<int> integer(std::string_view name, int least, int most) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, double least, double most) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const;
  [[nodiscard]] std::optional<Element> object(std::string_view name) const;
  [[nodiscard]] std::optional<simdjson::dom::array> array(std::string_view name, std::size_t most) const;

  // A text that `parse` (std::string_view -> Result<T>) accepts.
  template <class Parse>
  auto parsed(std::string_view name, const Parse& parse) const
      -> std::optional<std::decay_t<decltype(*parse(std::string_view()))>> {
    const auto given = text(name);
    if (!given) return std::nullopt;
    auto result = parse(*given);
    if (result.ok()) return std::move(result).value();
    refuse(name, result.error().message);
    return std::nullopt;
  }

  // Calls visit(element, path) for each item of an array; false if it is absent or refused.
  template <class Visit>
  bool items(std::string_view name, std::size_t most, const Visit& visit) const {
    const auto elements = array(name, most);
    if (!elements) return false;
    const Path list = path(name);
    int position = 0;
    for (const Element element : *elements) visit(element, list.item(position++));
    return true;
  }

  // Every element of an array of objects: `read(const Fields&) -> T`.
  template <class Read>
  auto objects(std::string_view name, std::size_t most, const Read& read) const
      -> std::optional<std::vector<decltype(read(std::declval<const Fields&>()))>> {
    using T = decltype(read(std::declval<const Fields&>()));
    return collect<T>(name, most, [&](Element element, const Path& at, std::vector<T>& into) {
      into.push_back(read(Fields(element, at, *refusals_)));
    });
  }

  // Every element of an array of texts that `parse` accepts.
  template <class Parse>
  auto texts(std::string_view name, std::size_t most, const Parse& parse) const
      -> std::optional<std::vector<std::decay_t<decltype(*parse(std::string_view()))>>> {
    using T = std::decay_t<decltype(*parse(std::string_view()))>;
    return collect<T>(name, most, [&](Element element, const Path& at, std::vector<T>& into) {
      std::string_view text;
      if (element.get(text) != simdjson::SUCCESS) return refusals_->mismatch(at, "a string", element);
      auto made = parse(text);
      if (!made.ok()) return refusals_->add(at, made.error().message);
      into.push_back(std::move(made).value());
    });
  }

 private:
  template <class T, class Add>
  std::optional<std::vector<T>> collect(std::string_view name, std::size_t most, const Add& add) const {
    const auto elements = array(name, most);
    if (!elements) return std::nullopt;
    std::vector<T> result;
    result.reserve(elements->size());
    const Path list = path(name);
    int position = 0;
    for (const Element element : *elements) add(element, list.item(position++), result);
    return result;
  }
  template <class Value>
  std::optional<Value> get(std::string_view name, std::string_view wanted) const;

  std::optional<simdjson::dom::object> object_;
  // Behind the field that was found last: who writes an object in the order in which it is read has the next
  // one here.
  mutable std::optional<simdjson::dom::object::iterator> next_;
  std::uint64_t bits_ = 0;  // of its keys: where a name's is missing, so is the field
  Path path_;
  Refusals* refusals_;
};

// Compares without a call where the wanted key is a constant.
inline bool is_key(std::string_view key, std::string_view wanted) {
  return key.size() == wanted.size() && std::memcmp(key.data(), wanted.data(), wanted.size()) == 0;
}

// Returns fields of one object, in the order of `keys`. A null counts as absent. Inlined, so that each key is
// compared as a constant.
template <std::size_t N>
[[gnu::always_inline]] inline std::array<std::optional<Element>, N> pick(
    Element value, const Path& path, const std::array<std::string_view, N>& keys, Failure& failure) {
  std::array<std::optional<Element>, N> found{};
  std::uint32_t seen = 0;
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    failure.mismatch(path, "an object", value);
    return found;
  }
  // With the iterator itself: a pair of its key and value would be written to memory and read back at once in
  // wider words, which stalls the processor.
  for (auto field = object.begin(); field != object.end(); ++field) {
    const std::string_view key = field.key();
    const auto take = [&](std::size_t i) __attribute__((always_inline)) {
      if (!is_key(key, keys[i])) return false;
      if ((seen >> i & 1U) != 0) failure.add(path.field(keys[i]), "stands twice");
      seen |= 1U << i;
      if (const Element child = field.value(); !child.is_null()) found[i] = child;
      return true;
    };
    const auto take_any = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      (take(I) || ...);
    };
    take_any(std::make_index_sequence<N>());
  }
  return found;
}

// Fields that pick() found; an absent one is empty.
inline std::string_view text(std::optional<Element> value, const Path& path, Failure& failure) {
  std::string_view result;
  if (value && value->get(result) != simdjson::SUCCESS) failure.mismatch(path, "a string", *value);
  return result;
}
inline bool boolean(std::optional<Element> value, const Path& path, Failure& failure) {
  bool result = false;
  if (value && value->get(result) != simdjson::SUCCESS) failure.mismatch(path, "true or false", *value);
  return result;
}

// Returns how many items or fields to reserve: enough for any honest pod, and no more than that whatever a
// hostile one holds.
template <class List>
std::size_t count_to_reserve(std::optional<Element> value) {
  constexpr std::size_t kEnough = 64;
  List list;
  return value && value->get(list) == simdjson::SUCCESS ? std::min(list.size(), kEnough) : 0;
}
inline std::size_t items_to_reserve(std::optional<Element> value) {
  return count_to_reserve<simdjson::dom::array>(value);
}
inline std::size_t fields_to_reserve(std::optional<Element> value) {
  return count_to_reserve<simdjson::dom::object>(value);
}

// Calls visit(element, path) for each item; absent is an empty list.
template <class Visit>
void each_item(std::optional<Element> value, const Path& path, Failure& failure, Visit&& visit) {
  if (!value) return;
  simdjson::dom::array array;
  if (value->get(array) != simdjson::SUCCESS) return failure.mismatch(path, "a list", *value);
  int position = 0;
  for (const Element item : array) {
    if (failure.stopped()) return;
    const Path here = path.item(position++);
    visit(item, here);
  }
}

// Calls visit(key, element, path) for each field; absent is an empty object.
template <class Visit>
void each_field(std::optional<Element> value, const Path& path, Failure& failure, Visit&& visit) {
  if (!value) return;
  simdjson::dom::object object;
  if (value->get(object) != simdjson::SUCCESS) return failure.mismatch(path, "an object", *value);
  for (auto field = object.begin(); field != object.end(); ++field) {
    if (failure.stopped()) return;
    const Path here = path.field(field.key());
    visit(here.key, field.value(), here);
  }
}

}  // namespace nccl_env::json
