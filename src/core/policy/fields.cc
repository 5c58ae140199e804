// SPDX-License-Identifier: Apache-2.0
#include "policy/fields.h"

#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

constexpr std::size_t kLongestGlob = 320;  // an extended resource name: 253 + '/' + 63, and room for brackets

}  // namespace

std::string describe(json::Element value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::NULL_VALUE:
      return "nothing (null)";
    case Type::BOOL:
      return simdjson::minify(value);
    case Type::STRING:
      return "the string " + in_quotes(value.get_string().value_unsafe());
    case Type::ARRAY:
      return "a list";
    case Type::OBJECT:
      return "an object";
    case Type::INT64:
    case Type::UINT64:
    case Type::DOUBLE:
      break;
  }
  return "the number " + simdjson::minify(value);
}

std::string wrong_type(json::Element value) {
  const std::string found = "expected a string, found " + describe(value);
  return value.is_number() || value.is_bool() ? found + ": quote it: \"" + simdjson::minify(value) + '"'
                                              : found;
}

void PolicyRefusals::add(const json::Path& at, std::string_view message) {
  findings_->error(at.text(), std::string(message));
}

void PolicyRefusals::mismatch(const json::Path& at, std::string_view wanted, json::Element found) {
  add(at, wanted == "a string" ? wrong_type(found)
                               : "expected " + std::string(wanted) + ", found " + describe(found));
}

void PolicyRefusals::bad_integer(const json::Path& at, int least, int most, json::Element found) {
  const std::string wanted = "an integer in " + std::to_string(least) + ".." + std::to_string(most);
  std::string_view text;
  const bool quoted = found.get(text) == simdjson::SUCCESS && plain_decimal(text).has_value();
  mismatch(at, quoted ? wanted + " without quotes" : wanted, found);
}

void PolicyRefusals::bad_list(const json::Path& at, std::size_t most, json::Element found) {
  simdjson::dom::array list;
  if (found.get(list) != simdjson::SUCCESS) return mismatch(at, "a list", found);
  add(at, std::to_string(list.size()) + " entries: at most " + std::to_string(most));
}

void PolicyInput::expected(std::string_view name, std::string_view wanted) const {
  if (const auto found = fields.find(name)) fields.refusals().mismatch(fields.path(name), wanted, *found);
}

std::optional<std::string> name_glob_problem(std::string_view glob) {
  if (glob.empty()) return "is empty, and matches nothing";
  if (glob.size() > kLongestGlob) return "has more than 320 bytes";
  if (!is_printable_ascii(glob) || glob.find(' ') != std::string_view::npos) {
    return in_quotes(glob) + " holds a blank or a character that is not printable ASCII";
  }
  return glob_problem(glob);
}

std::string meant_glob(std::string_view glob) {
  const bool closed = glob.ends_with('}');
  if (closed) glob.remove_suffix(1);
  const std::size_t begin = glob.find_last_not_of("0123456789-,.");
  if (begin == glob.npos || closed != (glob[begin] == '{')) return {};
  const bool opened = closed || glob[begin] == '[';
  std::string set(glob.substr(begin + 1));
  const std::size_t written = set.size();
  if (written == 4 && set.find("..") == 1) set.replace(1, 2, "-");
  const bool range =
      set.size() == 3 && set[1] == '-' && is_digit(set[0]) && is_digit(set[2]) && set[0] < set[2];
  if (!range) std::erase(set, ',');
  const bool list = opened && set.size() > 1 && 2 * set.size() == written + 1 &&
                    std::all_of(set.begin(), set.end(), is_digit);
  if (!range && !list) return {};
  return std::string(glob.substr(0, begin + (opened ? 0 : 1))) + "[" + set + "]";
}

}  // namespace nccl_env
