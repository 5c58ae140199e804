// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/description.h"

#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "policy/fields.h"
#include "text/quote.h"

namespace nccl_env {

std::string_view to_string(Exposure value) {
  return described::word_of(value);
}
std::string_view to_string(PolicyMode value) {
  return described::word_of(value);
}
std::string_view to_string(ContainerScope value) {
  return described::word_of(value);
}
std::string_view to_string(OnUnresolved value) {
  return described::word_of(value);
}

std::optional<Exposure> parse_exposure(std::string_view text) {
  for (const auto& [word, meaning] : described::words_of<Exposure>) {
    if (word == text) return meaning;
  }
  return std::nullopt;
}

}  // namespace nccl_env

namespace nccl_env::described::policy {

Result<std::string> parse_name_glob(std::string_view text) {
  if (const auto problem = name_glob_problem(text)) return Error{*problem};
  return std::string(text);
}

namespace {

// Refuses what can never match the name of a device, which has at most `longest` characters: people write
// lists and entries as NCCL takes them.
Result<std::string> parse_device_glob(std::string_view text, std::size_t longest) {
  const auto problem = name_glob_problem(text);
  const bool literal = text.find_first_of("*?[\\") == text.npos;
  const bool listed = text.find('[') == text.npos && text.find_first_of(",;:") != text.npos;
  if (const std::string meant = meant_glob(text); (problem || listed) && !meant.empty())
    return Error{in_quotes(text) + ": do you mean " + meant + "?"};
  if (problem) return Error{*problem};
  if (listed || text.front() == '=' || text.front() == '^')
    return Error{
        in_quotes(text) +
        " matches nothing: a glob for each name, without the commas, ports, = and ^ of NCCL's lists"};
  if (literal && text.size() > longest)
    return Error{in_quotes(text) + " matches nothing: no name has more than " + std::to_string(longest) +
                 " characters"};
  return std::string(text);
}

}  // namespace

// IB_DEVICE_NAME_MAX and IFNAMSIZ of Linux, without the zero at the end.
Result<std::string> parse_hca_glob(std::string_view text) {
  return parse_device_glob(text, 63);
}
Result<std::string> parse_netdev_glob(std::string_view text) {
  return parse_device_glob(text, 15);
}

Result<std::string> parse_resource_glob(std::string_view text) {
  auto glob = parse_name_glob(text);
  if (!glob || text.find_first_of("*?[\\") != text.npos || is_extended_resource(text)) return glob;
  return Error{in_quotes(text) +
               " is not an extended resource (DOMAIN/NAME, not of kubernetes.io): it matches nothing"};
}

Result<std::string> parse_network_glob(std::string_view text) {
  auto glob = parse_name_glob(text);
  if (!glob || text.find_first_of("*?[\\/") != text.npos) return glob;
  return Error{in_quotes(text) + " is not a NAMESPACE/NAME: it matches nothing"};
}

Result<std::string> parse_device_class(std::string_view text) {
  if (is_dns_subdomain(text)) return std::string(text);
  return Error{in_quotes(text) + " is not a name of an object: lower-case letters, digits, '-' and '.'"};
}

// The oldest version that an image may have: numbers alone, neither a tag nor the form that a log prints.
Result<NcclVersion> parse_oldest_nccl(std::string_view text) {
  const auto version = parse_nccl_version(text);
  if (!version) return version.error();
  const std::string written = format_nccl_version(*version);
  if (text == written || std::string(text) + ".0" == written) return *version;
  return Error{in_quotes(text) + ": expected numbers, as 2.21.5"};
}

std::string format_key(const std::uint16_t& key) {
  return format_partition_key(key);
}

Result<const Engine*> parse_engine(std::string_view text) {
  const Engine* engine = find_engine(text);
  if (engine && (engine == &nccl_engine() || gives_values(*engine))) return engine;
  std::vector<std::string_view> names{nccl_engine().name};
  for (const Engine* other : other_engines()) {
    if (gives_values(*other)) names.push_back(other->name);
  }
  const std::string_view meant = nearest(text, names, 2);
  return Error{in_quotes(text) + (meant.empty() ? ": expected one of " + join(names)
                                                : ": do you mean " + std::string(meant) + "?")};
}

std::string format_engine(const Engine* const& engine) {
  return std::string(engine->name);
}

std::string same(const std::string& text) {
  return text;
}

}  // namespace nccl_env::described::policy
