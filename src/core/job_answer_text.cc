// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/job_answer.h"
#include "nccl_env/core/plain_text.h"
#include "nccl_env/core/short_text.h"

namespace nccl_env {
namespace {

using Json = nlohmann::ordered_json;

// What each column may take of 80.
constexpr std::size_t kRankWidth = 20;
constexpr std::size_t kNodeWidth = 20;
constexpr std::size_t kHcasWidth = 18;
// Of the ranks that a finding names.
constexpr std::size_t kNamedRanks = 8;

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
  for (std::size_t i = 0; i < std::min(finding.ranks.size(), kNamedRanks); ++i)
    text += (i > 0 ? ", " : "") + answer.ranks[finding.ranks[i]].name;
  if (finding.ranks.size() > kNamedRanks)
    text += " and " + std::to_string(finding.ranks.size() - kNamedRanks) + " more";
  return text;
}

std::string paragraph(const std::string& text) {
  std::string lines;
  for (const std::string& line : wrap(printable(text), kTextWidth)) lines += line + "\n";
  return lines;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json rank_json(const JobRank& rank, const JobMember& member) {
  const PodRecord& record = member.record;
  Json json = Json::object();
  json["rank"] = rank.name;
  json["pod"] = record.name;
  json["node"] = text_or_null(record.node);
  json["phase"] = text_or_null(record.phase);
  json["state"] = rank.missed ? to_string(PodState::MissedAtAdmission) : to_string(member.answer.state);
  json["reason"] = member.answer.reason ? Json(to_string(*member.answer.reason)) : Json();
  json["compared"] = rank.compared;
  json["policy"] = record.status ? Json(record.status->policy) : Json();
  json["generation"] = record.status ? Json(record.status->generation) : Json();
  json["table"] = record.bound ? text_or_null(record.bound->table) : Json();
  json["hcas"] = rank.hcas;
  json["gidIndex"] = text_or_null(rank.gid_index);
  return json;
}

Json finding_json(const JobFinding& finding, const JobAnswer& answer, std::span<const JobMember> members) {
  Json ranks = Json::array(), pods = Json::array(), nodes = Json::array();
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

Json to_json(const JobAnswer& answer, std::span<const JobMember> members, const JobTitle& title) {
  Json json = Json::object();
  json["namespace"] = title.name_space;
  json["job"] = title.name;
  json["good"] = is_good(answer);
  json["sentence"] = answer.sentence;
  json["ranks"] = Json::array();
  for (const JobRank& rank : answer.ranks) json["ranks"].push_back(rank_json(rank, members[rank.member]));
  json["findings"] = Json::array();
  for (const JobFinding& finding : answer.findings)
    json["findings"].push_back(finding_json(finding, answer, members));
  json["notes"] = answer.notes;
  json["leftOut"] = title.unread;
  return json;
}

}  // namespace nccl_env
