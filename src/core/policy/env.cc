// SPDX-License-Identifier: Apache-2.0
// spec.env: constants that every container gets as they are.
#include <algorithm>
#include <array>

#include "nccl_env/core/nccl/variables.h"
#include "policy/values.h"
#include "text/quote.h"
#include "text/strict.h"

namespace nccl_env {
namespace {

using nlohmann::json;
using std::string_view;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestValue = 1023;  // NCCL cuts the values of its files there

constexpr std::array<string_view, 5> kPrefixes{"NCCL_", "RCCL_", "UCX_", "NVSHMEM_", "GLOO_"};
// How variables that name libraries, or folders of them (UCX_MODULE_DIR), are called.
constexpr std::array<string_view, 6> kCodeSuffixes{"_PLUGIN",  "_PLUGINS", "_LIB",
                                                   "_LIBRARY", "_PATH",    "_DIR"};

bool is_env_name(string_view name) {
  if (name.size() > kLongestName) return false;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](string_view prefix) {
    if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
    const string_view rest = name.substr(prefix.size());
    return std::all_of(rest.begin(), rest.end(),
                       [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
  });
}

// The field of spec that decides this variable; empty where env may.
string_view field_of(string_view name) {
  if (name == variable::kIbHca) return "spec.hca";
  if (name == variable::kIbGidIndex) return "spec.gidIndex";
  if (name == variable::kSocketIfname) return "spec.socketInterface";
  return {};
}

bool names_code(string_view name) {
  if (const Variable* known = find_variable(name)) return known->loads_code;
  return std::any_of(kCodeSuffixes.begin(), kCodeSuffixes.end(),
                     [&](string_view suffix) { return name.ends_with(suffix); });
}

std::optional<std::string> name_problem(string_view name, const PolicyOptions& options) {
  if (!is_env_name(name)) {
    return "is no name for a constant: NCCL_, RCCL_, UCX_, NVSHMEM_ or GLOO_, then capitals, digits and _";
  }
  if (const string_view field = field_of(name); !field.empty())
    return "set " + std::string(field) + " instead";
  if (name == "NCCL_HOSTID") return "may not be a constant: NCCL would take all nodes for one host";
  if (!options.allow_code_paths && names_code(name))
    return "names code to load: only with --allow-code-paths";
  return std::nullopt;
}

std::optional<std::string> text_problem(string_view name, string_view value) {
  if (value.size() > kLongestValue) return "has more than 1023 bytes, where NCCL cuts the lines of its files";
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  if (value.find('$') != string_view::npos)
    return in_quotes(value) + " holds '$': Kubernetes expands $(NAME)";
  return value_problem(name, value);
}

// 22 -> "22": how the scalar reads as a string.
std::string wrong_type(const json& value) {
  const std::string found = "expected a string, found " + describe(value);
  return value.is_number() || value.is_boolean() ? found + ": quote it: \"" + value.dump() + '"' : found;
}

void warn_of_unknown(string_view name, const std::string& path, Findings& findings) {
  if (!name.starts_with("NCCL_") || find_variable(name) != nullptr) return;
  std::vector<string_view> names;
  for (const Variable& known : all_variables()) names.push_back(known.name);
  const string_view meant = nearest(name, names);
  findings.warning(path, "is not in the catalogue of NCCL's variables" +
                             (meant.empty() ? std::string() : ": do you mean " + std::string(meant) + "?"));
}

void warn_of_other_networks(string_view name, string_view value, const std::string& path,
                            Findings& findings) {
  if (name == variable::kIbDisable && nccl_integer(value).value_or(0) != 0) {
    findings.warning(path, "turns InfiniBand and RoCE off: the HCA list and the index then have no effect");
  }
  if (name == variable::kNet && !equal_ignoring_case(value.substr(0, 2), "ib")) {
    findings.warning(
        path,
        in_quotes(value) +
            " is not NCCL's own InfiniBand and RoCE network: the HCA list and the index then have no effect");
  }
}

void read_constant(const std::string& name, const json& value, const std::string& path,
                   const PolicyOptions& options, Findings& findings,
                   std::map<std::string, std::string, std::less<>>& out) {
  if (const auto problem = name_problem(name, options)) {
    findings.error(path, *problem);
    return;
  }
  warn_of_unknown(name, path, findings);
  if (!value.is_string()) {
    findings.error(path, wrong_type(value));
    return;
  }
  const auto& text = value.get_ref<const std::string&>();
  if (const auto problem = text_problem(name, text)) {
    findings.error(path, *problem);
    return;
  }
  warn_of_other_networks(name, text, path, findings);
  out.emplace(name, text);
}

}  // namespace

void read_env(const Fields& spec, const PolicyOptions& options, Findings& findings,
              std::map<std::string, std::string, std::less<>>& out) {
  const json* env = spec.object("env");
  if (env == nullptr) return;
  if (env->size() > kMaxItems) {
    findings.error(spec.path("env"),
                   std::to_string(env->size()) + " entries: at most " + std::to_string(kMaxItems));
    return;
  }
  for (const auto& item : env->items()) {
    read_constant(item.key(), item.value(), path_of(spec.path("env"), item.key()), options, findings, out);
  }
}

}  // namespace nccl_env
