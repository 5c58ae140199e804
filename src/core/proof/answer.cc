// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/answer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "described/writer.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "proof/description.h"

namespace nccl_env {
namespace {

// A wider matrix does not fit 80 columns.
constexpr std::size_t kMostInMatrix = 16;

// "+" where all links work, else how many fail; "?" where an end fell silent, "." of two nodes that were not
// tried together.
std::string cell_of(const ProofPair& pair) {
  const auto failed = std::ranges::count_if(pair.links, &ProofLink::failed);
  if (failed > 0) return std::to_string(failed);
  if (pair.links.empty()) return ".";
  return std::ranges::all_of(pair.links, &ProofLink::has_result) ? "+" : "?";
}

std::string matrix(const Proof& proof) {
  std::map<std::pair<int, int>, std::string> cells;
  for (const ProofPair& pair : proof.pairs)
    cells[{pair.from, pair.to}] = cells[{pair.to, pair.from}] = cell_of(pair);
  TextColumns columns(2);
  std::vector<std::string> head{"", ""};
  for (const ProofMember& member : proof.members) head.push_back(std::to_string(member.place));
  columns.add(std::move(head));
  for (const ProofMember& one : proof.members) {
    std::vector<std::string> row{one.node, std::to_string(one.place)};
    for (const ProofMember& other : proof.members) {
      const auto cell = cells.find({one.place, other.place});
      row.push_back(one.place == other.place ? "" : cell == cells.end() ? "." : cell->second);
    }
    columns.add(std::move(row));
  }
  return columns.render();
}

template <class Is>
std::size_t count_links(const Proof& proof, const Is& is) {
  std::size_t count = 0;
  for (const ProofPair& pair : proof.pairs)
    count += static_cast<std::size_t>(std::ranges::count_if(pair.links, is));
  return count;
}

}  // namespace

std::size_t ProofAnswer::links() const {
  return count_links(proof, &ProofLink::has_result);
}
std::size_t ProofAnswer::failed() const {
  return count_links(proof, &ProofLink::failed);
}

bool ProofAnswer::is_nothing() const {
  return links() == 0 && std::ranges::all_of(
                             findings, [](Code code) { return code == Code::NotTested; }, &Finding::code);
}

std::string ProofAnswer::sentence() const {
  const auto tell = [](const Finding& finding) {
    return (finding.subject.name.empty() ? "" : finding.subject.name + ": ") + finding.sentence;
  };
  const std::string first = findings.empty() ? "" : tell(findings.front());
  if (is_nothing()) return "Nothing was tested" + (first.empty() ? "" : ": " + first);
  const std::string all = count_of(links(), "link") + " of " + count_of(proof.members.size(), "node"),
                    work = all + (links() == 1 ? " works" : " work");
  const auto of_links = std::ranges::find_if(
      findings, [](Code code) { return code >= Code::NetworkBroken && code <= Code::LinkFails; },
      &Finding::code);
  if (of_links != findings.end())
    return std::to_string(failed()) + " of " + all + (failed() == 1 ? " fails: " : " fail: ") +
           tell(*of_links);
  if (is_good(findings)) return (links() == 1 ? "The " : "All ") + work;
  if (findings.front().severity == Severity::Error)
    return links() == 0 ? first : first + "; the other " + work;
  return "The " + work + ", but not all was tested: " + first;
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
  std::string text = paragraph(answer.sentence() + ".");
  if (answer.proof.members.size() > 1 && answer.proof.members.size() <= kMostInMatrix)
    text += "\n" + matrix(answer.proof) +
            paragraph("+ all links work, a number fails, ? an end fell silent, . not tried.", 2);
  text += render_sections(answer.findings);
  return text + "\n" +
         paragraph("Neither losslessness nor bandwidth nor GPUs are tested (docs/use/fabric-test.md).");
}

}  // namespace nccl_env
