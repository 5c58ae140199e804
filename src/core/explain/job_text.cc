// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "explain/json_values.h"
#include "nccl_env/core/explain/job.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/short_text.h"

namespace nccl_env {
namespace {

using OrderedJson = nlohmann::ordered_json;

// What each column may take of 80.
constexpr std::size_t kRankWidth = 20;
constexpr std::size_t kNodeWidth = 20;
constexpr std::size_t kHcasWidth = 18;
// Of the ranks that a finding names.
constexpr std::size_t kListedRanks = 8;

std::string state_of(const JobRank& rank, const JobMember& member) {
  std::string text(rank.missed ? to_string(PodState::MissedAtAdmission) : to_string(member.answer.state));
  if (member.answer.reason) text += ", " + std::string(to_string(*member.answer.reason));
  return text;
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string table(const JobAnswer& answer, std::span<const JobMember> members) {
  std::vector<bool> odd(answer.ranks.size());
  for (const JobFinding& finding : answer.findings) {
    if (finding.severity == Severity::Info) continue;
    for (const std::size_t rank : finding.ranks) odd[rank] = true;
  }
  TextColumns columns(0);
  columns.add({"  RANK", "NODE", "HCAS", "GID", "STATE"});
  for (std::size_t i = 0; i < answer.ranks.size(); ++i) {
    const JobRank& rank = answer.ranks[i];
    const JobMember& member = members[rank.member];
    columns.add({(odd[i] ? "! " : "  ") + cut(rank.name, kRankWidth),
                 cut(or_dash(member.record.node), kNodeWidth),
                 cut(or_dash(short_hca_list(rank.hcas)), kHcasWidth), cut(or_dash(rank.gid_index), 3),
                 state_of(rank, member)});
  }
  return columns.render();
}

std::string names_of(const JobFinding& finding, const JobAnswer& answer) {
  std::string text;
  for (std::size_t i = 0; i < std::min(finding.ranks.size(), kListedRanks); ++i)
    text += (i > 0 ? ", " : "") + answer.ranks[finding.ranks[i]].name;
  if (finding.ranks.size() > kListedRanks)
    text += " and " + std::to_string(finding.ranks.size() - kListedRanks) + " more";
  return text;
}

std::string paragraph(const std::string& text) {
  std::string lines;
  for (const std::string& line : wrap(printable(text), kTextWidth)) lines += line + "\n";
  return lines;
}

OrderedJson rank_json(const JobRank& rank, const JobMember& member) {
  const PodRecord& record = member.record;
  OrderedJson json = OrderedJson::object();
  json["rank"] = rank.name;
  json["pod"] = record.name;
  json["node"] = text_or_null(record.node);
  json["phase"] = text_or_null(record.phase);
  json["state"] = rank.missed ? to_string(PodState::MissedAtAdmission) : to_string(member.answer.state);
  json["reason"] = member.answer.reason ? OrderedJson(to_string(*member.answer.reason)) : OrderedJson();
  json["compared"] = rank.compared;
  json["policy"] = record.status ? OrderedJson(record.status->policy) : OrderedJson();
  json["generation"] = record.status ? OrderedJson(record.status->generation) : OrderedJson();
  json["table"] = record.bound ? text_or_null(record.bound->table) : OrderedJson();
  json["hcas"] = rank.hcas;
  json["gidIndex"] = text_or_null(rank.gid_index);
  return json;
}

OrderedJson finding_json(const JobFinding& finding, const JobAnswer& answer,
                         std::span<const JobMember> members) {
  OrderedJson ranks = OrderedJson::array(), pods = OrderedJson::array(), nodes = OrderedJson::array();
  for (const std::size_t rank : finding.ranks) {
    const PodRecord& record = members[answer.ranks[rank].member].record;
    ranks.push_back(answer.ranks[rank].name);
    pods.push_back(record.name);
    nodes.push_back(text_or_null(record.node));
  }
  return {{"check", to_string(finding.check)}, {"severity", to_string(finding.severity)},
          {"ranks", std::move(ranks)},         {"pods", std::move(pods)},
          {"nodes", std::move(nodes)},         {"variable", text_or_null(finding.variable)},
          {"evidence", finding.evidence}};
}

}  // namespace

std::string render_text(const JobAnswer& answer, std::span<const JobMember> members, const JobTitle& title) {
  std::string text =
      "job " + printable(object_name(title.name_space, title.name)) + "\n" + table(answer, members);
  if (!answer.findings.empty()) {
    TextColumns columns(2);
    for (const JobFinding& finding : answer.findings) {
      columns.add({std::string(to_string(finding.severity)), std::string(to_string(finding.check)),
                   names_of(finding, answer) + ": " + finding.evidence});
    }
    text += "\n" + columns.render();
  }
  if (!answer.notes.empty() || !title.unread.empty()) {
    TextColumns columns(2);
    for (const std::string& note : answer.notes) columns.add({"note", note});
    for (const std::string& sentence : title.unread) columns.add({"note", sentence});
    text += "\n" + columns.render();
  }
  return text + "\n" + paragraph(answer.sentence);
}

OrderedJson to_json(const JobAnswer& answer, std::span<const JobMember> members, const JobTitle& title) {
  OrderedJson json = OrderedJson::object();
  json["namespace"] = title.name_space;
  json["job"] = title.name;
  json["good"] = is_good(answer);
  json["sentence"] = answer.sentence;
  json["ranks"] = OrderedJson::array();
  for (const JobRank& rank : answer.ranks) json["ranks"].push_back(rank_json(rank, members[rank.member]));
  json["findings"] = OrderedJson::array();
  for (const JobFinding& finding : answer.findings)
    json["findings"].push_back(finding_json(finding, answer, members));
  json["notes"] = answer.notes;
  json["leftOut"] = title.unread;
  return json;
}

}  // namespace nccl_env
