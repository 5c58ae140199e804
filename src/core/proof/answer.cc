// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/core/proof/answer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "described/writer.h"
#include "nccl_env/core/findings/print.h"
#include "nccl_env/core/text/columns.h"
#include "nccl_env/core/text/join.h"
#include "proof/description.h"

namespace nccl_env {
namespace {

using RailPlace = std::pair<int, int>;  // member, rail
using Networks = std::pair<std::string, std::string>;

// More are no help to people, and each costs a look at all links that are left.
constexpr int kMostRails = 64;
// A wider matrix does not fit 80 columns.
constexpr std::size_t kMostInMatrix = 16;

// A link with its ends.
struct Tried {
  const ProofLink* link;
  RailPlace from, to;

  [[nodiscard]] const RailPlace& other(const RailPlace& end) const { return end == from ? to : from; }
};
using Links = std::vector<const Tried*>;

// "connect, 110 Connection timed out".
std::string step_text(ProofStep step, std::optional<int> error) {
  const bool completion = step == ProofStep::Packet || step == ProofStep::Packets;
  constexpr int kNoAnswer = 12;  // IBV_WC_RETRY_EXC_ERR
  std::string text(described::word_of(step));
  if (!error) return text;
  if (completion && *error == kNoAnswer) return text + ", no answer";
  if (completion) return text + ", completion status " + std::to_string(*error);
  return text + ", " + std::to_string(*error) + " " + std::generic_category().message(*error);
}

// The step that most of the links failed at.
std::string usual_step(const Links& failed) {
  std::map<std::string, int> times;
  for (const Tried* each : failed) ++times[step_text(*each->link->step, each->link->error)];
  return std::ranges::max_element(times, {}, [](const auto& each) { return each.second; })->first;
}

// Returns LongPacketsLost where short packets pass on all of them.
Code code_of(const Links& failed, Code otherwise) {
  const bool lengthy =
      std::ranges::all_of(failed, [](const Tried* each) { return each->link->step == ProofStep::Packets; });
  return lengthy ? Code::LongPacketsLost : otherwise;
}

// A step that failed without a peer.
Code code_of(const ProofRail& rail) {
  if (rail.step == ProofStep::Row && rail.gid && rail.gid->is_link_local()) return Code::LinkLocalGid;
  const std::map<ProofStep, Code> codes{{ProofStep::Open, Code::DeviceNotOpened},
                                        {ProofStep::Port, Code::PortDown},
                                        {ProofStep::Row, Code::NoAddress},
                                        {ProofStep::Memory, Code::MemoryLock}};
  const auto found = codes.find(*rail.step);
  return found == codes.end() ? Code::ConnectFailed : found->second;
}

// True if a member is at an end of all.
bool have_one_member(const Links& links) {
  std::map<int, std::size_t> times;
  for (const Tried* each : links) ++times[each->from.first], ++times[each->to.first];
  return std::ranges::any_of(times, [&](const auto& each) { return each.second == links.size(); });
}

// Explains the failed links of a test, and owns what is left to explain.
class Causes {
 public:
  explicit Causes(const Proof& proof) : proof_(proof) {
    for (const ProofPair& pair : proof.pairs) {
      for (const ProofLink& link : pair.links) {
        if (link.has_result()) tried_.push_back({&link, {pair.from, link.from}, {pair.to, link.to}});
      }
    }
    for (const Tried& each : tried_) {
      for (const RailPlace& end : {each.from, each.to}) ++times_[end], works_[end] |= !each.link->failed();
      if (each.link->failed()) left_.push_back(&each);
    }
  }

  std::vector<Finding> find() {
    for (const ProofMember& member : proof_.members) {
      for (const ProofRail& rail : member.rails) {
        if (rail.step)
          add(code_of(rail), of_node(member.node, {name_of(rail)}),
              name_of(rail) + " fails by itself: " + step_text(*rail.step, rail.error));
      }
    }
    networks();
    for (int rails = 0; rails < kMostRails && !left_.empty(); ++rails) one_rail();
    if (!left_.empty())
      add(Code::LinkFails, {.kind = "Job"}, count_of(left_.size(), "further link") + " fail, of other rails");
    std::ranges::sort(found_, more_urgent);
    return std::move(found_);
  }

 private:
  [[nodiscard]] const ProofMember& member_at(const RailPlace& place) const { return *proof_.at(place.first); }
  [[nodiscard]] const ProofRail& rail_at(const RailPlace& place) const {
    return member_at(place).rails[static_cast<std::size_t>(place.second)];
  }

  void add(Code code, Subject subject, std::string sentence) {
    found_.push_back({code, Severity::Error, std::move(subject), std::move(sentence)});
  }
  void explain(const Links& links, Code code, Subject subject, std::string sentence) {
    add(code_of(links, code), std::move(subject), std::move(sentence));
    const std::set<const Tried*> gone(links.begin(), links.end());
    std::erase_if(left_, [&](const Tried* each) { return gone.contains(each); });
  }

  // All links inside a network, or between two that work by themselves: no end is to blame. Where one member
  // is at an end of all, it may as well be that one.
  void networks() {
    std::map<Networks, Links> groups;
    std::set<Networks> work;
    for (const Tried& each : tried_) {
      const Networks key =
          std::minmax(rail_at(each.from).network.value_or(""), rail_at(each.to).network.value_or(""));
      if (!each.link->failed()) work.insert(key);
      groups[key].push_back(&each);
    }
    for (const auto& [key, links] : groups) {
      const auto& [one, other] = key;
      const bool ends_work = one != other && work.contains({one, one}) && work.contains({other, other});
      if (work.contains(key) || one.empty() || (!ends_work && have_one_member(links))) continue;
      explain(links, Code::NetworkBroken, {.kind = "Network", .name = one},
              "none of " + count_of(links.size(), "link") +
                  (one == other ? " inside " + one : " between " + one + " and " + other) +
                  " works: " + usual_step(links));
    }
  }

  // The rail that explains most of what is left; of equal ones that which has fewer links that work.
  void one_rail() {
    std::map<RailPlace, Links> failed;
    for (const Tried* each : left_) {
      for (const RailPlace& end : {each->from, each->to}) failed[end].push_back(each);
    }
    const auto most = std::ranges::max_element(
        failed, {}, [&](const auto& each) { return std::tuple(each.second.size(), -times_[each.first]); });
    const RailPlace rail = most->first;  // clang 14 captures no structured binding
    Links& links = most->second;
    std::ranges::sort(links, {}, [&](const Tried* each) { return each->other(rail); });
    const auto peer = [&](const Tried* each) {
      return member_at(each->other(rail)).node + "'s " + name_of(rail_at(each->other(rail)));
    };
    const std::string &node = member_at(rail).node, name = name_of(rail_at(rail));
    const bool cut_off = links.size() > 1 && !works_[rail];
    explain(links, cut_off ? Code::RailCutOff : Code::LinkFails, of_node(node, {name}),
            links.size() == 1 ? node + "'s " + name + " and " + peer(links.front()) + ": " + usual_step(links)
                              : name + ": " + std::to_string(links.size()) + " of " +
                                    count_of(static_cast<std::size_t>(times_[rail]), "link") + " fail at " +
                                    usual_step(links) + "; with " + join_some(links, 3, peer));
  }

  const Proof& proof_;
  std::vector<Tried> tried_;
  std::map<RailPlace, int> times_;   // that a rail was tried
  std::map<RailPlace, bool> works_;  // with one peer at least
  Links left_;                       // failed, and not explained yet
  std::vector<Finding> found_;
};

// Members whose end of a link said nothing any more.
std::set<int> silent_members(const Proof& proof) {
  std::set<int> silent(proof.left.begin(), proof.left.end());
  for (const ProofPair& pair : proof.pairs) {
    for (const ProofLink& link : pair.links) {
      if (!link.has_result() && link.end != ProofEnd::To) silent.insert(pair.from);
      if (!link.has_result() && link.end != ProofEnd::From) silent.insert(pair.to);
    }
  }
  return silent;
}

void add_untested(const Proof& proof, const std::vector<UntestedNode>& untested, std::vector<Finding>& into) {
  const auto add = [&](Subject subject, std::string sentence) {
    into.push_back({Code::NotTested, Severity::Warning, std::move(subject), std::move(sentence)});
  };
  for (const ProofMember& member : proof.members) {
    if (member.rails.empty()) add(of_node(member.node), "its pod has no port that NCCL would use");
  }
  for (const int place : silent_members(proof)) {
    const bool went = std::ranges::find(proof.left, place) != proof.left.end();
    if (const ProofMember* member = proof.at(place))
      add(of_node(member->node),
          went ? "its member went in the middle of the test" : "its member fell silent");
  }
  for (const auto& [node, why, detail] : untested)
    add(of_node(node), std::string(to_string(why)) + (detail.empty() ? "" : ": ") + detail);
  if (!proof.members.empty() && !proof.ended)
    add({.kind = "Job"}, "the test's log ends after round " + std::to_string(proof.rounds_done) + " of " +
                             std::to_string(proof.rounds));
}

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
  for (const auto& [place, node, rails] : proof.members) {
    head.push_back(std::to_string(place));
    cells[{place, place}].clear();
  }
  columns.add(std::move(head));
  for (const ProofMember& one : proof.members) {
    std::vector<std::string> row{one.node, std::to_string(one.place)};
    for (const ProofMember& other : proof.members)
      row.push_back(cells.try_emplace({one.place, other.place}, ".").first->second);
    columns.add(std::move(row));
  }
  return columns.render();
}

}  // namespace

bool ProofAnswer::is_nothing() const {
  const auto untold = [](const Finding& each) { return each.code == Code::NotTested; };
  return links == 0 && std::ranges::all_of(findings, untold);
}

std::string ProofAnswer::sentence() const {
  const auto tell = [](const Finding& finding) {
    return (finding.subject.name.empty() ? "" : finding.subject.name + ": ") + finding.sentence;
  };
  const std::string first = findings.empty() ? "" : tell(findings.front());
  if (is_nothing()) return "Nothing was tested" + (first.empty() ? "" : ": " + first);
  const std::string all = count_of(links, "link") + " of " + count_of(proof.members.size(), "node"),
                    work = all + (links == 1 ? " works" : " work");
  const auto of_links = std::ranges::find_if(findings, [](const Finding& each) {
    return each.code >= Code::NetworkBroken && each.code <= Code::LinkFails;
  });
  if (of_links != findings.end())
    return std::to_string(failed) + " of " + all + (failed == 1 ? " fails: " : " fail: ") + tell(*of_links);
  if (is_good(findings)) return (links == 1 ? "The " : "All ") + work;
  if (findings.front().severity == Severity::Error) return links == 0 ? first : first + "; the other " + work;
  return "The " + work + ", but not all was tested: " + first;
}

ProofAnswer answer_proof(Proof proof, std::vector<UntestedNode> untested) {
  ProofAnswer answer{std::move(proof), std::move(untested)};
  for (const ProofPair& pair : answer.proof.pairs) {
    for (const ProofLink& link : pair.links)
      answer.links += link.has_result(), answer.failed += link.failed();
  }
  answer.findings = Causes(answer.proof).find();
  add_untested(answer.proof, answer.untested, answer.findings);
  return answer;
}

nlohmann::ordered_json to_json(const ProofAnswer& answer) {
  nlohmann::ordered_json json{
      {"sentence", answer.sentence()}, {"links", answer.links}, {"failed", answer.failed}};
  json.update(described::write_object(
      JournalLine{.members = answer.proof.members, .pairs = answer.proof.pairs}, false));
  json["untested"] = nlohmann::ordered_json::array();
  for (const auto& [node, why, detail] : answer.untested)
    json["untested"].push_back({{"node", node}, {"state", to_string(why)}, {"detail", detail}});
  json["findings"] = to_json(answer.findings);
  return json;
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
