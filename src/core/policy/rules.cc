// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "nccl_env/core/nccl/variables.h"
#include "nccl_env/core/text/spelling.h"
#include "nccl_env/core/text/strict.h"
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

void read_delivery(const Fields& spec, Findings& findings, NcclPolicy& policy) {
  const nlohmann::json* value = spec.find("delivery");
  if (value == nullptr) return;
  if (value->is_array() && value->empty())
    findings.error(spec.path("delivery"), "is empty: File, Reference or both");
  bool file = false, reference = false, env = false;
  spec.items("delivery", 3, [&](const nlohmann::json& item, const std::string& path) {
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

}  // namespace nccl_env
