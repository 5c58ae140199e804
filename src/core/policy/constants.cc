// SPDX-License-Identifier: Apache-2.0
#include "policy/constants.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "nccl_env/core/nccl/conf.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "policy/rules.h"
#include "policy/words.h"
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
bool is_too_long(const Json& value, std::size_t limit, const std::string& path, Findings& findings) {
  if (value.size() <= limit) return false;
  findings.error(path, std::to_string(value.size()) + " entries: at most " + std::to_string(limit));
  return true;
}

void read_env(const Fields& spec, std::size_t limit, const PolicyOptions& options, Findings& findings,
              ConstantMap& out) {
  const Json* env = spec.object("env");
  if (env == nullptr || is_too_long(*env, limit, spec.path("env"), findings)) return;
  for (const auto& item : env->items()) {
    read_constant(item.key(), item.value(), path_of(spec.path("env"), item.key()), options, findings, out);
  }
}

// Fabrics and shapes of one namespace are few, and a Binding's answer stays at microseconds.
constexpr std::size_t kMaxVariants = 8;
constexpr std::size_t kMaxVariantEnv = 16;

void read_node_labels(const Fields& when, Findings& findings, NodeCondition& out) {
  const Json* labels = when.object("nodeLabels");
  if (labels == nullptr || is_too_long(*labels, kMaxNodeLabels, when.path("nodeLabels"), findings)) return;
  if (labels->empty()) findings.error(when.path("nodeLabels"), "is empty, and asks for nothing");
  for (const auto& [key, glob] : labels->items()) {
    const std::string path = path_of(when.path("nodeLabels"), key);
    if (!is_label_key(key)) {
      findings.error(path, "is not a label's key such as topology.kubernetes.io/zone");
    } else if (!glob.is_string()) {
      findings.error(path, wrong_type(glob));
    } else if (const auto wrong = name_glob_problem(glob.get_ref<const std::string&>())) {
      findings.error(path, *wrong);
    } else {
      out.node_labels.emplace(key, glob.get<std::string>());
    }
  }
}

void read_condition(const Fields& variant, Findings& findings, NodeCondition& when) {
  static constexpr string_view kFields[] = {"nodeLabels", "linkLayer", "boards", "minRateGbps"};
  if (variant.find("when") == nullptr) findings.error(variant.path("when"), "is missing");
  const Json* value = variant.object("when");
  if (value == nullptr) return;
  const Fields fields(*value, variant.path("when"), kFields, findings);
  read_node_labels(fields, findings, when);
  if (const auto layer = fields.word("linkLayer", words::kConditionLinkLayer))
    when.link_layer = *layer == 0 ? LinkLayer::Ethernet : LinkLayer::InfiniBand;
  fields.texts("boards", name_glob_problem, when.boards);
  fields.positive("minRateGbps", when.min_rate_gbps);
  const Json* boards = fields.find("boards");
  if (boards != nullptr && boards->is_array() && boards->empty())
    findings.error(fields.path("boards"), "is empty, and no node meets it");
  if (value->empty())
    findings.error(variant.path("when"), "is empty: what holds on all nodes belongs into spec itself");
}

void read_variants(const Fields& spec, const PolicyOptions& options, Findings& findings,
                   std::vector<PolicyVariant>& out) {
  static constexpr string_view kFields[] = {"when", "env", "fabric", "socketInterface"};
  const Json* list = spec.find("variants");
  if (list != nullptr && list->is_array() &&
      is_too_long(*list, kMaxVariants, spec.path("variants"), findings))
    return;
  spec.items("variants", [&](const Json& item, const std::string& path) {
    if (!item.is_object())
      return findings.error(
          path, "expected an object {when, env, fabric, socketInterface}, found " + describe(item));
    const Fields fields(item, path, kFields, findings);
    PolicyVariant& variant = out.emplace_back();
    read_condition(fields, findings, variant.when);
    const bool has_fabric = fields.find("fabric") != nullptr;
    const bool has_interface = fields.find("socketInterface") != nullptr;
    const Json* env = fields.object("env");
    if (env != nullptr && env->empty()) findings.error(fields.path("env"), "is empty, and names no constant");
    if (fields.find("env") == nullptr && !has_fabric && !has_interface)
      findings.error(fields.path("env"), "is missing, as are fabric and socketInterface: nothing differs");
    read_env(fields, kMaxVariantEnv, options, findings, variant.env);
    if (has_fabric) read_fabric(fields, findings, variant.fabric.emplace());
    if (has_interface) read_socket_interface(fields, findings, variant.socket_interface.emplace());
  });
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

void read_constants(const Fields& spec, const PolicyOptions& options, Findings& findings,
                    NcclPolicy& policy) {
  read_env(spec, kMaxItems, options, findings, policy.env);
  read_variants(spec, options, findings, policy.variants);
}

void check_constants(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  check_lines(spec, findings, policy);
  check_references(spec, findings, policy);
  check_partition(spec, findings, policy);
  check_variants(spec, findings, policy);
}

}  // namespace nccl_env
