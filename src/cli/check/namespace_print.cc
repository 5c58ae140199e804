// SPDX-License-Identifier: Apache-2.0
#include "check/namespace_print.h"

#include <nlohmann/json.hpp>

#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/json_member.h"

namespace nccl_env::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

void add_finding(const std::optional<Finding>& finding, TextColumns& columns) {
  if (!finding) return;
  columns.add({"problem", printable(finding->sentence)});
  columns.add({"remedy", printable(finding->remedy)});
}

std::string sample_text(const SampleOutcome& sample, bool dry_run) {
  TextColumns columns(2);
  if (sample.with_us.admitted) {
    columns.add({"admitted", sample.touched ? "form " + printable(sample.form) + ", exposure " +
                                                  printable(sample.exposure)
                             : dry_run ? "unchanged: the policy says mode DryRun"
                                       : "unchanged"});
  } else {
    columns.add({"refused", printable(sample.with_us.sentence)});
  }
  if (sample.touched) {
    columns.add({"gets", printable(list_of(sample.set))});
    if (!sample.omitted.empty()) columns.add({"left out", printable(list_of(sample.omitted))});
    columns.add(
        {"resolver", sample.resolver ? "has the init container nccl-env-resolve" : "no init container"});
  }
  if (sample.without_us) {
    columns.add({"without us", sample.without_us->admitted
                                   ? "the same pod would be admitted (nccl-env.io/inject: \"false\")"
                                   : "refused, too: " + printable(sample.without_us->sentence)});
  }
  add_finding(sample.finding, columns);
  return "\na pod with " + printable(sample.resource) + "\n" + columns.render();
}

OrderedJson object_of(const Pairs& pairs) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, why] : pairs) object[name] = why;
  return object;
}

OrderedJson refusal_json(const DryRun& tried) {
  if (tried.admitted) return {};
  return {{"by", to_string(tried.refuser)}, {"sentence", tried.sentence}};
}

}  // namespace

std::string render_text(const NamespaceCheck& check) {
  std::string text = "namespace " + printable(check.name_space);
  if (!check.policy.empty()) text += ", policy " + printable(check.policy);
  text += is_good(check.findings()) ? ": its pods can get what the policy wants\n" : ": not all is well\n";
  TextColumns columns(2);
  add_finding(check.finding, columns);
  for (const std::string& note : check.notes) columns.add({"note", printable(note)});
  text += columns.render();
  for (const SampleOutcome& sample : check.samples) text += sample_text(sample, check.mode == "DryRun");
  return text;
}

OrderedJson to_json(const NamespaceCheck& check) {
  OrderedJson samples = OrderedJson::array();
  for (const SampleOutcome& sample : check.samples) {
    samples.push_back({{"resource", sample.resource},
                       {"admitted", sample.with_us.admitted},
                       {"refused", refusal_json(sample.with_us)},
                       {"admittedWithoutUs", sample.with_us.admitted || sample.without_us->admitted},
                       {"changed", sample.touched},
                       {"form", text_or_null(sample.form)},
                       {"exposure", text_or_null(sample.exposure)},
                       {"set", object_of(sample.set)},
                       {"omitted", object_of(sample.omitted)},
                       {"resolver", sample.resolver}});
  }
  return {{"namespace", check.name_space},
          {"good", is_good(check.findings())},
          {"policy", text_or_null(check.policy)},
          {"mode", text_or_null(check.mode)},
          {"findings", nccl_env::to_json(check.findings())},
          {"notes", check.notes},
          {"samples", std::move(samples)}};
}

}  // namespace nccl_env::cli
