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
#include "policy/described_reader.h"
#include "policy/fields.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using Json = nlohmann::json;
using std::string_view;

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

// Warns of classes that belong to another fabric, whatever the policy says.
void warn_of_classes(const std::string& path, const std::vector<std::string>& classes, Findings& findings) {
  for (const std::string& name : classes) {
    if (is_compute_domain_class(name))
      findings.warning(path, in_quotes(name) + " has no effect: a ComputeDomain is not an RDMA device");
    if (is_efa_class(name))
      findings.warning(path, in_quotes(name) + " has no effect: NCCL does not reach EFA through verbs");
  }
}

void check_match(const Fields& spec, Findings& findings, const NcclPolicy& policy) {
  const Json* match = spec.find("match");
  const auto given = [&](const char* name) {
    const auto field = match->find(name);
    return field != match->end() && !(field->is_array() && field->empty());
  };
  if (match == nullptr ||
      (match->is_object() && !given("resources") && !given("deviceClasses") && !given("networks") &&
       (!given("hostDevices") || match->at("hostDevices") == false))) {
    findings.error(spec.path("match"),
                   "needs at least one of resources, deviceClasses, networks and hostDevices: true");
  }
  warn_of_classes(path_of(spec.path("match"), "deviceClasses"), policy.device_classes, findings);
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

}  // namespace

namespace described {

template <>
struct PolicyRules<ResourceMatch> {
  static void check(const PolicyInput& in, string_view name, const ResourceMatch& match) {
    if (name == "name" && !match.name.empty() && glob_matches(match.name, "nvidia.com/gpu"))
      in.findings.warning(
          in.fields.path("name"),
          in_quotes(match.name) + " also matches nvidia.com/gpu, which is not an RDMA resource");
  }
};

template <>
struct PolicyRules<NodeCondition> {
  static void check(const PolicyInput& in, string_view name, const NodeCondition& /*when*/) {
    if (!name.empty()) return;
    const Json* boards = in.fields.find("boards");
    if (boards != nullptr && boards->is_array() && boards->empty())
      in.findings.error(in.fields.path("boards"), "is empty, and no node meets it");
    if (in.fields.empty())
      in.findings.error(in.fields.where(), "is empty: what holds on all nodes belongs into spec itself");
  }
};

template <>
struct PolicyRules<PolicyVariant> {
  static void check(const PolicyInput& in, string_view name, const PolicyVariant& /*variant*/) {
    const auto absent = [&](string_view field) { return in.fields.find(field) == nullptr; };
    if (name == "when" && absent("env") && absent("fabric") && absent("socketInterface"))
      in.findings.error(in.fields.path("env"),
                        "is missing, as are fabric and socketInterface: nothing differs");
  }
};

template <>
struct PolicyRules<NcclPolicy> {
  static void check(const PolicyInput& in, string_view name, NcclPolicy& policy) {
    if (name == "match") check_match(in.fields, in.findings, policy);
    if (name == "nccl") check_search(in.fields, in.findings, policy);
    if (name == "delivery") {
      check_index_carrier(in.fields, in.findings, policy);
      check_constants(in.fields, in.findings, policy);
      if (policy.names_partition_by_value())
        policy.env.insert_or_assign(std::string(variable::kIbPkeyValue),
                                    std::to_string(*policy.partition_key));
    }
  }
};

}  // namespace described

namespace {

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
    const auto names = described::names_in(described::fields_of<NcclPolicy>);
    described::read_policy_object({Fields(*spec, "spec", names, findings), options, findings}, policy);
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
