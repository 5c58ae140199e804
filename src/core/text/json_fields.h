// SPDX-License-Identifier: Apache-2.0
// Reads the fields of one JSON object strictly and notes every refusal under the field's path, so that
// whoever wrote the object hears of all mistakes at once. Null counts as absent, as it does in Kubernetes.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/result.h"
#include "text/json_path.h"

namespace nccl_env::json {

class Refusals {
 public:
  void add(std::string_view path, std::string_view message);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string sentence() const;

 private:
  std::string text_;
  std::size_t count_ = 0;
};

class Fields {
 public:
  using Element = simdjson::dom::element;

  // Keeps references: the document, what `at` leads back to, and `refusals` outlive it. A value that is not
  // an object is refused here, and so is a key that stands twice: readers disagree on which of the two
  // counts.
  Fields(Element value, Path at, Refusals& refusals);

  [[nodiscard]] Path path(std::string_view name) const { return path_.field(name); }
  [[nodiscard]] std::optional<Element> find(std::string_view name) const;  // empty if absent
  void refuse(std::string_view name, std::string_view message) const;
  void require(std::string_view name) const;

  // An absent or refused field is empty.
  [[nodiscard]] std::optional<int> integer(std::string_view name, int least, int most) const;
  [[nodiscard]] std::optional<double> number(std::string_view name, double least, double most) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> text(std::string_view name) const;
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

  // Every element of an array of objects: `read(const Fields&) -> T`.
  template <class Read>
  auto objects(std::string_view name, std::size_t most, const Read& read) const
      -> std::optional<std::vector<decltype(read(std::declval<const Fields&>()))>> {
    const auto elements = array(name, most);
    if (!elements) return std::nullopt;
    std::vector<decltype(read(std::declval<const Fields&>()))> result;
    result.reserve(elements->size());
    const Path list = path(name);
    for (const Element element : *elements) {
      const Path at = list.item(static_cast<int>(result.size()));
      result.push_back(read(Fields(element, at, *refusals_)));
    }
    return result;
  }

  // Every element of an array of texts that `parse` accepts.
  template <class Parse>
  auto texts(std::string_view name, std::size_t most, const Parse& parse) const
      -> std::optional<std::vector<std::decay_t<decltype(*parse(std::string_view()))>>> {
    const auto elements = array(name, most);
    if (!elements) return std::nullopt;
    std::vector<std::decay_t<decltype(*parse(std::string_view()))>> result;
    result.reserve(elements->size());
    const Path list = path(name);
    int at = 0;
    for (const Element element : *elements) {
      const Path place = list.item(at++);
      std::string_view text;
      if (element.get(text) != simdjson::SUCCESS) {
        refusals_->add(place.text(), "must be a string");
      } else if (auto made = parse(text); made.ok()) {
        result.push_back(std::move(made).value());
      } else {
        refusals_->add(place.text(), made.error().message);
      }
    }
    return result;
  }

 private:
  std::optional<simdjson::dom::object> object_;
  // Behind the field that was found last: who writes an object in the order in which it is read has the next
  // one here.
  mutable std::optional<simdjson::dom::object::iterator> next_;
  Path path_;
  Refusals* refusals_;
};

}  // namespace nccl_env::json
