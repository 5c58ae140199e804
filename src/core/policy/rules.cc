// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/spelling.h"
#include "policy/words.h"
#include "text/quote.h"

namespace nccl_env {
namespace {

using std::string_view;

// The value of hca or socketInterface: the position of a word, or a literal in NCCL's own grammar; neither if
// the field is absent or refused.
struct WordOrLiteral {
  std::optional<std::size_t> word;
  std::optional<std::string> literal;
};

WordOrLiteral read_word_or_list(const Fields& spec, string_view field, std::span<const string_view> accepted,
                                string_view variable, Findings& findings) {
  auto text = spec.text(field);
  if (!text) return {};
  const auto word = std::find(accepted.begin(), accepted.end(), *text);
  if (word != accepted.end()) return {static_cast<std::size_t>(word - accepted.begin()), {}};
  // A misspelt word would pass as a device's name and select nothing.
  if (const string_view meant = nearest(*text, accepted, 1); !meant.empty()) {
    findings.error(spec.path(field), in_quotes(*text) + ": do you mean " + std::string(meant) + "?");
    return {};
  }
  auto problem = value_problem(variable, *text);
  if (!problem && text->find('$') != std::string::npos) problem = "holds '$': Kubernetes expands $(NAME)";
  if (!problem) return {{}, std::move(text)};
  findings.error(spec.path(field), *problem + " (accepted: " + one_of(accepted) + ", or a list as in " +
                                       std::string(variable) + ")");
  return {};
}

bool names_loopback(string_view exclusions) {
  while (!exclusions.empty()) {
    const string_view entry = exclusions.substr(0, exclusions.find(','));
    if (entry == "lo" || entry == "l") return true;
    exclusions.remove_prefix(std::min(exclusions.size(), entry.size() + 1));
  }
  return false;
}

}  // namespace

void read_hca(const Fields& spec, Findings& findings, HcaRule& out) {
  auto value = read_word_or_list(spec, "hca", words::kHca, variable::kIbHca, findings);
  if (value.word) out.kind = static_cast<HcaRule::Kind>(*value.word);
  if (!value.literal) return;
  if (value.literal->find_first_of("=^") != 0) {
    findings.warning(spec.path("hca"),
                     "without a leading '=' NCCL matches names by prefix: mlx5_1 also selects mlx5_10");
  }
  out = {HcaRule::Kind::Literal, *std::move(value.literal)};
}

void read_socket_interface(const Fields& spec, Findings& findings, SocketInterfaceRule& out) {
  auto value =
      read_word_or_list(spec, "socketInterface", words::kSocketInterface, variable::kSocketIfname, findings);
  if (value.word) out.kind = static_cast<SocketInterfaceRule::Kind>(*value.word);
  if (!value.literal) return;
  if (value.literal->starts_with('^')) {
    const string_view exclusions =
        string_view(*value.literal).substr(value.literal->starts_with("^=") ? 2 : 1);
    if (!names_loopback(exclusions)) {
      findings.warning(
          spec.path("socketInterface"),
          "an exclusion replaces NCCL's own, which keeps lo out: write ^lo," + std::string(exclusions));
    }
  }
  out = {SocketInterfaceRule::Kind::Literal, *std::move(value.literal)};
}

void read_fabric(const Fields& spec, Findings& findings, FabricRule& fabric) {
  static constexpr string_view kFields[] = {"hcas",        "netdevs",     "subnets",    "linkLayer",
                                            "excludeHcas", "minRateGbps", "expectPorts"};
  const nlohmann::json* value = spec.object("fabric");
  if (value == nullptr) return;
  const Fields fields(*value, spec.path("fabric"), kFields, findings);
  fields.texts("hcas", name_glob_problem, fabric.hcas);
  fields.texts("netdevs", name_glob_problem, fabric.netdevs);
  std::vector<std::string> subnets;
  const auto subnet_problem = [](string_view text) -> std::optional<std::string> {
    const auto subnet = parse_cidr(text);
    if (subnet.ok()) return std::nullopt;
    return subnet.error().message;
  };
  fields.texts("subnets", subnet_problem, subnets);
  for (const std::string& subnet : subnets) fabric.subnets.push_back(*parse_cidr(subnet));
  if (const auto layer = fields.word("linkLayer", words::kLinkLayer)) {
    constexpr std::optional<LinkLayer> kLayers[] = {std::nullopt, LinkLayer::Ethernet, LinkLayer::InfiniBand};
    fabric.link_layer = kLayers[*layer];
  }
  fields.texts("excludeHcas", name_glob_problem, fabric.exclude_hcas);
  fields.positive("minRateGbps", fabric.min_rate_gbps);
  std::optional<std::int64_t> ports;
  fields.integer("expectPorts", 1, 1024, ports);
  if (ports) fabric.expect_ports = static_cast<int>(*ports);
}

}  // namespace nccl_env
