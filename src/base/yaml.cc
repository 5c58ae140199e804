// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/yaml.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "json_document.h"
#include "utf8.h"
#include "yaml_document.h"

namespace nccl_env {
namespace {

using nlohmann::json;
using Documents = std::vector<json>;

constexpr std::size_t kMaxText = std::size_t{8} << 20U;  // five times what etcd takes for one object
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// yaml-cpp passes bad UTF-8 on, and takes byte 4 for the end of the text.
std::optional<TextProblem> find_bad_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return TextProblem{at, "the text is not UTF-8"};
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
      return TextProblem{at, "control character " + std::to_string(byte)};
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

}  // namespace

Result<Documents> parse_documents(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxText) return Error{std::string(file_name) + ": larger than 8 MiB"};
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto problem = find_bad_character(text)) return error_at(file_name, text, *problem);
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return Documents{};

  const bool only_json = file_name.ends_with(".json");
  if (only_json || text[start] == '{' || text[start] == '[') {
    auto parsed = parse_json_document(text);
    if (auto* document = std::get_if<json>(&parsed)) return one_document(std::move(*document));
    if (only_json) return error_at(file_name, text, std::get<TextProblem>(parsed));
  }
  auto parsed = parse_yaml_documents(text);
  if (auto* documents = std::get_if<Documents>(&parsed)) return std::move(*documents);
  const auto& problem = std::get<YamlProblem>(parsed);
  return Error{std::string(file_name) + ":" + std::to_string(problem.line) + ":" +
               std::to_string(problem.column) + ": " + problem.sentence};
}

}  // namespace nccl_env
