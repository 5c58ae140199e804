// SPDX-License-Identifier: Apache-2.0
#include "policy/constants.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/conf.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;
using std::string_view;

// spec.env: constants that every container gets as they are.
constexpr std::size_t kLongestConstant = 255;
constexpr std::size_t kLongestConstantValue = 1023;  // NCCL cuts the values of its files there

// Name suffixes of variables that name libraries, folders of them (UCX_MODULE_DIR), or programs to run
// (UCX_GDB_COMMAND, which UCX starts on an error).
constexpr std::array<string_view, 7> kCodeSuffixes{"_PLUGIN", "_PLUGINS", "_LIB",    "_LIBRARY",
                                                   "_PATH",   "_DIR",     "_COMMAND"};
// Name suffixes of UCX variables by which UCX writes files (UCX_LOG_FILE, UCX_PROFILE_FILE, UCX_STATS_DEST,
// UCX_MEMTRACK_DEST) or starts a mailer (UCX_ERROR_MAIL_TO).
constexpr std::array<string_view, 3> kUcxDeedSuffixes{"_FILE", "_DEST", "_MAIL_TO"};

bool is_env_name(string_view name) {
  return name.size() <= kLongestConstant && has_known_prefix(name) && is_variable_name(name);
}

// The field of spec that decides this variable; empty where spec.env may set it.
string_view field_of(string_view name) {
  if (name == variable::kIbHca) return "spec.hca";
  if (name == variable::kIbGidIndex) return "spec.gidIndex";
  if (name == variable::kSocketIfname) return "spec.socketInterface";
  return {};
}

bool names_code(string_view name) {
  if (const Variable* known = find_variable(name)) return known->loads_code;
  const auto ends = [&](string_view suffix) { return name.ends_with(suffix); };
  return std::any_of(kCodeSuffixes.begin(), kCodeSuffixes.end(), ends) ||
         (name.starts_with("UCX_") && std::any_of(kUcxDeedSuffixes.begin(), kUcxDeedSuffixes.end(), ends));
}

std::optional<std::string> name_problem(string_view name, const PolicyOptions& options) {
  if (!is_env_name(name)) {
    return "is not a name for a constant: NCCL_, RCCL_, UCX_, NVSHMEM_ or GLOO_, then capitals, digits and _";
  }
  if (const string_view field = field_of(name); !field.empty())
    return "set " + std::string(field) + " instead";
  if (name == "NCCL_HOSTID") return "may not be a constant: NCCL would take all nodes for one host";
  if (!options.allow_code_paths && names_code(name))
    return "names code to load, a program to run or a file to write: only with --allow-code-paths";
  return std::nullopt;
}

std::optional<std::string> text_problem(string_view name, string_view value) {
  if (value.size() > kLongestConstantValue)
    return "has more than 1023 bytes, where NCCL cuts the lines of its files";
  if (!is_printable_ascii(value)) return in_quotes(value) + " holds a character that is not printable ASCII";
  if (value.find('$') != string_view::npos)
    return in_quotes(value) + " holds '$': Kubernetes expands $(NAME)";
  return value_problem(name, value);
}

// 22 -> "22": how the scalar reads as a string.
std::string wrong_type(const Json& value) {
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

void read_constant(const std::string& name, const Json& value, const std::string& path,
                   const PolicyOptions& options, Findings& findings, ConstantMap& out) {
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

// A list or map beyond its limit is not read at all.
bool is_too_long(const Json& value, int limit, const std::string& path, Findings& findings) {
  if (value.size() <= static_cast<std::size_t>(limit)) return false;
  findings.error(path, std::to_string(value.size()) + " entries: at most " + std::to_string(limit));
  return true;
}

// Under Reference a variant's constants are references: where a node has no value, the variable exists and is
// empty.
void check_references(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  if (!policy.deliver_reference) return;
  for (std::size_t i = 0; i < policy.variants.size(); ++i) {
    for (const auto& [name, value] : policy.variants[i].env) {
      const Variable* known = find_variable(name);
      if (known && known->empty_is_unset) continue;
      findings.error(path_of(path_of(path_of(spec.path("variants"), i), "env"), name),
                     std::string(known ? "would be empty" : "is not in the catalogue, and would be empty") +
                         " on a node that no variant fits, which is not the same as unset: "
                         "not with Reference in spec.delivery");
    }
  }
}

// Visits the policy's constants and those of its variants, with the path at which each stands.
template <class Visit>
void each_constant(const Fields& spec, const NcclPolicy& policy, Visit visit) {
  const auto of = [&](const std::string& path, const ConstantMap& env) {
    for (const auto& [name, value] : env) visit(path_of(path, name), name, value);
  };
  of(spec.path("env"), policy.env);
  for (std::size_t i = 0; i < policy.variants.size(); ++i)
    of(path_of(path_of(spec.path("variants"), i), "env"), policy.variants[i].env);
}

// Refuses constants that nccl.conf cannot carry.
void check_lines(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  if (!policy.deliver_file) return;
  each_constant(spec, policy,
                [&](const std::string& path, const std::string& name, const std::string& value) {
                  const auto line = render_conf({{name, value}});
                  if (!line) findings.error(path, line.error().message);
                });
}

// Refuses conditions that ask about the fabric, in a variant that chooses the fabric itself.
void check_conditions(const std::string& path, const NodeCondition& when, Findings& findings) {
  const auto refuse = [&](bool asked, string_view name) {
    if (asked)
      findings.error(
          path_of(path_of(path, "when"), name),
          "asks about the fabric, which this variant itself chooses: choose its nodes by nodeLabels "
          "alone");
  };
  refuse(when.link_layer.has_value(), "linkLayer");
  refuse(!when.boards.empty(), "boards");
  refuse(when.min_rate_gbps.has_value(), "minRateGbps");
}

// Refuses constants that name the partition beside spec.partitionKey.
void check_partition(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  if (!policy.partition_key) return;
  each_constant(spec, policy, [&](const std::string& path, const std::string& name, const std::string&) {
    if (name == variable::kIbPkey || name == variable::kIbPkeyValue)
      findings.error(path, "stands beside spec.partitionKey, which decides it");
  });
}

void check_variants(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  for (std::size_t i = 0; i < policy.variants.size(); ++i) {
    const PolicyVariant& variant = policy.variants[i];
    if (!variant.fabric) continue;
    const std::string path = path_of(spec.path("variants"), i);
    check_conditions(path, variant.when, findings);
    // The link layer decides which variable names the partition, and the variable is written before the node
    // is known.
    if (policy.partition_key && variant.fabric->link_layer != policy.fabric.link_layer)
      findings.error(path_of(path_of(path, "fabric"), "linkLayer"),
                     "is not that of spec.fabric, and spec.partitionKey needs one for all nodes");
  }
}

}  // namespace

void read_constants(const PolicyInput& in, string_view name, described::Constants kind, ConstantMap& out) {
  const Json* env = in.fields.object(name);
  if (env == nullptr) return;
  const std::string path = in.fields.path(name);
  if (env->empty() && kind.least > 0) in.findings.error(path, "is empty, and names no constant");
  if (is_too_long(*env, kind.most, path, in.findings)) return;
  for (const auto& item : env->items())
    read_constant(item.key(), item.value(), path_of(path, item.key()), in.options, in.findings, out);
}

void read_labels(const PolicyInput& in, string_view name, described::LabelGlobs kind, ConstantMap& out) {
  const Json* labels = in.fields.object(name);
  const std::string where = in.fields.path(name);
  if (labels == nullptr || is_too_long(*labels, kind.most, where, in.findings)) return;
  if (labels->empty()) in.findings.error(where, "is empty, and asks for nothing");
  for (const auto& [key, glob] : labels->items()) {
    const std::string path = path_of(where, key);
    if (!is_label_key(key)) {
      in.findings.error(path, "is not a label's key such as topology.kubernetes.io/zone");
    } else if (!glob.is_string()) {
      in.findings.error(path, wrong_type(glob));
    } else if (const auto wrong = name_glob_problem(glob.get_ref<const std::string&>())) {
      in.findings.error(path, *wrong);
    } else {
      out.emplace(key, glob.get<std::string>());
    }
  }
}

void check_constants(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  check_lines(spec, findings, policy);
  check_references(spec, findings, policy);
  check_partition(spec, findings, policy);
  check_variants(spec, findings, policy);
}

}  // namespace nccl_env
