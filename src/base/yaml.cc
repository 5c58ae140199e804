// SPDX-License-Identifier: Apache-2.0
// Reads JSON by nlohmann's events and YAML by yaml-cpp's. Both build a document under the same bounds.
#include "nccl_env/base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "nccl_env/utf8.h"

namespace nccl_env {
namespace {

using nlohmann::json;
using Documents = std::vector<json>;

constexpr std::size_t kMaxText = std::size_t{8} << 20U;  // five times what etcd takes for one object
constexpr std::size_t kMaxDepth = 64;                    // Kubernetes objects stay below twenty

// Thrown where a text is refused, and caught in parse_documents().
struct Refused {
  int line;  // from 1; 0 where it is not known
  std::string sentence;
};

std::string shown_key(const std::string& text) {
  return json(text.substr(0, 64)).dump(-1, ' ', true, json::error_handler_t::replace);
}

// Builds one value from a reader's events, and holds it to the bounds that JSON and YAML share.
class DocumentBuilder {
 public:
  // Notes in `lines`, if it is given, where each value stands.
  explicit DocumentBuilder(FieldLines* lines) : lines_(lines) {}

  // Has to be called before each event of which the line is known.
  void at_line(int line) { line_ = line; }
  void add(json value) { place(std::move(value)); }
  void key(std::string name);
  void open(json empty_container);
  void close() {
    open_.pop_back();
    paths_.pop_back();
  }
  [[noreturn]] void refuse(std::string sentence) const { throw Refused{line_, std::move(sentence)}; }
  [[noreturn]] void refuse_depth() const {
    refuse("nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }

  [[nodiscard]] bool expects_key() const { return !open_.empty() && open_.back()->is_object() && !key_; }
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] json& innermost() { return *open_.back(); }
  // The finished document; the builder is then empty.
  json take() { return std::exchange(root_, nullptr); }

 private:
  json* place(json value);
  void note_line(const std::string& step);

  FieldLines* lines_;
  int line_ = 0;
  std::string placed_;  // path of the value that was placed last
  json root_;
  std::vector<json*> open_;  // only the innermost grows, so the pointers hold
  std::vector<std::string> paths_;
  std::optional<std::string> key_;
};

void DocumentBuilder::note_line(const std::string& step) {
  // A hostile text has long keys at every level, and more fields than anyone names.
  constexpr std::size_t kLongestPath = 256, kMostLines = 65'536;
  placed_ = paths_.empty() ? "" : paths_.back();
  if (placed_.size() < kLongestPath) placed_.append(step, 0, kLongestPath);
  if (lines_->size() < kMostLines) lines_->emplace(placed_, line_);
}

json* DocumentBuilder::place(json value) {
  const bool is_item = !open_.empty() && open_.back()->is_array();
  if (lines_ && is_item) note_line("[" + std::to_string(open_.back()->size()) + "]");
  if (lines_ && open_.empty()) note_line("");
  if (open_.empty()) return &(root_ = std::move(value));
  if (is_item) return &open_.back()->emplace_back(std::move(value));
  return &((*open_.back())[*std::exchange(key_, std::nullopt)] = std::move(value));
}

void DocumentBuilder::key(std::string name) {
  if (open_.back()->contains(name)) refuse("the key " + shown_key(name) + " stands twice in one object");
  if (lines_) note_line((paths_.back().empty() ? "" : ".") + name);
  key_ = std::move(name);
}

void DocumentBuilder::open(json empty_container) {
  if (open_.size() >= kMaxDepth) refuse_depth();
  open_.push_back(place(std::move(empty_container)));
  paths_.push_back(placed_);
}

class JsonEvents {
 public:
  explicit JsonEvents(std::string_view text) : text_(text) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    builder_.key(std::move(name));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    const auto before = text_.substr(0, position > 0 ? position - 1 : 0);
    throw Refused{static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1, "is not valid JSON"};
  }

  [[nodiscard]] json take() { return builder_.take(); }

 private:
  bool add(json value) {
    builder_.add(std::move(value));
    return true;
  }
  bool open(json empty_container) {
    builder_.open(std::move(empty_container));
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  std::string_view text_;
  DocumentBuilder builder_{nullptr};
};

// Reads one JSON value and nothing else.
Documents parse_json(std::string_view text) {
  JsonEvents events(text);
  Documents documents;
  json::sax_parse(text, &events);  // what is not JSON throws
  json document = events.take();
  if (!document.is_null()) documents.push_back(std::move(document));
  return documents;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <class Number, class... Form>
std::from_chars_result read_whole(std::string_view text, Number& into, Form... form) {
  auto read = std::from_chars(text.data(), text.data() + text.size(), into, form...);
  if (read.ptr != text.data() + text.size()) read.ec = std::errc::invalid_argument;
  return read;
}

// "0644" -> 420. The digits have no sign.
std::optional<json> whole_number(std::string_view digits, bool negative) {
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char mark = static_cast<char>(digits[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    digits.remove_prefix(is_one_of({&mark, 1}, {"x", "b", "o"}) ? 2 : 1);
  }
  std::uint64_t value = 0;
  if (read_whole(digits, value, base).ec != std::errc()) return std::nullopt;
  if (!negative) return json(value);
  if (value > std::uint64_t{1} << 63U) return std::nullopt;
  return json(static_cast<std::int64_t>(~value + 1));
}

// Returns the value of a plain scalar as kubectl reads it: with the words and numbers of YAML 1.1
// (sigs.k8s.io/yaml, goyaml.v2/resolve.go; its output compared).
Result<json> resolve_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return json(nullptr);
  if (is_one_of(text, {"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}))
    return json(true);
  if (is_one_of(text, {"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"}))
    return json(false);
  constexpr std::string_view kStarts = "0123456789.";
  std::string number(text);
  std::erase(number, '_');
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') number.erase(0, 1);
  if (text[0] == '_' || number.empty() || kStarts.find(number[0]) == kStarts.npos)
    return json(std::string(text));
  if (is_one_of(number, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}))
    return Error{"JSON has no such number; put it in quotes if it is meant as text"};
  if (auto value = whole_number(number, negative)) return *std::move(value);
  double value = 0;
  const auto read = read_whole(number, value);
  if (read.ec == std::errc::result_out_of_range) return Error{"the number is out of range"};
  return read.ec == std::errc() ? json(negative ? -value : value) : json(std::string(text));
}

// Gives yaml-cpp's scanner the text. The scanner keeps some 250 bytes for each "[" until it knows whether the
// list is a key: 8 MiB of them took 2 GB before the first event. So it may read only this far beyond the last
// event, and no scalar, list or object in flow style is longer.
class ScannedText final : public std::streambuf {
 public:
  explicit ScannedText(std::string_view text) : text_(text) {
    // yaml-cpp ends a quoted text with the file where a line feed is its last byte.
    if (text.ends_with('\n')) text_ += '#';
  }
  void note_event(int line) {
    event_ = given_;
    line_ = line;
  }

 protected:
  int_type underflow() override {
    constexpr std::size_t kMaxAhead = std::size_t{512} << 10U, kChunk = 4096;
    if (given_ == text_.size()) return traits_type::eof();
    if (given_ - event_ > kMaxAhead)
      throw Refused{line_, "a text, or a list or object in flow style, of more than 512 KiB follows"};
    char* const chunk = text_.data() + given_;
    given_ += std::min(kChunk, text_.size() - given_);
    setg(chunk, chunk, text_.data() + given_);
    return traits_type::to_int_type(*chunk);
  }

 private:
  std::string text_;
  std::size_t given_ = 0;
  std::size_t event_ = 0;  // given_ at the last event
  int line_ = 1;
};

std::size_t depth_of(const json& value) {
  std::size_t most = 0;
  if (!value.is_structured()) return most;
  for (const json& child : value) most = std::max(most, depth_of(child));
  return most + 1;
}

int line_of(const YAML::Mark& mark) {
  return std::max(mark.line, 0) + 1;
}

// Uses events, because yaml-cpp's nodes accept duplicate keys and follow aliases without a bound. Anchors,
// aliases and merge keys are written out, as kubectl does.
class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(std::string_view text, ScannedText& scanned, FieldLines* lines)
      : text_(text), scanned_(scanned), builder_(lines) {}

  json take() { return builder_.take(); }

  // yaml-cpp takes a rest after a document for another document, and never ends if it cannot read the rest
  // ("a: 1\n]").
  void OnDocumentStart(const YAML::Mark& mark) override {
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (!first_ && !text_.substr(std::min(at, text_.size())).starts_with("---"))
      throw Refused{line_of(mark), "a document was complete before this; the next one starts with ---"};
    first_ = false;
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, "", "", "a key may not be empty or null");
    add(nullptr, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    begin(mark, tag, "str", "");
    // yaml-cpp makes single bytes of \N and \_.
    if (!is_utf8(text))
      builder_.refuse("the escapes \\N and \\_ are not read here; write \\u0085 and \\u00a0");
    const bool plain = tag == "?";
    if (builder_.expects_key()) return builder_.key(plain && text == "<<" ? kMerge : text);
    auto value = plain ? resolve_scalar(text) : Result<json>(text);
    if (!value) builder_.refuse(value.error().message);
    add(*std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, "", "", "a key may not be an alias");
    const auto kept = anchors_.find(anchor);
    if (kept == anchors_.end()) builder_.refuse("an alias of what has no value here");
    if (builder_.depth() + depth_of(kept->second) > kMaxDepth) builder_.refuse_depth();
    spend(kept->second);
    builder_.add(kept->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, "seq", "a key may not be a list or an object");
    open(json::array(), anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, "map", "a key may not be a list or an object");
    open(json::object(), anchor);
  }
  void OnMapEnd() override {
    if (builder_.innermost().contains(kMerge)) merge(builder_.innermost());
    close();
  }

 private:
  // `no_key`: why the event may not be a key; "": it may.
  void begin(const YAML::Mark& mark, const std::string& tag, const std::string& kind,
             const std::string& no_key) {
    scanned_.note_event(line_of(mark));
    builder_.at_line(line_of(mark));
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:" + kind)
      builder_.refuse("the tag " + shown_key(tag) + " is not supported");
    if (!no_key.empty() && builder_.expects_key()) builder_.refuse(no_key);
  }

  // Nine lines of aliases of aliases make a billion values, so what is kept and written out is counted over
  // the whole text.
  void spend(const json& value) {
    if ((spent_ += value.dump().size()) > kMaxText)
      builder_.refuse("the values of anchors and aliases (& and *) are more than 8 MiB");
  }

  // `anchor`: 0 for a value without one.
  void keep(const json& value, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    spend(value);
    anchors_[anchor] = value;
  }

  void add(json value, YAML::anchor_t anchor) {
    keep(value, anchor);
    builder_.add(std::move(value));
  }

  void open(json container, YAML::anchor_t anchor) {
    builder_.open(std::move(container));
    open_anchors_.push_back(anchor);
  }

  void close() {
    keep(builder_.innermost(), open_anchors_.back());
    open_anchors_.pop_back();
    builder_.close();
  }

  // The object's own fields win, then those of earlier objects (yaml.org/type/merge.html).
  void merge(json& into) {
    json from = std::move(into[kMerge]);
    into.erase(kMerge);
    if (!from.is_array()) from = json::array({std::move(from)});
    for (const json& object : from) {
      if (!object.is_object()) builder_.refuse("a merge key (<<) takes an object, or a list of them");
      into.insert(object.begin(), object.end());
    }
  }

  inline static const std::string kMerge = "\xff";  // a key that no text has: it is not UTF-8

  std::string_view text_;
  ScannedText& scanned_;
  std::map<YAML::anchor_t, json> anchors_;
  std::vector<YAML::anchor_t> open_anchors_;  // of the open lists and objects
  std::size_t spent_ = 0;
  bool first_ = true;
  DocumentBuilder builder_;
};

// Reads every document that is not null. The text is UTF-8 without control characters.
Documents parse_yaml(std::string_view text, std::vector<FieldLines>* lines) {
  const std::string invalid = "is not valid YAML: look at indentation, tabs, brackets and quotes";
  try {
    ScannedText scanned(text);
    std::istream stream(&scanned);
    YAML::Parser parser(stream);
    FieldLines here;
    YamlEvents events(text, scanned, lines ? &here : nullptr);
    Documents documents;
    for (; parser.HandleNextDocument(events); here.clear()) {
      json document = events.take();
      if (document.is_null()) continue;
      documents.push_back(std::move(document));
      if (lines) lines->push_back(here);
    }
    return documents;
  } catch (const YAML::Exception& error) {
    throw Refused{line_of(error.mark), invalid};
  } catch (const std::exception&) {  // the standard library's, out of yaml-cpp
    throw Refused{0, invalid};
  }
}

// yaml-cpp passes bad UTF-8 on, and takes byte 4 for the end of the text.
void check_characters(std::string_view text) {
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) throw Refused{line, "the text is not UTF-8: save it as UTF-8"};
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')
      throw Refused{line, "control character " + std::to_string(byte) + ", as no text has it"};
    if (byte == '\n') ++line;
    at += length;
  }
}

Documents parse_text(std::string_view text, bool only_json, std::vector<FieldLines>* lines) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.size() > kMaxText) throw Refused{0, "larger than 8 MiB"};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // Either parser would skip it like the first one.
  if (text.starts_with(kByteOrderMark)) throw Refused{1, "a second byte order mark"};
  check_characters(text);
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return {};
  if (only_json || text[start] == '{' || text[start] == '[') {
    try {
      Documents documents = parse_json(text);
      if (lines) lines->resize(documents.size());
      return documents;
    } catch (const Refused&) {
      if (only_json) throw;
    }
  }
  return parse_yaml(text, lines);
}

}  // namespace

Result<Documents> parse_documents(std::string_view text, std::string_view file_name,
                                  std::vector<FieldLines>* lines) {
  const bool only_json = file_name.ends_with(".json");
  try {
    return parse_text(text, only_json, lines);
  } catch (const Refused& refused) {
    const bool is_template = !only_json && text.find("{{") != text.npos;
    return Error{
        std::string(file_name) + (refused.line > 0 ? ":" + std::to_string(refused.line) : "") + ": " +
        (is_template ? "a template: render it first (helm template, or what makes manifests of it): " : "") +
        refused.sentence};
  }
}

int line_of_field(const FieldLines& lines, std::string_view path) {
  for (;;) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    if (path.empty()) return 0;
    const std::size_t last = path.find_last_of(".[");
    path = path.substr(0, last == path.npos ? 0 : last);
  }
}

}  // namespace nccl_env
