// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/reader.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/strict.h"
#include "policy/constants.h"
#include "policy/fields.h"
#include "policy/rules.h"
#include "policy/words.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;
using std::string_view;

void read_gid_index(const Fields& spec, Findings& findings, GidIndexRule& out) {
  const nlohmann::json* value = spec.find("gidIndex");
  if (value == nullptr) return;
  std::optional<std::int64_t> index;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    const auto word = std::find(words::kGidIndex.begin(), words::kGidIndex.end(), text);
    if (word != words::kGidIndex.end()) {
      out.kind = static_cast<GidIndexRule::Kind>(word - words::kGidIndex.begin());
      return;
    }
    index = plain_decimal(text);
  } else if (value->is_number_integer() && *value >= 0 && *value <= 255) {
    index = value->get<std::int64_t>();
  }
  if (index && *index >= 0 && *index <= 255) {
    out = {GidIndexRule::Kind::Literal, static_cast<int>(*index)};
    return;
  }
  findings.error(spec.path("gidIndex"), "expected " + one_of(words::kGidIndex) +
                                            ", or an integer in 0..255, found " + describe(*value));
}

// Reads the oldest version that an image may have: numbers alone, neither a tag nor the form that a log
// prints.
void read_nccl(const Fields& spec, Findings& findings, std::optional<NcclVersion>& out) {
  static constexpr string_view kFields[] = {"minVersion"};
  const nlohmann::json* value = spec.object("nccl");
  if (value == nullptr) return;
  const Fields fields(*value, spec.path("nccl"), kFields, findings);
  const auto text = fields.text("minVersion");
  if (!text) return;
  const auto version = parse_nccl_version(*text);
  if (!version) return findings.error(fields.path("minVersion"), version.error().message);
  const std::string written = format_nccl_version(*version);
  if (*text != written && *text + ".0" != written)
    return findings.error(fields.path("minVersion"), in_quotes(*text) + ": expected numbers, as 2.21.5");
  out = *version;
}

// NCCL's own search for the index begins with 2.21.5.
void check_search(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  if (policy.gid_index.kind != GidIndexRule::Kind::Dynamic || policy.searches_gid()) return;
  if (policy.min_nccl) {
    findings.error(spec.path("gidIndex"),
                   "Dynamic leaves it to NCCL, which looks for it from 2.21.5 on, and nccl.minVersion is " +
                       format_nccl_version(*policy.min_nccl));
  } else {
    findings.warning(spec.path("gidIndex"),
                     "Dynamic needs NCCL 2.21.5 or later in every image: say so in nccl.minVersion");
  }
}

void read_partition_key(const Fields& spec, Findings& findings, std::optional<std::uint16_t>& out) {
  const auto text = spec.text("partitionKey");
  if (!text) return;
  const auto key = parse_partition_key(*text);
  if (!key) return findings.error(spec.path("partitionKey"), key.error().message);
  out = *key;
}

std::optional<std::string> resource_glob_problem(string_view glob) {
  if (auto problem = name_glob_problem(glob)) return problem;
  if (glob.find_first_of("*?[\\") != string_view::npos || is_extended_resource(glob)) return std::nullopt;
  return in_quotes(glob) +
         " is not an extended resource (DOMAIN/NAME, not of kubernetes.io): it matches nothing";
}

std::optional<std::string> network_glob_problem(string_view glob) {
  if (auto problem = name_glob_problem(glob)) return problem;
  if (glob.find_first_of("*?[\\/") != string_view::npos) return std::nullopt;
  return in_quotes(glob) + " is not a NAMESPACE/NAME: it matches nothing";
}

std::optional<std::string> device_class_problem(string_view name) {
  if (is_dns_subdomain(name)) return std::nullopt;
  return in_quotes(name) + " is not a name of an object: lower-case letters, digits, '-' and '.'";
}

// Reads a word into an enumeration whose enumerators stand in the order of `words`.
template <class E, std::size_t N>
void read_word(const Fields& fields, string_view name, const std::array<string_view, N>& words, E& out) {
  if (const auto index = fields.word(name, words)) out = static_cast<E>(*index);
}

void read_resource(const Json& item, const std::string& path, Findings& findings, NcclPolicy& policy) {
  if (!item.is_object()) {
    findings.error(path, "expected an object {name, exposure}, found " + describe(item));
    return;
  }
  static constexpr string_view kFields[] = {"name", "exposure"};
  const Fields fields(item, path, kFields, findings);
  ResourceMatch match;
  if (const auto exposure = fields.word("exposure", words::kExposure)) {
    match.exposure = static_cast<Exposure>(*exposure);
  }
  if (fields.find("name") == nullptr) findings.error(fields.path("name"), "is missing");
  const auto name = fields.text("name");
  if (!name) return;
  if (const auto problem = resource_glob_problem(*name)) {
    findings.error(fields.path("name"), *problem);
    return;
  }
  if (glob_matches(*name, "nvidia.com/gpu")) {
    findings.warning(fields.path("name"),
                     in_quotes(*name) + " also matches nvidia.com/gpu, which is not an RDMA resource");
  }
  match.name = *name;
  policy.resources.push_back(std::move(match));
}

void read_network(const Json& item, const std::string& path, Findings& findings, NcclPolicy& policy) {
  if (!item.is_object()) {
    findings.error(path, "expected an object {name, exposure}, found " + describe(item));
    return;
  }
  static constexpr string_view kFields[] = {"name", "exposure"};
  const Fields fields(item, path, kFields, findings);
  NetworkRule rule;
  if (const auto exposure = fields.word("exposure", words::kNetworkExposure))
    rule.exposure = static_cast<Exposure>(*exposure + 1);
  if (fields.find("name") == nullptr) findings.error(fields.path("name"), "is missing");
  const auto name = fields.text("name");
  if (!name) return;
  if (const auto problem = network_glob_problem(*name)) return findings.error(fields.path("name"), *problem);
  rule.name = *name;
  policy.networks.push_back(std::move(rule));
}

// Warns of classes that belong to another fabric, whatever the policy says.
void warn_of_classes(const std::string& path, const std::vector<std::string>& classes, Findings& findings) {
  for (const std::string& name : classes) {
    if (is_compute_domain_class(name))
      findings.warning(path, in_quotes(name) + " has no effect: a ComputeDomain is not an RDMA device");
    if (is_efa_class(name))
      findings.warning(path, in_quotes(name) + " has no effect: NCCL does not reach EFA through verbs");
  }
}

void read_match(const Fields& spec, Findings& findings, NcclPolicy& policy) {
  static constexpr string_view kFields[] = {"resources", "deviceClasses", "networks", "hostDevices"};
  static constexpr string_view kNeeded =
      "needs at least one of resources, deviceClasses, networks and hostDevices: true";
  const Json* value = spec.object("match");
  if (value == nullptr) {
    if (spec.find("match") == nullptr) findings.error(spec.path("match"), std::string(kNeeded));
    return;
  }
  const Fields fields(*value, spec.path("match"), kFields, findings);
  fields.items("resources", [&](const Json& item, const std::string& path) {
    read_resource(item, path, findings, policy);
  });
  fields.texts("deviceClasses", device_class_problem, policy.device_classes);
  fields.items("networks", [&](const Json& item, const std::string& path) {
    read_network(item, path, findings, policy);
  });
  fields.boolean("hostDevices", policy.host_devices);
  const Json* host_devices = fields.find("hostDevices");
  const auto given = [&](string_view name) {
    const Json* field = fields.find(name);
    return field != nullptr && !(field->is_array() && field->empty());
  };
  if (!given("resources") && !given("deviceClasses") && !given("networks") &&
      (host_devices == nullptr || *host_devices == false)) {
    findings.error(spec.path("match"), std::string(kNeeded));
  }
  warn_of_classes(fields.path("deviceClasses"), policy.device_classes, findings);
}

void read_delivery(const Fields& spec, Findings& findings, NcclPolicy& policy) {
  const Json* value = spec.find("delivery");
  if (value == nullptr) return;
  if (value->is_array() && value->empty())
    findings.error(spec.path("delivery"), "is empty: File, Reference or both");
  bool file = false, reference = false, env = false;
  spec.items("delivery", [&](const Json& item, const std::string& path) {
    bool* way = item == "File" ? &file : item == "Reference" ? &reference : item == "Env" ? &env : nullptr;
    if (way == nullptr) {
      findings.error(path, "expected File or Reference, found " + describe(item));
    } else if (std::exchange(*way, true)) {
      findings.error(path, in_quotes(item.get_ref<const std::string&>()) + " stands twice");
    } else if (way == &env) {
      // An earlier CRD wrote Env into policies that said nothing.
      findings.warning(path,
                       "\"Env\" has no effect: constants stand in env in any case, and a node's values "
                       "come by File, or by Reference where the policy asks for it");
    }
  });
  if (!file && !reference) return;
  policy.deliver_file = file;
  policy.deliver_reference = reference;
}

// The index is never a reference: other engines take an empty one for row 0.
void check_index_carrier(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  if (policy.deliver_file || policy.is_only(LinkLayer::InfiniBand)) return;
  if (policy.gid_index.kind != GidIndexRule::Kind::Auto) return;
  findings.warning(spec.path("delivery"),
                   "brings no GID index, which goes by File alone: add File, or say gidIndex: Omit");
}

void read_metadata(const Json& object, Findings& findings, NcclPolicy& policy) {
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object()) {
    findings.error("metadata",
                   found == object.end() ? "is missing" : "expected an object, found " + describe(*found));
    return;
  }
  // Other fields are the server's: labels, uid, managedFields, …
  const Json& metadata = *found;
  const auto name = metadata.find("name");
  if (name == metadata.end() || !name->is_string()) {
    findings.error("metadata.name",
                   name == metadata.end() ? "is missing" : "expected a string, found " + describe(*name));
  } else if (!is_dns_subdomain(name->get_ref<const std::string&>())) {
    findings.error("metadata.name",
                   in_quotes(name->get_ref<const std::string&>()) +
                       " is not a name: lower-case letters, digits, '-' and '.', at most 253");
  } else {
    policy.name = name->get<std::string>();
  }
  const auto generation = metadata.find("generation");
  if (generation == metadata.end()) return;
  if (generation->is_number_integer() && *generation >= 1 && *generation <= INT64_MAX) {
    policy.generation = generation->get<std::int64_t>();
  } else {
    findings.error("metadata.generation",
                   "expected an integer of at least 1, found " + describe(*generation));
  }
}

void read_spec(const Json& value, const PolicyOptions& options, Findings& findings, NcclPolicy& policy) {
  static constexpr string_view kFields[] = {"mode", "match",    "skipResources", "containers",      "fabric",
                                            "hca",  "gidIndex", "partitionKey",  "socketInterface", "nccl",
                                            "env",  "variants", "delivery",      "onUnresolved"};
  const Fields spec(value, "spec", kFields, findings);
  read_word(spec, "mode", words::kMode, policy.mode);
  read_match(spec, findings, policy);
  spec.texts("skipResources", resource_glob_problem, policy.skip_resources);
  read_word(spec, "containers", words::kContainers, policy.containers);
  read_fabric(spec, findings, policy.fabric);
  read_hca(spec, findings, policy.hca);
  read_gid_index(spec, findings, policy.gid_index);
  read_socket_interface(spec, findings, policy.socket_interface);
  read_partition_key(spec, findings, policy.partition_key);
  read_nccl(spec, findings, policy.min_nccl);
  check_search(spec, findings, policy);
  read_constants(spec, options, findings, policy);
  read_delivery(spec, findings, policy);
  check_index_carrier(spec, findings, policy);
  check_constants(spec, findings, policy);
  if (policy.names_partition_by_value())
    policy.env.insert_or_assign(std::string(variable::kIbPkeyValue), std::to_string(*policy.partition_key));
  read_word(spec, "onUnresolved", words::kOnUnresolved, policy.on_unresolved);
}

void expect_text(const Fields& fields, string_view name, string_view wanted, Findings& findings) {
  const Json* value = fields.find(name);
  if (value != nullptr && value->is_string() && value->get_ref<const std::string&>() == wanted) return;
  findings.error(std::string(name), "expected " + std::string(wanted) +
                                        (value == nullptr ? ", found none" : ", found " + describe(*value)));
}

// Reads the webhook's own --max-table-age, for programs that judge tables as it does.
void read_status(const Json& object, NcclPolicy& policy) {
  const Json::json_pointer place("/status/maxTableAgeSeconds");
  if (!object.contains(place) || !object.at(place).is_number_integer()) return;
  const auto seconds = object.at(place).get<std::int64_t>();
  constexpr std::int64_t kYear = 366 * 24 * 3600;
  if (seconds > 0) policy.max_table_age = std::chrono::seconds(std::min(seconds, kYear));
}

void read_object(const Json& object, const PolicyOptions& options, Findings& findings, NcclPolicy& policy) {
  static constexpr string_view kFields[] = {"apiVersion", "kind", "metadata", "spec", "status"};
  if (!object.is_object()) {
    findings.error("", "expected an NcclPolicy object, found " + describe(object));
    return;
  }
  const Fields fields(object, "", kFields, findings);
  expect_text(fields, "apiVersion", "nccl-env.io/v1alpha1", findings);
  expect_text(fields, "kind", "NcclPolicy", findings);
  read_metadata(object, findings, policy);
  if (const Json* spec = fields.object("spec")) {
    read_spec(*spec, options, findings, policy);
  } else if (fields.find("spec") == nullptr) {
    findings.error("spec", "is missing");
  }
  read_status(object, policy);
}

}  // namespace

PolicyReading read_policy(const Json& object, const PolicyOptions& options) {
  Findings findings(Code::PolicyField);
  NcclPolicy policy;
  read_object(object, options, findings, policy);
  PolicyReading reading;
  reading.findings = findings.take({.kind = "NcclPolicy", .name = policy.name});
  if (!findings.has_errors()) reading.policy = std::move(policy);
  return reading;
}

Result<NcclPolicy> parse_policy(const Json& object, const PolicyOptions& options) {
  PolicyReading reading = read_policy(object, options);
  if (reading.policy) return *std::move(reading.policy);
  std::string message;
  for (const Finding& finding : reading.findings) {
    if (finding.severity == Severity::Error) message += (message.empty() ? "" : "; ") + line_of(finding);
  }
  return Error{message};
}

}  // namespace nccl_env
