// SPDX-License-Identifier: Apache-2.0
// Reads JSON by nlohmann's events and YAML by yaml-cpp's. Both build a document under the same bounds, and
// share the remarks on it, so both are in one file, although it is long.
#include "nccl_env/base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <istream>
#include <iterator>
#include <map>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "nccl_env/utf8.h"

namespace nccl_env {
namespace {

using nlohmann::json;
using Documents = std::vector<json>;

// Says where a text cannot be read: the offset of a byte for JSON, and line and column for YAML.
struct TextProblem {
  std::size_t offset = 0;
  std::string sentence;
};

struct YamlProblem {
  int line = 1;  // both from 1
  int column = 1;
  std::string sentence;
};

// Builds one JSON value from a reader's events, and holds it to the bounds that JSON and YAML share.
class DocumentBuilder {
 public:
  static constexpr std::size_t kMaxDepth = 64;  // Kubernetes objects stay below twenty

  // If `repeated` is given, it is called for each repeated key, and the last one counts; else repeated keys
  // are refused.
  using Repeated = std::function<void(const std::string& problem)>;
  explicit DocumentBuilder(Repeated repeated = nullptr) : repeated_(std::move(repeated)) {}

  // Notes in `lines` where each value stands; at_line() has to be called before each event.
  void note_lines(FieldLines* lines) { lines_ = lines; }
  [[nodiscard]] bool notes_lines() const { return lines_ != nullptr; }
  void at_line(int line) { line_ = line; }

  void add(json value) { place(std::move(value)); }
  // Each returns false where the event is refused; problem() says why, and building ends there.
  bool key(std::string name);
  bool open(json empty_container);
  void close() {
    open_.pop_back();
    if (!lines_) return;
    path_.resize(outer_.back());
    outer_.pop_back();
  }

  [[nodiscard]] bool expects_key() const { return !open_.empty() && open_.back()->is_object() && !has_key_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] json& innermost() { return *open_.back(); }
  // The finished document; the builder is then empty.
  json take() { return std::exchange(root_, nullptr); }

 private:
  json* place(json value);
  void note_place();

  // A hostile text has long keys at every level, and more fields than anyone names.
  static constexpr std::size_t kLongestPath = 256, kMostLines = 65'536;

  FieldLines* lines_ = nullptr;
  int line_ = 0, key_line_ = 0;
  std::string path_;                // of the innermost open object or list
  std::vector<std::size_t> outer_;  // lengths of path_ for those around it
  std::string placed_;              // path of the value that was placed last
  json root_;
  std::vector<json*> open_;  // only the innermost grows, so the pointers hold
  std::string key_;
  bool has_key_ = false;
  std::string problem_;
  Repeated repeated_;
};

void DocumentBuilder::note_place() {
  placed_ = path_;
  if (path_.size() >= kLongestPath || lines_->size() >= kMostLines) return;
  const bool item = !open_.empty() && open_.back()->is_array();
  if (item) {
    placed_ += "[" + std::to_string(open_.back()->size()) + "]";
  } else if (!open_.empty()) {
    placed_.append(path_.empty() ? "" : ".").append(key_, 0, kLongestPath);
  }
  lines_->insert_or_assign(placed_, item || open_.empty() ? line_ : key_line_);
}

json* DocumentBuilder::place(json value) {
  if (lines_) note_place();
  if (open_.empty()) return &(root_ = std::move(value));
  json& parent = *open_.back();
  if (parent.is_array()) return &parent.emplace_back(std::move(value));
  has_key_ = false;
  return &(parent[std::move(key_)] = std::move(value));
}

bool DocumentBuilder::key(std::string name) {
  if (open_.back()->contains(name)) {
    problem_ = "the key " + json(name.substr(0, 64)).dump(-1, ' ', true, json::error_handler_t::replace) +
               " stands twice in one object";
    if (!repeated_) return false;
    repeated_(problem_);
  }
  key_ = std::move(name);
  key_line_ = line_;
  has_key_ = true;
  return true;
}

bool DocumentBuilder::open(json empty_container) {
  if (open_.size() >= kMaxDepth) {
    problem_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
    return false;
  }
  open_.push_back(place(std::move(empty_container)));
  if (lines_) {
    outer_.push_back(path_.size());
    path_ = placed_;
  }
  return true;
}

// Remarks of a reader that goes on; each with its line, from 1.
class Remarks {
 public:
  static constexpr std::size_t kMost = 16;

  Remarks(std::string_view file_name, std::vector<std::string>& into) : file_name_(file_name), into_(into) {}
  [[nodiscard]] bool is_full() const { return into_.size() >= kMost; }
  void clear() { into_.clear(); }
  void add(std::size_t line, const std::string& problem) {
    if (is_full()) return;
    into_.push_back(std::string(file_name_) + ":" + std::to_string(line) + ": " + problem +
                    "; the last one counts, as for kubectl");
  }

 private:
  std::string_view file_name_;
  std::vector<std::string>& into_;
};

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
  // Reads from `furthest` on, which is in the text that begins at `begin`.
  JsonEvents(const char* begin, const char*& furthest, Remarks* remarks, FieldLines* lines)
      : begin_(begin), start_(furthest), furthest_(furthest), counted_(begin), builder_(remember(remarks)) {
    builder_.note_lines(lines);
  }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(json::object()); }
  bool key(std::string& name) {
    count_lines();
    return builder_.key(std::move(name)) || refuse();
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
    const auto before = static_cast<std::size_t>(start_ - begin_);
    problem_ = TextProblem{before + (position > 0 ? position - 1 : 0), sentence_of(error.what())};
    return false;
  }

  [[nodiscard]] json take() { return builder_.take(); }
  [[nodiscard]] const TextProblem& problem() const { return problem_; }

 private:
  bool add(json value) {
    count_lines();
    builder_.add(std::move(value));
    return true;
  }
  bool open(json empty_container) {
    count_lines();
    return builder_.open(std::move(empty_container)) || refuse();
  }
  // The reader is behind the key or the value by now, and behind a number by one character more.
  void count_lines() {
    if (!builder_.notes_lines()) return;
    line_ += static_cast<int>(std::count(counted_, furthest_, '\n'));
    counted_ = furthest_;
    builder_.at_line(line_);
  }
  bool close() {
    builder_.close();
    return true;
  }
  DocumentBuilder::Repeated remember(Remarks* remarks) {
    if (!remarks) return nullptr;
    return [this, remarks](const std::string& problem) {
      if (remarks->is_full()) return;
      const auto lines = std::count(begin_, furthest_, '\n');
      remarks->add(static_cast<std::size_t>(lines) + 1, problem);
    };
  }
  bool refuse() {
    problem_ = TextProblem{static_cast<std::size_t>(furthest_ - begin_) - 1, builder_.problem()};
    return false;
  }

  const char* begin_;
  const char* start_;
  const char*& furthest_;
  const char* counted_;
  int line_ = 1;
  DocumentBuilder builder_;
  TextProblem problem_;
};

// Reads one JSON value and nothing else.
std::variant<json, TextProblem> parse_json_document(std::string_view text, FieldLines* lines) {
  const char* const begin = text.data();
  const char* furthest = begin;
  JsonEvents events(begin, furthest, nullptr, lines);
  const WatchedIterator first(begin, &furthest);
  const WatchedIterator last(begin + text.size(), &furthest);
  if (json::sax_parse(first, last, &events)) return events.take();
  return events.problem();
}

// Reads objects and lists that follow each other, as kubectl does.
std::variant<Documents, TextProblem> parse_json_documents(std::string_view text, Remarks* remarks) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* furthest = begin;
  Documents documents;
  for (;;) {
    const auto at = text.find_first_not_of(" \t\r\n", static_cast<std::size_t>(furthest - begin));
    if (at == text.npos) return documents;
    furthest = begin + at;
    JsonEvents events(begin, furthest, remarks, nullptr);
    // Only behind an object or a list does the reader know the end without looking further.
    const bool more = *furthest == '{' || *furthest == '[';
    if (!json::sax_parse(WatchedIterator(furthest, &furthest), WatchedIterator(end, &furthest), &events,
                         json::input_format_t::json, !more))
      return events.problem();
    if (json document = events.take(); !document.is_null()) documents.push_back(std::move(document));
  }
}

constexpr std::string_view kDigits = "0123456789";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool all_of_set(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == text.npos;
}

std::string_view take_digits(std::string_view& text) {
  const auto digits = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(digits.size());
  return digits;
}

// (\.[0-9]+ | [0-9]+(\.[0-9]*)?) ([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  const bool whole = !take_digits(text).empty();
  bool fraction = false;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    fraction = !take_digits(text).empty();
  }
  if (!whole && !fraction) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return all_of_set(text, kDigits);
}

std::optional<json> whole_number(std::string_view digits, int base, bool negative) {
  std::uint64_t value = 0;
  const auto* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value, base).ec != std::errc()) return std::nullopt;
  if (!negative) return json(value);
  if (value > std::uint64_t{1} << 63U) return std::nullopt;
  return json(static_cast<std::int64_t>(~value + 1));
}

Result<json> floating(std::string_view digits, bool negative) {
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc()) return Error{"the number is out of range"};
  return json(negative ? -value : value);
}

// Returns the value of a plain scalar in the core schema of YAML 1.2 (section 10.3.2).
Result<json> resolve_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return json(nullptr);
  if (is_one_of(text, {"true", "True", "TRUE"})) return json(true);
  if (is_one_of(text, {"false", "False", "FALSE"})) return json(false);
  if (text.starts_with("0o") && all_of_set(text.substr(2), "01234567")) {
    if (auto value = whole_number(text.substr(2), 8, false)) return *std::move(value);
    return Error{"the number is out of range"};
  }
  if (text.starts_with("0x") && all_of_set(text.substr(2), "0123456789abcdefABCDEF")) {
    if (auto value = whole_number(text.substr(2), 16, false)) return *std::move(value);
    return Error{"the number is out of range"};
  }
  const bool negative = text.starts_with('-');
  const auto number = negative || text.starts_with('+') ? text.substr(1) : text;
  if (all_of_set(number, kDigits)) {
    if (auto value = whole_number(number, 10, negative)) return *std::move(value);
  }
  if (is_float(number)) return floating(number, negative);
  if (is_one_of(number, {".inf", ".Inf", ".INF"}) || is_one_of(text, {".nan", ".NaN", ".NAN"})) {
    return Error{"JSON has no such number; put it in quotes if it is meant as text"};
  }
  return json(std::string(text));
}

// "0644" -> 420: a whole number of YAML 1.1 as kubectl reads it, without its underscores.
std::optional<json> old_whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto in_base = [&](std::string_view digits, int base, std::string_view set) {
    return all_of_set(digits, set) ? whole_number(digits, base, negative) : std::nullopt;
  };
  if (text.size() < 2 || text[0] != '0') return in_base(text, 10, kDigits);
  const std::string_view digits = text.substr(2);
  switch (text[1]) {
    case 'x':
    case 'X':
      return in_base(digits, 16, "0123456789abcdefABCDEF");
    case 'o':
    case 'O':
      return in_base(digits, 8, "01234567");
    case 'b':
    case 'B':
      return in_base(digits, 2, "01");
    default:
      return in_base(text.substr(1), 8, "01234567");
  }
}

// Returns the value of a plain scalar in a manifest, where kubectl takes the words and numbers of YAML 1.1,
// too (sigs.k8s.io/yaml, goyaml.v2/resolve.go; its output compared).
Result<json> resolve_manifest_scalar(std::string_view text) {
  if (is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})) return json(true);
  if (is_one_of(text, {"n", "N", "no", "No", "NO", "off", "Off", "OFF"})) return json(false);
  if (text.empty() || std::string_view("0123456789+-.").find(text[0]) == std::string_view::npos)
    return resolve_plain_scalar(text);
  std::string bare(text);
  std::erase(bare, '_');
  if (auto number = old_whole_number(bare)) return *std::move(number);
  auto value = resolve_plain_scalar(bare);
  return value && value->is_string() ? json(std::string(text)) : value;
}

// yaml-cpp's scanner keeps some 250 bytes for each "[" until it knows whether the list is a key: 8 MiB of
// them took 2 GB before the first event. So the scanner may read only this far beyond the last event, and no
// scalar, list or object in flow style is longer.
constexpr std::size_t kMaxAhead = std::size_t{512} << 10U;

struct Refused {
  YAML::Mark mark;
  std::string sentence;
};

// Gives yaml-cpp's scanner the text, and throws Refused if the scanner reads too far ahead.
class ScannedText final : public std::streambuf {
 public:
  explicit ScannedText(std::string_view text) : text_(text) {}
  void note_event(const YAML::Mark& mark) {
    event_ = given_;
    mark_ = mark;
  }

 protected:
  int_type underflow() override {
    if (given_ == text_.size()) return traits_type::eof();
    if (given_ - event_ > kMaxAhead)
      throw Refused{mark_, "a text, or a list or object in flow style, of more than 512 KiB follows"};
    constexpr std::size_t kChunk = 4096;
    char* const chunk = text_.data() + given_;
    given_ += std::min(kChunk, text_.size() - given_);
    setg(chunk, chunk, text_.data() + given_);
    return traits_type::to_int_type(*chunk);
  }

 private:
  std::string text_;
  std::size_t given_ = 0;
  std::size_t event_ = 0;  // given_ at the last event
  YAML::Mark mark_;
};

// Values behind anchors (&name). Nine lines of aliases of aliases make a billion values, so the bytes that
// are kept and written out are counted over the whole text.
class Anchors {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20U;  // as much as a text may have

  void clear() { kept_.clear(); }
  // false: too much.
  bool keep(YAML::anchor_t anchor, const json& value) {
    const Kept& kept = kept_[anchor] = {value, weigh(value)};
    return spend(kept);
  }
  struct Weight {
    std::size_t bytes = 0;
    std::size_t depth = 0;
  };
  struct Kept {
    json value;
    Weight weight;
  };
  [[nodiscard]] const Kept* find(YAML::anchor_t anchor) const {
    const auto found = kept_.find(anchor);
    return found == kept_.end() ? nullptr : &found->second;
  }
  bool spend(const Kept& kept) { return (spent_ += kept.weight.bytes) <= kMostBytes; }

 private:
  static Weight weigh(const json& value) {
    constexpr std::size_t kNode = 64;  // of memory, with its place in a list or object
    Weight sum{kNode, 0};
    if (const auto* text = value.get_ptr<const std::string*>()) sum.bytes += text->size();
    if (!value.is_structured()) return sum;
    for (const auto& [key, child] : value.items()) {
      const Weight weight = weigh(child);
      sum.bytes += weight.bytes + key.size();
      sum.depth = std::max(sum.depth, weight.depth);
    }
    ++sum.depth;
    return sum;
  }

  std::map<YAML::anchor_t, Kept> kept_;
  std::size_t spent_ = 0;
};

// Uses events, because yaml-cpp's nodes accept duplicate keys and follow aliases without a bound. A
// manifest's anchors, aliases and merge keys are written out, as kubectl does; elsewhere they are refused,
// because objects of ours never have them.
class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(std::string_view text, ScannedText& scanned, Remarks* remarks)
      : text_(text), scanned_(scanned), is_manifest_(remarks != nullptr), builder_(remarks ? [this, remarks](const std::string& problem) {
          remarks->add(static_cast<std::size_t>(std::max(key_line_, 0)) + 1, problem);
        } : DocumentBuilder::Repeated()) {}

  json take() { return builder_.take(); }
  void note_lines(FieldLines* lines) { builder_.note_lines(lines); }

  // yaml-cpp takes a rest after a document for another document, and never ends if it cannot read the rest
  // ("a: 1\n]").
  void OnDocumentStart(const YAML::Mark& mark) override {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (!first_ && !text_.substr(std::min(at, text_.size())).starts_with("---")) {
      throw Refused{mark, "a document was complete before this; the next one starts with ---"};
    }
    first_ = false;
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, anchor);
    if (builder_.expects_key()) throw Refused{mark, "a key may not be empty or null"};
    keep(mark, anchor, nullptr);
    builder_.add(nullptr);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    begin(mark, anchor);
    // yaml-cpp makes single bytes of \N and \_.
    if (!is_utf8(text))
      throw Refused{mark, "the escapes \\N and \\_ are not read here; write \\u0085 and \\u00a0"};
    const bool plain = tag == "?";
    if (!plain && has_open_quote(mark)) throw Refused{mark, "the quote that begins here is not closed"};
    if (!plain && tag != "!" && tag != "tag:yaml.org,2002:str") refuse_tag(mark, tag);
    if (builder_.expects_key()) {
      if (anchor != 0) throw Refused{mark, "a key may not have an anchor"};
      if (plain && text == "<<") begin_merge(mark);
      key_line_ = mark.line;
      if (!builder_.key(text)) throw Refused{mark, builder_.problem()};
      return;
    }
    auto value = !plain         ? Result<json>(text)
                 : is_manifest_ ? resolve_manifest_scalar(text)
                                : resolve_plain_scalar(text);
    if (!value) throw Refused{mark, value.error().message};
    keep(mark, anchor, *value);
    builder_.add(*std::move(value));
  }

  // yaml-cpp ends a quoted text with the file where a line feed is its last byte.
  [[nodiscard]] bool has_open_quote(const YAML::Mark& mark) const {
    std::string_view rest =
        text_.substr(std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size()));
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return false;
    const char quote = rest[0];
    rest.remove_prefix(1);
    for (std::size_t at = 0; at < rest.size(); ++at) {
      const bool escaped = quote == '"' ? rest[at] == '\\' : rest.substr(at, 2) == "''";
      if (escaped)
        ++at;
      else if (rest[at] == quote)
        return false;
    }
    return true;
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, anchor);
    if (builder_.expects_key()) throw Refused{mark, "a key may not be an alias"};
    const Anchors::Kept* kept = anchors_.find(anchor);
    if (!kept) throw Refused{mark, "an alias inside its own anchor"};
    if (builder_.depth() + kept->weight.depth > DocumentBuilder::kMaxDepth)
      throw Refused{mark, "nested deeper than " + std::to_string(DocumentBuilder::kMaxDepth) + " levels"};
    if (!anchors_.spend(*kept)) refuse_size(mark);
    builder_.add(kept->value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, anchor);
    if (tag != "?" && !tag.empty() && tag != "!" && tag != "tag:yaml.org,2002:seq") refuse_tag(mark, tag);
    open(mark, json::array(), anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, anchor);
    if (tag != "?" && !tag.empty() && tag != "!" && tag != "tag:yaml.org,2002:map") refuse_tag(mark, tag);
    open(mark, json::object(), anchor);
  }
  void OnMapEnd() override {
    if (!merges_.empty() && merges_.back().depth == builder_.depth()) merge(builder_.innermost());
    close();
  }

 private:
  // `anchor`: 0 for a value without one.
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    scanned_.note_event(mark);
    builder_.at_line(std::max(mark.line, 0) + 1);
    if (anchor != 0 && !is_manifest_)
      throw Refused{mark, "anchors and aliases (& and *) are not read here; write the value out"};
  }

  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw Refused{mark, "the tag " +
                            json(tag.substr(0, 64)).dump(-1, ' ', true, json::error_handler_t::replace) +
                            " is not supported"};
  }

  [[noreturn]] static void refuse_size(const YAML::Mark& mark) {
    throw Refused{mark, "the values of anchors and aliases (& and *) are more than 8 MiB"};
  }

  void keep(const YAML::Mark& mark, YAML::anchor_t anchor, const json& value) {
    if (anchor != 0 && !anchors_.keep(anchor, value)) refuse_size(mark);
  }

  void open(const YAML::Mark& mark, json container, YAML::anchor_t anchor) {
    if (builder_.expects_key()) throw Refused{mark, "a key may not be a list or an object"};
    if (!builder_.open(std::move(container))) throw Refused{mark, builder_.problem()};
    if (anchor != 0) anchored_.push_back({builder_.depth(), mark, anchor});
  }

  void close() {
    if (!anchored_.empty() && anchored_.back().depth == builder_.depth()) {
      keep(anchored_.back().mark, anchored_.back().anchor, builder_.innermost());
      anchored_.pop_back();
    }
    builder_.close();
  }

  void begin_merge(const YAML::Mark& mark) {
    if (!is_manifest_) throw Refused{mark, "merge keys (<<) are not read here; write the fields out"};
    merges_.push_back({builder_.depth(), mark, 0});
  }

  // The object's own fields win, then those of earlier objects (yaml.org/type/merge.html).
  void merge(json& into) {
    const Place place = merges_.back();
    while (!merges_.empty() && merges_.back().depth == place.depth) merges_.pop_back();
    json from = std::move(into["<<"]);
    into.erase("<<");
    if (!from.is_array()) from = json::array({std::move(from)});
    for (json& object : from) {
      if (!object.is_object())
        throw Refused{place.mark, "a merge key (<<) takes an object, or a list of them"};
      into.insert(object.begin(), object.end());
    }
  }

  // An open object or list at whose end something is due.
  struct Place {
    std::size_t depth;
    YAML::Mark mark;
    YAML::anchor_t anchor;
  };

  std::string_view text_;
  ScannedText& scanned_;
  const bool is_manifest_;
  Anchors anchors_;
  std::vector<Place> anchored_;
  std::vector<Place> merges_;
  bool first_ = true;
  int key_line_ = 0;
  DocumentBuilder builder_;
};

YamlProblem problem_at(const YAML::Mark& mark, const std::string& sentence) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, sentence};
}

// Names the most frequent mistake, where yaml-cpp says what it missed.
std::string likely_cause(std::string_view text, const YAML::Exception& error) {
  if (error.msg.find("flow not found") != std::string::npos)  // "hcas: mlx5_[1-8]" within braces
    return "; a [ or { begins a list or a map: quote a text that holds one";
  const auto before =
      text.substr(0, std::min(text.size(), static_cast<std::size_t>(std::max(error.mark.pos, 0))));
  const std::string_view line = text.substr(before.rfind('\n') + 1);
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != indent.npos) return "; the line begins with a tab: YAML takes blanks alone";
  return error.msg.find("not found") != std::string::npos ? "; look at the indentation" : "";
}

// Reads every document that is not null. The text is UTF-8 without control characters.
std::variant<Documents, YamlProblem> parse_yaml_documents(std::string_view text, Remarks* remarks,
                                                          std::vector<FieldLines>* lines) {
  try {
    ScannedText scanned(text);
    std::istream stream(&scanned);
    YAML::Parser parser(stream);
    YamlEvents events(text, scanned, remarks);
    Documents documents;
    FieldLines here;
    if (lines) events.note_lines(&here);
    while (parser.HandleNextDocument(events)) {
      json document = events.take();
      if (lines && !document.is_null()) lines->push_back(here);
      here.clear();
      if (!document.is_null()) documents.push_back(std::move(document));
    }
    return documents;
  } catch (const Refused& refused) {
    return problem_at(refused.mark, refused.sentence);
  } catch (const YAML::Exception& error) {
    return problem_at(error.mark, error.msg + likely_cause(text, error));
  } catch (const std::exception& error) {  // the standard library's, out of yaml-cpp
    return problem_at(YAML::Mark(), error.what());
  }
}

constexpr std::size_t kMaxText = std::size_t{8} << 20U;  // five times what etcd takes for one object
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Windows' programs write UTF-16 behind one of its byte order marks.
std::string encoding_remedy(std::string_view text) {
  const bool utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  return utf16 ? ", but UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)" : ": save it as UTF-8";
}

// yaml-cpp passes bad UTF-8 on, and takes byte 4 for the end of the text.
std::optional<TextProblem> find_bad_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return TextProblem{at, "the text is not UTF-8" + encoding_remedy(text)};
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
      return TextProblem{at, "control character " + std::to_string(byte) + ", as no text has it"};
    }
    at += length;
  }
  return std::nullopt;
}

Error error_at(std::string_view file_name, std::string_view text, const TextProblem& problem) {
  const auto before = text.substr(0, std::min(problem.offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const auto in_line = before.substr(line_start);
  const auto column = std::count_if(in_line.begin(), in_line.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }) +
                      1;
  return Error{std::string(file_name) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
               problem.sentence};
}

Documents one_document(json document) {
  Documents documents;
  if (!document.is_null()) documents.push_back(std::move(document));
  return documents;
}

Result<Documents> parse_text(std::string_view text, std::string_view file_name, Remarks* remarks,
                             std::vector<FieldLines>* lines = nullptr) {
  if (text.size() > kMaxText) return Error{std::string(file_name) + ": larger than 8 MiB"};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with(kByteOrderMark))  // either parser would skip it like the first one
    return Error{std::string(file_name) + ":1:1: a second byte order mark"};
  if (const auto problem = find_bad_character(text)) return error_at(file_name, text, *problem);
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return Documents{};

  const bool only_json = file_name.ends_with(".json");
  const bool like_json = only_json || text[start] == '{' || text[start] == '[';
  std::optional<TextProblem> of_json;
  if (like_json && remarks) {
    auto parsed = parse_json_documents(text, remarks);
    if (auto* documents = std::get_if<Documents>(&parsed)) return std::move(*documents);
    of_json = std::get<TextProblem>(parsed);
    if (only_json) return error_at(file_name, text, std::get<TextProblem>(parsed));
    remarks->clear();
  } else if (like_json) {
    FieldLines here;
    auto parsed = parse_json_document(text, lines ? &here : nullptr);
    if (auto* document = std::get_if<json>(&parsed)) {
      if (lines && !document->is_null()) lines->push_back(std::move(here));
      return one_document(std::move(*document));
    }
    of_json = std::get<TextProblem>(parsed);
    if (only_json) return error_at(file_name, text, std::get<TextProblem>(parsed));
  }
  auto parsed = parse_yaml_documents(text, remarks, lines);
  if (auto* documents = std::get_if<Documents>(&parsed)) return std::move(*documents);
  // A JSON document that is cut: YAML's reader stumbles at its beginning.
  const bool cut = of_json && of_json->offset > text.find_last_not_of(" \t\r\n");
  if (cut) return error_at(file_name, text, *of_json);
  const auto& problem = std::get<YamlProblem>(parsed);
  const bool is_template = text.find("{{") != text.npos;
  return Error{
      std::string(file_name) + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) +
      ": " +
      (is_template ? "a template: render it first (helm template, or what makes manifests of it): " : "") +
      problem.sentence};
}

}  // namespace

Result<Documents> parse_documents(std::string_view text, std::string_view file_name,
                                  std::vector<FieldLines>* lines) {
  return parse_text(text, file_name, nullptr, lines);
}

int line_of_field(const FieldLines& lines, std::string_view path) {
  for (;;) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    if (path.empty()) return 0;
    const std::size_t last = path.find_last_of(".[");
    path = path.substr(0, last == path.npos ? 0 : last);
  }
}

Result<Documents> parse_manifest(std::string_view text, std::string_view file_name,
                                 std::vector<std::string>& remarks) {
  std::vector<std::string> found;
  Remarks into(file_name, found);
  auto documents = parse_text(text, file_name, &into);
  if (documents) remarks.insert(remarks.end(), found.begin(), found.end());
  return documents;
}

}  // namespace nccl_env
