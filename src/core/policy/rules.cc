// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "nccl_env/core/engines/catalogue.h"
#include "nccl_env/core/engines/nccl/variables.h"
#include "nccl_env/core/fabric/hca_name.h"
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

// Words of other fields and tools for what Omit, FromNode and Auto say here. Case does not count.
constexpr std::pair<string_view, string_view> kOtherWords[] = {
    {"None", "Omit"}, {"Off", "Omit"}, {"Auto", "FromNode"}, {"FromNode", "Auto"}};

// Returns the word that is meant by a misspelt or another one; "" for a name. As a device's name it would
// select nothing.
string_view meant_by(string_view text, std::span<const string_view> accepted) {
  for (const auto& [other, word] : kOtherWords) {
    if (equal_ignoring_case(text, other) &&
        std::find(accepted.begin(), accepted.end(), word) != accepted.end())
      return word;
  }
  return nearest(text, accepted, 1);
}

WordOrLiteral read_word_or_list(const PolicyInput& in, string_view field,
                                std::span<const string_view> accepted, string_view variable) {
  const auto text = in.fields.text(field);
  if (!text) return {};
  const auto word = std::find(accepted.begin(), accepted.end(), *text);
  if (word != accepted.end()) return {static_cast<std::size_t>(word - accepted.begin()), {}};
  if (const string_view meant = meant_by(*text, accepted); !meant.empty()) {
    in.error(field, in_quotes(*text) + ": do you mean " + std::string(meant) + "?");
    return {};
  }
  auto problem = value_problem(variable, *text);
  if (!problem && text->find('$') != text->npos) problem = "holds '$': Kubernetes expands $(NAME)";
  if (!problem) return {{}, std::string(*text)};
  in.error(field, *problem + " (accepted: " + json::one_of(accepted) + ", or a list as in " +
                      std::string(variable) + ")");
  return {};
}

bool names_loopback(string_view list) {
  while (!list.empty()) {
    const string_view entry = list.substr(0, list.find(','));
    if (entry == "lo" || entry == "l") return true;
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return false;
}

// Families of HCAs, as hca_family tells them, by which no kernel calls an interface.
constexpr std::array<string_view, 8> kHcaFamilies{"mlx_",   "bnxt_re", "erdma_", "irdma",
                                                  "ionic_", "hns_",    "qedr",   "rocep"};

// The first name of the list that an HCA may have; "" if none.
std::string hca_among(string_view list) {
  while (!list.empty()) {
    const string_view entry = list.substr(0, list.find(','));
    if (std::find(kHcaFamilies.begin(), kHcaFamilies.end(), hca_family(entry)) != kHcaFamilies.end())
      return std::string(entry);
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
  }
  return {};
}

}  // namespace

void read_hca(const PolicyInput& in, HcaRule& out) {
  auto value = read_word_or_list(in, "hca", words::kHca, variable::kIbHca);
  if (value.word) out.kind = static_cast<HcaRule::Kind>(*value.word);
  if (!value.literal) return;
  if (value.literal->find_first_of("=^") != 0)
    in.warning("hca", "without a leading '=' NCCL matches names by prefix: mlx5_1 also selects mlx5_10");
  out = {HcaRule::Kind::Literal, *std::move(value.literal)};
}

void read_socket_interface(const PolicyInput& in, SocketInterfaceRule& out) {
  auto value = read_word_or_list(in, "socketInterface", words::kSocketInterface, variable::kSocketIfname);
  if (value.word) out.kind = static_cast<SocketInterfaceRule::Kind>(*value.word);
  if (!value.literal) return;
  const bool excludes = value.literal->starts_with('^');
  string_view names = *value.literal;
  names.remove_prefix(std::min(names.find_first_not_of("^="), names.size()));
  if (excludes && !names_loopback(names))
    in.warning("socketInterface",
               "an exclusion replaces NCCL's own, which keeps lo out: write ^lo," + std::string(names));
  if (!excludes && names_loopback(names))
    in.warning("socketInterface",
               "NCCL takes lo first, and ranks on other nodes do not reach it: name the nodes' interface, or "
               "write FromNode");
  if (const std::string hca = hca_among(names); !hca.empty())
    in.warning("socketInterface",
               in_quotes(hca) + " is called like an HCA: an interface such as eth0 stands here, or FromNode");
  out = {SocketInterfaceRule::Kind::Literal, *std::move(value.literal)};
}

void read_gid_index(const PolicyInput& in, GidIndexRule& out) {
  const auto value = in.fields.find("gidIndex");
  if (!value) return;
  std::optional<std::int64_t> index;
  std::int64_t number = 0;
  string_view text;
  if (value->get(text) == simdjson::SUCCESS) {
    const auto word = std::find(words::kGidIndex.begin(), words::kGidIndex.end(), text);
    if (word != words::kGidIndex.end()) {
      out.kind = static_cast<GidIndexRule::Kind>(word - words::kGidIndex.begin());
      return;
    }
    index = plain_decimal(text);
  } else if (value->get(number) == simdjson::SUCCESS) {
    index = number;
  }
  const string_view meant = text.empty() ? string_view() : meant_by(text, words::kGidIndex);
  if (!index && !meant.empty())
    return in.error("gidIndex", in_quotes(text) + ": do you mean " + std::string(meant) + "?");
  if (!index || *index < 0 || *index > 255)
    return in.expected("gidIndex", json::one_of(words::kGidIndex) + ", or an integer in 0..255");
  out = {GidIndexRule::Kind::Literal, static_cast<int>(*index)};
}

void read_delivery(const PolicyInput& in, NcclPolicy& policy) {
  struct Way {
    string_view word;
    bool said = false;
  };
  std::array<Way, 2> ways{{{"File"}, {"EnvFile"}}};
  const auto& [file, env_file] = ways;
  bool any = false;
  const bool given = in.fields.items("delivery", 2, [&](json::Element item, const json::Path& at) {
    any = true;
    string_view word;
    if (item.get(word) != simdjson::SUCCESS) word = {};
    const auto way = std::find_if(ways.begin(), ways.end(), [&](const Way& one) { return one.word == word; });
    if (way == ways.end()) {
      in.fields.refusals().mismatch(at, "File or EnvFile", item);
    } else if (std::exchange(way->said, true)) {
      in.fields.refusals().add(at, in_quotes(word) + " stands twice");
    }
  });
  if (given && !any) in.error("delivery", "is empty: File or EnvFile");
  policy.says_delivery = file.said || env_file.said;
  if (policy.says_delivery) policy.deliver_env_file = env_file.said;
}

}  // namespace nccl_env
