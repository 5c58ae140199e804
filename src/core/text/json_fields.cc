// SPDX-License-Identifier: Apache-2.0
#include "text/json_fields.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_cost.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env::json {
namespace {

constexpr std::size_t kNamed = 20;  // refusals in one sentence, which must fit a log line and an event
// Bytes of a key in refusals: more than Kubernetes' own keys can have (253/63); a longer, hostile key is cut.
constexpr std::size_t kMaxShownKey = 320;

bool is_plain_word(std::string_view name) {
  return !name.empty() && name.size() <= 128 &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '_'; });
}

// One of 64 bits. All fields of a table have different ones, and so do those of its ports.
std::uint64_t bit_of(std::string_view key) {
  const int sum = key.empty() ? 0 : key.front() + 31 * key.back() + 28 * static_cast<int>(key.size() % 64);
  return std::uint64_t{1} << (static_cast<unsigned>(sum) % 64);
}

std::string unknown(std::string_view name, std::span<const std::string_view> accepted) {
  const std::string_view meant = nearest(name, accepted);
  return meant.empty() ? "unknown field: accepted is " + one_of(accepted)
                       : "unknown field: do you mean " + std::string(meant) + "?";
}

}  // namespace

Result<Element> parse(simdjson::dom::parser& parser, std::string_view text, bool padded) {
  if (holds_costly_numbers(text)) return Error{"the document " + std::string(kCostlyNumbers)};
  Element root;
  const auto error = parser.parse(text.data(), text.size(), !padded).get(root);
  // In our own words: simdjson's differ between its versions.
  if (error == simdjson::DEPTH_ERROR)
    return Error{"not JSON of a few levels: lists and objects nest too deep"};
  if (error != simdjson::SUCCESS)
    return Error{"not JSON: it is empty, cut, or lacks a comma, bracket or key"};
  return root;
}

std::string Path::text() const {
  std::string prefix = parent ? parent->text() : std::string();
  if (index >= 0) return prefix + "[" + std::to_string(index) + "]";
  if (quoted && !is_plain_word(key)) return prefix + "[" + in_quotes(key) + "]";
  if (!prefix.empty() && !key.empty()) prefix += '.';
  return prefix.append(prefix_of(key, kMaxShownKey));
}

void Refusals::mismatch(const Path& at, std::string_view wanted, Element /*found*/) {
  add(at, "must be " + std::string(wanted));
}

void Refusals::bad_integer(const Path& at, int least, int most, Element found) {
  mismatch(at, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), found);
}

void Refusals::bad_list(const Path& at, std::size_t most, Element found) {
  simdjson::dom::array list;
  const bool is_list = found.get(list) == simdjson::SUCCESS;
  mismatch(at,
           "an array of at most " + std::to_string(most) +
               (is_list ? ", not " + std::to_string(list.size()) : std::string()),
           found);
}

void Failure::add(const Path& at, std::string_view what) {
  if (stopped_) return;
  stopped_ = true;
  std::string message = at.text();
  if (!message.empty()) message += ": ";
  error_ = Error{message.append(what)};
}

void Sentence::add(const Path& at, std::string_view message) {
  if (++count_ > kNamed) return;
  const std::string where = at.text();
  if (!text_.empty()) text_ += "; ";
  text_.append(where.empty() ? "object" : where).append(": ").append(message);
}

std::string Sentence::text() const {
  return count_ <= kNamed ? text_ : text_ + "; and " + std::to_string(count_ - kNamed) + " more";
}

std::string one_of(std::span<const std::string_view> words) {
  std::string out = "one of ";
  for (const std::string_view word : words) out.append(word == words.front() ? "" : ", ").append(word);
  return out;
}

std::optional<std::string_view> repeated_key(simdjson::dom::object object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (auto field = object.begin(); field != object.end(); ++field) keys.push_back(field.key());
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  return twice == keys.end() ? std::nullopt : std::optional(*twice);
}

Fields::Fields(Element value, Path at, Refusals& refusals, std::span<const std::string_view> accepted)
    : path_(at), refusals_(&refusals) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    refusals.mismatch(path_, "an object", value);
    return;
  }
  object_ = object;
  next_ = object.begin();
  for (auto field = object.begin(); field != object.end(); ++field) bits_ |= bit_of(field.key());
  const bool may_repeat = static_cast<std::size_t>(std::popcount(bits_)) < object.size();
  if (const auto key = may_repeat ? repeated_key(object) : std::nullopt)
    refusals.add(path_.entry(*key), "stands twice");
  if (accepted.empty()) return;
  for (auto field = object.begin(); field != object.end() && !refusals.is_full(); ++field) {
    if (std::find(accepted.begin(), accepted.end(), field.key()) == accepted.end())
      refusals.add(path_.entry(field.key()), unknown(field.key(), accepted));
  }
}

std::optional<Element> Fields::find(std::string_view name) const {
  if ((bits_ & bit_of(name)) == 0) return std::nullopt;
  auto at = *next_;
  if (at == object_->end() || !is_key(at.key(), name)) {
    at = object_->begin();
    while (at != object_->end() && !is_key(at.key(), name)) ++at;
    if (at == object_->end()) return std::nullopt;
  }
  const Element found = at.value();
  next_ = ++at;
  return found.is_null() && !refusals_->refuses_null() ? std::nullopt : std::optional(found);
}

void Fields::refuse(std::string_view name, std::string_view message) const {
  refusals_->add(path(name), message);
}

void Fields::require(std::string_view name) const {
  if (object_ && !find(name)) refuse(name, "is missing");
}

template <class Value>
std::optional<Value> Fields::get(std::string_view name, std::string_view wanted) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  Value given{};
  if (value->get(given) == simdjson::SUCCESS) return given;
  refusals_->mismatch(path(name), wanted, *value);
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  return get<bool>(name, "true or false");
}

std::optional<std::string_view> Fields::text(std::string_view name) const {
  return get<std::string_view>(name, "a string");
}

std::optional<Element> Fields::object(std::string_view name) const {
  const auto value = find(name);
  if (!value || value->is_object()) return value;
  refusals_->mismatch(path(name), "an object", *value);
  return std::nullopt;
}

std::optional<int> Fields::integer(std::string_view name, int least, int most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  std::int64_t number = 0;
  if (value->get(number) == simdjson::SUCCESS && number >= least && number <= most)
    return static_cast<int>(number);
  refusals_->bad_integer(path(name), least, most, *value);
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name, double least, double most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  double number = 0;
  if (value->get(number) == simdjson::SUCCESS && number >= least && number <= most) return number;
  refusals_->mismatch(path(name),
                      "a number from " + nlohmann::json(least).dump() + " to " + nlohmann::json(most).dump(),
                      *value);
  return std::nullopt;
}

std::optional<simdjson::dom::array> Fields::array(std::string_view name, std::size_t most) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  simdjson::dom::array given;
  if (value->get(given) == simdjson::SUCCESS && given.size() <= most) return given;
  refusals_->bad_list(path(name), most, *value);
  return std::nullopt;
}

}  // namespace nccl_env::json
