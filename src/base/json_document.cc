// SPDX-License-Identifier: Apache-2.0
#include "json_document.h"

#include <iterator>

#include "document_builder.h"

namespace nccl_env {
namespace {

using nlohmann::json;

// Lets the event handler know how far the parser has read, which nlohmann does not tell it.
class WatchedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  WatchedIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  WatchedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const WatchedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const WatchedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 2: WHAT; last read: '…'; expected …"
std::string sentence_of(const std::string& what) {
  constexpr std::size_t kShown = 160;
  auto start = what.find("column ");
  start = start == what.npos ? what.find("] ") : what.find(": ", start);
  const std::string sentence = what.substr(start == what.npos ? 0 : start + 2);
  return sentence.substr(0, sentence.find("; last read: ")).substr(0, kShown);
}

class JsonEvents {
 public:
  JsonEvents(const char* begin, const char*& furthest) : begin_(begin), furthest_(furthest) {}

  bool null() { return builder_.add(nullptr); }
  bool boolean(bool value) { return builder_.add(value); }
  bool number_integer(json::number_integer_t value) { return builder_.add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return builder_.add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return builder_.add(value); }
  bool string(std::string& value) { return builder_.add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return builder_.open(json::object()) || refuse(); }
  bool key(std::string& name) { return builder_.key(std::move(name)) || refuse(); }
  bool end_object() { return builder_.close() != nullptr; }
  bool start_array(std::size_t) { return builder_.open(json::array()) || refuse(); }
  bool end_array() { return builder_.close() != nullptr; }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    problem_ = TextProblem{position > 0 ? position - 1 : 0, sentence_of(error.what())};
    return false;
  }

  [[nodiscard]] json take() { return builder_.take(); }
  [[nodiscard]] const TextProblem& problem() const { return problem_; }

 private:
  bool refuse() {
    problem_ = TextProblem{static_cast<std::size_t>(furthest_ - begin_) - 1, builder_.problem()};
    return false;
  }

  const char* begin_;
  const char*& furthest_;
  DocumentBuilder builder_;
  TextProblem problem_;
};

}  // namespace

std::variant<json, TextProblem> parse_json_document(std::string_view text) {
  const char* const begin = text.data();
  const char* furthest = begin;
  JsonEvents events(begin, furthest);
  const WatchedIterator first(begin, &furthest);
  const WatchedIterator last(begin + text.size(), &furthest);
  if (json::sax_parse(first, last, &events)) return events.take();
  return events.problem();
}

}  // namespace nccl_env
