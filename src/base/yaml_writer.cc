// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/yaml_writer.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace nccl_env {
namespace {

// Readers may refuse a key of more than 1024 characters that is not marked by "?".
constexpr std::size_t kMaxPlainKey = 1000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words that YAML 1.1 or 1.2 take for a boolean or for null.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"null", "true", "false", "yes", "no",
                                                      "on",   "off",  "y",     "n"};
  std::string lower(text.substr(0, 6));
  for (char& c : lower) c = is_letter(c) ? static_cast<char>(c | 0x20) : c;
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

// 25.11.128.2 is not a number in any YAML; with one dot it would be a number.
bool is_dotted_digits(std::string_view text) {
  return is_digit(text.front()) && is_digit(text.back()) && std::count(text.begin(), text.end(), '.') >= 2 &&
         text.find_first_not_of("0123456789.") == text.npos;
}

bool reads_back_plain(std::string_view text) {
  if (text.empty() || text.size() > kMaxPlainKey) return false;
  if (is_dotted_digits(text)) return true;
  if (!is_letter(text[0]) && text[0] != '/' && text[0] != '_') return false;
  const bool usual = std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("_-./@+=*,:() ").find(c) != std::string_view::npos;
  });
  return usual && text.back() != ':' && text.back() != ' ' && text.find(": ") == text.npos &&
         !is_reserved(text);
}

// Writes as escapes what YAML calls unprintable or, in 1.1, takes for the end of a line: DEL and the controls
// behind it, U+2028, U+2029 and the byte order mark.
std::string with_escapes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMarks{
      {{"\x7f", "\\u007f"},
       {"\xe2\x80\xa8", "\\u2028"},
       {"\xe2\x80\xa9", "\\u2029"},
       {"\xef\xbb\xbf", "\\ufeff"}}};
  std::string out;
  while (!text.empty()) {
    const auto mark = std::find_if(kMarks.begin(), kMarks.end(),
                                   [&](const auto& each) { return text.starts_with(each.first); });
    const auto next = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0U;
    if (mark != kMarks.end()) {
      out += mark->second;
      text.remove_prefix(mark->first.size());
    } else if (text[0] == '\xc2' && next < 0xa0) {  // U+0080 to U+009F
      out.append("\\u00").append(1, next < 0x90 ? '8' : '9').append(1, "0123456789abcdef"[next & 0xfU]);
      text.remove_prefix(2);
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  return out;
}

template <class Json>
std::string scalar(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.template get_ref<const std::string&>();
    if (reads_back_plain(text)) return text;
  }
  if (value.is_structured()) return value.is_object() ? "{}" : "[]";
  // JSON's escapes are YAML's too.
  return with_escapes(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

template <class Json>
class BlockWriter {
 public:
  // `begun`: the line has its indent already, behind the "-" of a list.
  void write(const Json& value, std::size_t indent, bool begun) {
    for (const auto& item : value.items()) {
      if (!begun) out_.append(indent, ' ');
      begun = false;
      if (value.is_object()) {
        entry(item.key(), item.value(), indent);
      } else {
        element(item.value(), indent);
      }
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static bool is_block(const Json& value) { return value.is_structured() && !value.empty(); }

  void entry(const std::string& key, const Json& value, std::size_t indent) {
    const std::string name = scalar(Json(key));
    const bool marked = name.size() > kMaxPlainKey;
    out_ += marked ? "? " + name + "\n" + std::string(indent, ' ') + ":" : name + ":";
    if (!is_block(value)) {
      out_ += " " + scalar(value) + "\n";
      return;
    }
    out_ += "\n";
    write(value, value.is_array() && !marked ? indent : indent + 2, false);
  }

  void element(const Json& value, std::size_t indent) {
    out_ += "- ";
    if (is_block(value)) {
      write(value, indent + 2, true);
    } else {
      out_ += scalar(value) + "\n";
    }
  }

  std::string out_;
};

template <class Json>
std::string document(const Json& value) {
  if (!value.is_structured() || value.empty()) return scalar(value) + "\n";
  BlockWriter<Json> writer;
  writer.write(value, 0, false);
  return writer.take();
}

}  // namespace

std::string to_yaml(const nlohmann::json& value) {
  return document(value);
}
std::string to_yaml(const nlohmann::ordered_json& value) {
  return document(value);
}

}  // namespace nccl_env
