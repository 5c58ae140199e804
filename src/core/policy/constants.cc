// SPDX-License-Identifier: Apache-2.0
#include "policy/constants.h"

#include <algorithm>
#include <array>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/conf.h"
#include "nccl_env/core/engines/nccl/variable_names.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/engines/nccl/version.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using json::Element;
using json::Path;
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

void warn_of_unknown(string_view name, const Path& path, Findings& findings) {
  if (!name.starts_with("NCCL_") || find_variable(name) != nullptr) return;
  findings.warning(path.text(),
                   nccl_env::name_problem(name).value_or("is not in the catalogue of NCCL's variables"));
}

void read_constant(const PolicyInput& in, string_view name, Element value, const Path& path,
                   ConstantMap& out) {
  const auto refuse = [&](string_view why) { in.fields.refusals().add(path, why); };
  if (const auto problem = name_problem(name, in.options)) return refuse(*problem);
  warn_of_unknown(name, path, in.findings);
  string_view text;
  if (value.get(text) != simdjson::SUCCESS) return refuse(wrong_type(value));
  if (const auto problem = text_problem(name, text)) return refuse(*problem);
  out.emplace(name, text);
}

// Calls visit(key, value, path) for the entries of a map; `empty` refuses one without any. One beyond its
// limit is not read at all.
template <class Visit>
void read_map(const PolicyInput& in, string_view name, int most, string_view empty, Visit visit) {
  simdjson::dom::object map;
  if (const auto value = in.fields.object(name); !value || value->get(map) != simdjson::SUCCESS) return;
  if (map.begin() == map.end() && !empty.empty()) in.error(name, empty);
  if (map.size() > static_cast<std::size_t>(most))
    return in.error(name, std::to_string(map.size()) + " entries: at most " + std::to_string(most));
  const Path at = in.fields.path(name);
  if (const auto key = json::repeated_key(map)) in.fields.refusals().add(at.entry(*key), "stands twice");
  for (auto entry = map.begin(); entry != map.end(); ++entry)
    visit(entry.key(), entry.value(), at.entry(entry.key()));
}

// `variant`: the place of the variant that sets the constant; none for spec.env.
template <class Visit>
void visit_constant(const PolicyInput& spec, std::optional<std::size_t> variant, string_view name,
                    Visit visit) {
  const Path variants = spec.fields.path("variants"),
             one = variants.item(static_cast<int>(variant.value_or(0)));
  const Path env = variant ? one.field("env") : spec.fields.path("env");
  visit(env.entry(name));
}

void refuse_constant(const PolicyInput& spec, std::optional<std::size_t> variant, string_view name,
                     string_view why) {
  visit_constant(spec, variant, name, [&](const Path& at) { spec.fields.refusals().add(at, why); });
}

// Visits the policy's constants and those of its variants, with the variant's place.
template <class Visit>
void each_constant(const NcclPolicy& policy, Visit visit) {
  for (const auto& [name, value] : policy.env) visit(std::nullopt, name, value);
  for (std::size_t i = 0; i < policy.variants.size(); ++i)
    for (const auto& [name, value] : policy.variants[i].env) visit(i, name, value);
}

// Refuses constants that nccl.conf cannot carry.
void check_lines(const PolicyInput& spec, const NcclPolicy& policy) {
  each_constant(policy, [&](auto variant, const std::string& name, const std::string& value) {
    const auto line = render_conf({{name, value}});
    if (!line)
      refuse_constant(spec, variant, name,
                      in_quotes(value) + " cannot stand in nccl.conf: it begins or ends with a blank");
  });
}

// Says why the values of a policy have no effect beside its own constant; "" where they have.
std::string network_warning(const NcclPolicy& policy, string_view name, string_view value) {
  const bool off = turns_verbs_off(name, value);
  if (off && policy.hca.kind == HcaRule::Kind::Omit) return {};
  if (off)
    return "turns InfiniBand and RoCE off: the HCA list and the index then have no effect; with hca: Omit "
           "there is none";
  if (name != variable::kNet || equal_ignoring_case(value, "IB")) return {};
  if (auto problem = network_problem(value)) return *std::move(problem);
  const bool reads_list = equal_ignoring_case(value.substr(0, 2), "ib");  // plugins such as IBext
  return in_quotes(value) +
         " is not a network of NCCL's own, and NCCL stops unless the image has a plugin of " + "that name" +
         (reads_list ? "" : ": the HCA list and the index then have no effect");
}

// For one pod they find a fault; for all they cost NVLink, or the ranks of a host their shared memory.
std::string slow_warning(const NcclPolicy& /*policy*/, string_view name, string_view value) {
  const bool p2p = name == "NCCL_P2P_DISABLE", shared = name == "NCCL_SHM_DISABLE";
  if ((!p2p && !shared) || value == "0") return {};
  return std::string("makes every pod slow: without ") +
         (p2p ? "NVLink and PCIe between GPUs" : "shared memory") +
         ", GPUs of one host reach each other by slower ways; set it in the one pod that needs it";
}

// Lists of one function each are of 2.24: NCCL before passes over them.
std::string functions_warning(const NcclPolicy& policy, string_view name, string_view value) {
  if (!policy.min_nccl || *policy.min_nccl >= nccl_since::kFunctionLists) return {};
  const Variable* known = find_variable(name);
  if (!known || known->kind != ValueKind::WordList || value.find(':') == value.npos) return {};
  return "names functions, which NCCL reads from 2.24 on, and nccl.minVersion is " +
         format_nccl_version(*policy.min_nccl);
}

// Warns of each constant of which `says` has a sentence.
void warn_of_constants(const PolicyInput& spec, const NcclPolicy& policy,
                       std::string (*says)(const NcclPolicy&, string_view, string_view)) {
  each_constant(policy, [&](auto variant, const std::string& name, const std::string& value) {
    const std::string warning = says(policy, name, value);
    if (warning.empty()) return;
    visit_constant(spec, variant, name, [&](const Path& at) { spec.findings.warning(at.text(), warning); });
  });
}

// Refuses constants that name the partition beside spec.partitionKey.
void check_partition(const PolicyInput& spec, const NcclPolicy& policy) {
  if (!policy.partition_key) return;
  each_constant(policy, [&](auto variant, const std::string& name, const std::string& /*value*/) {
    if (name == variable::kIbPkey || name == variable::kIbPkeyValue)
      refuse_constant(spec, variant, name, "stands beside spec.partitionKey, which decides it");
  });
}

// Refuses conditions that ask about the fabric, in a variant that chooses the fabric itself.
void check_conditions(json::Refusals& refusals, const Path& when, const NodeCondition& condition) {
  const auto refuse = [&](bool asked, string_view name) {
    if (asked)
      refusals.add(when.field(name),
                   "asks about the fabric, which this variant itself chooses: choose its nodes by nodeLabels "
                   "alone");
  };
  refuse(condition.link_layer.has_value(), "linkLayer");
  refuse(!condition.boards.empty(), "boards");
  refuse(condition.min_rate_gbps.has_value(), "minRateGbps");
}

void check_variants(const PolicyInput& spec, const NcclPolicy& policy) {
  const Path variants = spec.fields.path("variants");
  for (std::size_t i = 0; i < policy.variants.size(); ++i) {
    const PolicyVariant& variant = policy.variants[i];
    if (!variant.fabric) continue;
    const Path path = variants.item(static_cast<int>(i)), fabric = path.field("fabric");
    check_conditions(spec.fields.refusals(), path.field("when"), variant.when);
    // The link layer decides which variable names the partition, and the variable is written before the node
    // is known.
    if (policy.partition_key && variant.fabric->link_layer != policy.fabric.link_layer)
      spec.fields.refusals().add(fabric.field("linkLayer"),
                                 "is not that of spec.fabric, and spec.partitionKey needs one for all nodes");
  }
}

}  // namespace

void read_constants(const PolicyInput& in, string_view name, described::Constants kind, ConstantMap& out) {
  read_map(
      in, name, kind.most, kind.least > 0 ? "is empty, and names no constant" : "",
      [&](string_view key, Element value, const Path& path) { read_constant(in, key, value, path, out); });
}

void read_labels(const PolicyInput& in, string_view name, described::LabelGlobs kind, ConstantMap& out) {
  read_map(in, name, kind.most, "is empty, and asks for nothing",
           [&](string_view key, Element glob, const Path& path) {
             string_view text;
             const auto refuse = [&](string_view why) { in.fields.refusals().add(path, why); };
             if (!is_label_key(key))
               return refuse("is not a label's key such as topology.kubernetes.io/zone");
             if (glob.get(text) != simdjson::SUCCESS) return refuse(wrong_type(glob));
             if (const auto wrong = name_glob_problem(text)) return refuse(*wrong);
             out.emplace(key, text);
           });
}

void check_constants(const PolicyInput& spec, const NcclPolicy& policy) {
  check_lines(spec, policy);
  for (const auto says : {network_warning, slow_warning, functions_warning})
    warn_of_constants(spec, policy, says);
  check_partition(spec, policy);
  check_variants(spec, policy);
}

}  // namespace nccl_env
