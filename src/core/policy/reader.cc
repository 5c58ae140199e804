// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/policy/reader.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/policy/known_names.h"
#include "nccl_env/core/policy/writer.h"
#include "nccl_env/core/text/glob.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/strict.h"
#include "policy/constants.h"
#include "policy/described_reader.h"
#include "policy/fields.h"
#include "text/managed_fields.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using json::Element;
using json::Path;
using std::string_view;

// NCCL's own search for the index begins with 2.21.5.
void check_search(const PolicyInput& spec, const NcclPolicy& policy) {
  if (policy.min_nccl && *policy.min_nccl > kNewestNccl)
    spec.findings.warning(spec.fields.path("nccl").field("minVersion").text(),
                          "is newer than " + format_nccl_version(kNewestNccl) +
                              ", the newest NCCL that this version of nccl-env knows");
  if (policy.gid_index.kind == GidIndexRule::Kind::Dynamic && !policy.searches_gid())
    spec.error("gidIndex",
               "Dynamic leaves it to NCCL, which looks for it from 2.21.5 on, and nccl.minVersion is " +
                   format_nccl_version(*policy.min_nccl));
  if (policy.gid_index.kind == GidIndexRule::Kind::Omit && !policy.searches_gid() &&
      policy.names(LinkLayer::Ethernet))
    spec.findings.warning(spec.fields.path("gidIndex").text(),
                          "Omit leaves it to NCCL, which takes row 0 of a RoCE port before 2.21.5, and "
                          "nccl.minVersion is " +
                              format_nccl_version(*policy.min_nccl) + ": write Pin");
}

// Whether all that matches the second glob matches the first; false where it is not certain.
bool covers(string_view glob, string_view other) {
  const bool plain = glob.find_first_of("?[\\") == glob.npos;
  const bool name = other.find_first_of("*?[\\") == other.npos;
  return glob == other || ((plain || name) && glob_matches(glob, other));
}

bool is_covered(const std::vector<std::string>& globs, string_view other) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return covers(glob, other); });
}

// Warns of classes that belong to another fabric, whatever the policy says.
void warn_of_classes(const Path& path, const std::vector<std::string>& classes, Findings& findings) {
  for (const std::string& name : classes) {
    if (is_compute_domain_class(name))
      findings.warning(path.text(),
                       in_quotes(name) + " has no effect: a ComputeDomain is not an RDMA device");
    if (is_efa_class(name))
      findings.warning(path.text(),
                       in_quotes(name) + " has no effect: NCCL does not reach EFA through verbs");
  }
}

bool is_empty_list(Element value) {
  simdjson::dom::array list;
  return value.get(list) == simdjson::SUCCESS && list.begin() == list.end();
}

// Whether it has a field, of whatever kind, that is neither an empty list nor hostDevices: false.
bool names_anything(Element match) {
  const auto has = [&](string_view name) {
    Element value;
    return match[name].get(value) == simdjson::SUCCESS && !is_empty_list(value);
  };
  bool host_devices = false;
  if (match["hostDevices"].get(host_devices) != simdjson::SUCCESS) host_devices = true;
  return has("resources") || has("deviceClasses") || has("networks") || (host_devices && has("hostDevices"));
}

void check_match(const PolicyInput& spec, const NcclPolicy& policy) {
  const auto match = spec.fields.find("match");
  if (!match || (match->is_object() && !names_anything(*match)))
    spec.error("match", "needs at least one of resources, deviceClasses, networks and hostDevices: true");
  const Path path = spec.fields.path("match");
  warn_of_classes(path.field("deviceClasses"), policy.device_classes, spec.findings);
}

void check_skipped(const PolicyInput& spec, const NcclPolicy& policy) {
  const auto skipped = [&](const ResourceMatch& match) {
    return !match.name.empty() && is_covered(policy.skip_resources, match.name);
  };
  if (policy.resources.empty() || !policy.device_classes.empty() || !policy.networks.empty() ||
      policy.host_devices)
    return;
  if (!std::all_of(policy.resources.begin(), policy.resources.end(), skipped)) return;
  if (spec.has("skipResources"))
    return spec.error("skipResources",
                      "passes over all that match.resources names, and no pod gets anything");
  spec.fields.refusals().add(
      spec.fields.path("match").field("resources"),
      "names " + join(policy.skip_resources) +
          " alone, which skipResources passes over unless it says otherwise: NCCL does "
          "not reach EFA through verbs, and no pod gets anything");
}

void check_index(const PolicyInput& spec, const NcclPolicy& policy) {
  const bool first = policy.gid_index.kind == GidIndexRule::Kind::Literal && policy.gid_index.literal == 0;
  if (first && !policy.is_only(LinkLayer::InfiniBand))
    spec.warning(
        "gidIndex",
        "row 0 of most RoCE ports is link-local, by which ranks on other nodes are not reached: Auto "
        "takes the row that the node's table has");
}

constexpr std::size_t kMostOfLabel = 63;  // a namespace names its policy in a label

void read_metadata(const PolicyInput& object, NcclPolicy& policy) {
  object.fields.require("metadata");
  const auto value = object.fields.object("metadata");
  if (!value) return;
  // Other fields are the server's: labels, uid, managedFields, …
  const PolicyInput metadata{json::Fields(*value, object.fields.path("metadata"), object.fields.refusals()),
                             object.options, object.findings};
  metadata.fields.require("name");
  if (const auto name = metadata.fields.text("name")) {
    if (is_dns_subdomain(*name) && name->size() <= kMostOfLabel) {
      policy.name = *name;
    } else {
      metadata.error(
          "name", in_quotes(*name) + " is not a name: lower-case letters, digits, '-' and '.', at most 63");
    }
  }
  std::int64_t generation = 0;
  const auto given = metadata.fields.find("generation");
  if (given && given->get(generation) == simdjson::SUCCESS && generation >= 1) {
    policy.generation = generation;
  } else {
    metadata.expected("generation", "an integer of at least 1");
  }
}

// The other engines follow what was chosen for NCCL.
void check_engines(const PolicyInput& in, const NcclPolicy& policy) {
  const std::set<const Engine*> names(policy.engines.begin(), policy.engines.end());
  if (!names.contains(&nccl_engine())) in.error("engines", "lacks NCCL, whose ports the others follow");
  if (names.size() < policy.engines.size()) in.error("engines", "names an engine twice");
}

}  // namespace

namespace described {

template <>
struct PolicyRules<ResourceMatch> {
  static void check(const PolicyInput& in, string_view name, const ResourceMatch& match) {
    if (name == "name" && !match.name.empty() && glob_matches(match.name, "nvidia.com/gpu"))
      in.warning("name", in_quotes(match.name) + " matches nvidia.com/gpu, which is not an RDMA resource");
  }
};

// The fastest ports to come, InfiniBand's GDR, in Gb/s; what is in use has 800 at most.
constexpr double kFastestPort = 1600;

void warn_of_rate(const PolicyInput& in, std::optional<double> rate, string_view consequence) {
  if (rate.value_or(0) > kFastestPort)
    in.warning("minRateGbps", "is more than any port has, " + std::string(consequence) +
                                  ": 400 stands for 400 Gb/s, not Mb/s");
}

// "mlx5_.*" for "mlx5_*". A VLAN's netdev is called eth0.100, so its dot may be meant.
bool is_expression(string_view glob, bool of_netdevs) {
  constexpr std::array<string_view, 5> kSigns{"(", "|", "+", "$", "\\d"};
  const auto has = [&](string_view sign) { return glob.find(sign) != glob.npos; };
  return std::any_of(kSigns.begin(), kSigns.end(), has) || (!of_netdevs && has(".*"));
}

void warn_of_expressions(const PolicyInput& in, string_view name, const std::vector<std::string>& globs) {
  for (std::size_t i = 0; i < globs.size(); ++i) {
    const std::string meant = name == "netdevs" ? "" : meant_glob(globs[i]);
    if (!meant.empty() || is_expression(globs[i], name == "netdevs"))
      in.findings.warning(
          in.fields.path(name).item(static_cast<int>(i)).text(),
          in_quotes(globs[i]) +
              (meant.empty() ? " looks like a regular expression: in a glob * is any characters, ? is one, "
                               "[0-3] one of several, and all else is itself, as in mlx5_*"
                             : " is the name of one device: do you mean " + meant + "?"));
  }
}

template <>
struct PolicyRules<FabricRule> {
  // An empty list of what is left out says what it does.
  static void warn_of_empty(const PolicyInput& in, string_view name) {
    const auto list = in.fields.find(name);
    if (list && is_empty_list(*list) && name != "excludeHcas")
      in.warning(name, "is empty: it names nothing, and ports are chosen as without it");
  }
  static void check(const PolicyInput& in, string_view name, const FabricRule& rule) {
    if (name == "hcas") warn_of_expressions(in, name, rule.hcas);
    if (name == "excludeHcas") warn_of_expressions(in, name, rule.exclude_hcas);
    if (name == "netdevs") warn_of_expressions(in, name, rule.netdevs);
    if (name == "minRateGbps") warn_of_rate(in, rule.min_rate_gbps, "so no port of a known rate is fabric");
    if (!name.empty()) return warn_of_empty(in, name);
    const auto is_name = [](const std::string& glob) { return glob.find_first_of("*?[\\") == glob.npos; };
    if (!rule.hcas.empty() && std::all_of(rule.hcas.begin(), rule.hcas.end(), is_name) &&
        rule.expect_ports > static_cast<int>(rule.hcas.size()))
      in.warning("expectPorts", "is more than the devices of hcas, " + std::to_string(rule.hcas.size()) +
                                    ": a node with one port on each gives no list (TooFewPorts)");
    if (rule.exclude_hcas.empty()) return;
    const std::vector<std::string> all = rule.hcas.empty() ? std::vector<std::string>{"*"} : rule.hcas;
    if (std::all_of(all.begin(), all.end(),
                    [&](const std::string& glob) { return is_covered(rule.exclude_hcas, glob); }))
      in.warning("excludeHcas", "leaves none of the devices, and no node gives a list (NoFabricPort)");
  }
};

template <>
struct PolicyRules<NodeCondition> {
  static void check(const PolicyInput& in, string_view name, const NodeCondition& when) {
    if (name == "minRateGbps") warn_of_rate(in, when.min_rate_gbps, "so no node meets it");
    if (!name.empty()) return;
    const auto boards = in.fields.find("boards");
    if (boards && is_empty_list(*boards)) in.error("boards", "is empty, and no node meets it");
    if (in.fields.empty())
      in.fields.refusals().add(in.fields.path(),
                               "is empty: what holds on all nodes belongs into spec itself");
  }
};

template <>
struct PolicyRules<PolicyVariant> {
  static void check(const PolicyInput& in, string_view name, const PolicyVariant& /*variant*/) {
    if (name == "when" && !in.has("env") && !in.has("fabric") && !in.has("socketInterface"))
      in.error("env", "is missing, as are fabric and socketInterface: nothing differs");
  }
};

template <>
struct PolicyRules<NcclPolicy> {
  static void check(const PolicyInput& in, string_view name, NcclPolicy& policy) {
    if (name == "match") check_match(in, policy);
    if (name == "skipResources") check_skipped(in, policy);
    if (name == "gidIndex") check_index(in, policy);
    if (name == "nccl") check_search(in, policy);
    if (name == "engines") check_engines(in, policy);
    if (name == "delivery") {
      check_constants(in, policy);
      if (policy.names_partition_by_value())
        policy.env.insert_or_assign(std::string(variable::kIbPkeyValue),
                                    std::to_string(*policy.partition_key));
    }
  }
};

}  // namespace described

namespace {

void expect_text(const PolicyInput& in, string_view name, string_view wanted) {
  const auto value = in.fields.find(name);
  string_view text;
  if (value && value->get(text) == simdjson::SUCCESS && text == wanted) return;
  in.error(name, "expected " + std::string(wanted) + ", found " + (value ? describe(*value) : "none"));
}

// The status records what an installation can do, once a generation is accepted; until then, and where
// the cluster cannot, EnvFile is File. A policy in a file has no record.
void settle_carrier(Element object, const PolicyOptions& options, NcclPolicy& policy) {
  string_view record, version;
  const bool recorded = object["status"]["carrier"].get(record) == simdjson::SUCCESS;
  const bool lives = object["metadata"]["resourceVersion"].get(version) == simdjson::SUCCESS;
  const bool holds =
      recorded ? record == to_string(Carrier::EnvFile) : !lives && options.carrier == Carrier::EnvFile;
  if (policy.says_delivery) {
    if ((recorded || lives) && !holds) policy.deliver_env_file = false;
  } else {
    policy.deliver_env_file = holds;
  }
}

// Says which engines get nothing that depends on the node.
void warn_of_engines(const json::Path& path, const NcclPolicy& policy, Findings& findings) {
  if (const std::string names = unavailable_engines(policy); !names.empty())
    findings.warning(path.text(), names +
                                      ": values of a node reach them by EnvFile alone, which neither "
                                      "spec.delivery nor --carrier gives here (EnginesUnavailable)");
}

// Reads the webhook's own --max-table-age and --resolver-image, for programs that decide as it does.
void read_status(Element object, NcclPolicy& policy) {
  std::int64_t seconds = 0;
  constexpr std::int64_t kYear = 366 * 24 * 3600;
  if (object["status"]["maxTableAgeSeconds"].get(seconds) != simdjson::SUCCESS || seconds <= 0) return;
  policy.max_table_age = std::chrono::seconds(std::min(seconds, kYear));
  constexpr std::size_t kLongestImage = 1024;
  string_view image;
  const bool named = object["status"]["resolverImage"].get(image) == simdjson::SUCCESS;
  policy.resolver_image = named && image.size() <= kLongestImage ? image : string_view();
}

void read_object(Element object, const PolicyOptions& options, Findings& findings, NcclPolicy& policy) {
  static constexpr string_view kFields[] = {"apiVersion", "kind", "metadata", "spec", "status"};
  PolicyRefusals refusals(findings);
  if (!object.is_object()) return refusals.mismatch({}, "an NcclPolicy object", object);
  const PolicyInput in{json::Fields(object, {}, refusals, kFields), options, findings};
  expect_text(in, "apiVersion", "nccl-env.io/v1alpha1");
  expect_text(in, "kind", "NcclPolicy");
  read_metadata(in, policy);
  in.fields.require("spec");
  described::read_as(in, "spec", described::Nested{}, policy);
  read_status(object, policy);
  settle_carrier(object, options, policy);
  warn_of_engines(in.fields.path("spec").field("engines"), policy, findings);
  if (Element metadata; object["metadata"].get(metadata) == simdjson::SUCCESS)
    policy.written = json::newest_write(metadata);
}

}  // namespace

PolicyReading read_policy(string_view text, const PolicyOptions& options) {
  constexpr std::size_t kMaxBytes = 8u << 20;  // as a file's; the API server takes objects of 3 MiB
  Findings findings(Code::PolicyField);
  NcclPolicy policy;
  simdjson::dom::parser parser(kMaxBytes);
  const auto object = json::parse(parser, text);
  object ? read_object(*object, options, findings, policy) : findings.error("", object.error().message);
  PolicyReading reading;
  reading.findings = findings.take({.kind = "NcclPolicy", .name = policy.name});
  if (findings.has_errors()) return reading;
  policy.value_hash = value_hash(policy);
  reading.policy = std::move(policy);
  return reading;
}

PolicyReading read_policy(const nlohmann::json& object, const PolicyOptions& options) {
  return read_policy(string_view(dump_json(object)), options);
}

Result<NcclPolicy> parse_policy(string_view text, const PolicyOptions& options) {
  PolicyReading reading = read_policy(text, options);
  if (reading.policy) return *std::move(reading.policy);
  std::string message;
  for (const Finding& finding : reading.findings) {
    if (finding.severity == Severity::Error) message += (message.empty() ? "" : "; ") + line_of(finding);
  }
  return Error{message};
}

Result<NcclPolicy> parse_policy(const nlohmann::json& object, const PolicyOptions& options) {
  return parse_policy(string_view(dump_json(object)), options);
}

}  // namespace nccl_env
