// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "described/writer.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/proof/causes.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "proof/description.h"

namespace nccl_env {
namespace {

// A wider matrix does not fit 80 columns.
constexpr std::size_t kMostInMatrix = 16;

// "+" where all links work, else how many fail; "." of two nodes that were not tried together.
std::string matrix(const Proof& proof) {
  std::map<std::pair<int, int>, std::string> cells;
  for (const ProofPair& pair : proof.pairs) {
    const auto failed =
        std::ranges::count_if(pair.links, [](const ProofLink& link) { return link.step.has_value(); });
    const std::string cell = pair.links.empty() ? "." : failed == 0 ? "+" : std::to_string(failed);
    cells[{pair.from, pair.to}] = cells[{pair.to, pair.from}] = cell;
  }
  TextColumns columns(2);
  std::vector<int> places;
  for (const ProofMember& member : proof.members) places.push_back(member.place);
  std::ranges::sort(places);
  std::vector<std::string> head{"", ""};
  for (const int place : places) head.push_back(std::to_string(place));
  columns.add(std::move(head));
  for (const int place : places) {
    std::vector<std::string> row{proof.at(place)->node, std::to_string(place)};
    for (const int other : places) {
      const auto cell = cells.find({place, other});
      row.push_back(place == other ? "" : cell == cells.end() ? "." : cell->second);
    }
    columns.add(std::move(row));
  }
  return columns.render();
}

}  // namespace

std::size_t ProofAnswer::links() const {
  std::size_t count = 0;
  for (const ProofPair& pair : proof.pairs) count += pair.links.size();
  return count;
}

std::size_t ProofAnswer::failed() const {
  std::size_t count = 0;
  for (const ProofPair& pair : proof.pairs)
    count += static_cast<std::size_t>(
        std::ranges::count_if(pair.links, [](const ProofLink& link) { return link.step.has_value(); }));
  return count;
}

std::string ProofAnswer::sentence() const {
  std::string first;
  if (!findings.empty()) {
    const std::string& name = findings.front().subject.name;
    first = (name.empty() ? "" : ": " + name) + ": " + findings.front().sentence;
  }
  if (links() == 0) return "Nothing was tested" + first;
  const std::string all = count_of(links(), "link") + " of " + count_of(proof.members.size(), "node");
  if (failed() > 0) return std::to_string(failed()) + " of " + all + " fail" + first;
  return is_good(findings) ? "All " + all + " work" : "The " + all + " work, but not all was tested" + first;
}

ProofAnswer answer_proof(Proof proof, std::vector<UntestedNode> untested) {
  ProofAnswer answer{std::move(proof), std::move(untested), {}};
  answer.findings = find_causes(answer.proof, answer.untested);
  return answer;
}

nlohmann::ordered_json to_json(const ProofAnswer& answer) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array(), pairs = nodes, untested = nodes;
  for (const ProofMember& member : answer.proof.members)
    nodes.push_back(described::write_object(member, false));
  for (const ProofPair& pair : answer.proof.pairs) pairs.push_back(described::write_object(pair, false));
  for (const UntestedNode& each : answer.untested)
    untested.push_back({{"node", each.node}, {"state", to_string(each.why)}, {"detail", each.detail}});
  return {{"sentence", answer.sentence()},       {"links", answer.links()},
          {"failed", answer.failed()},           {"members", std::move(nodes)},
          {"pairs", std::move(pairs)},           {"untested", std::move(untested)},
          {"findings", to_json(answer.findings)}};
}

std::string render_text(const ProofAnswer& answer) {
  const std::string sentence = answer.sentence();
  std::string text = paragraph(sentence + (sentence.ends_with('.') ? "" : "."));
  if (answer.proof.members.size() > 1 && answer.proof.members.size() <= kMostInMatrix)
    text += "\n" + matrix(answer.proof);
  text += render_sections(answer.findings);
  return text + "\n" +
         paragraph("Neither losslessness nor bandwidth nor GPUs are tested (docs/use/fabric-test.md).");
}

}  // namespace nccl_env
