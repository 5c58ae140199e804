// SPDX-License-Identifier: Apache-2.0
// What a pod was given, beside what it would be given today.
#include <algorithm>

#include "decide/wanted.h"
#include "nccl_env/core/explain/pod_answer.h"
#include "nccl_env/core/nccl/variables.h"

namespace nccl_env {
namespace {

// The value of a wish today: absent if there is none, and then why.
struct Today {
  std::optional<std::string> value;
  std::string reason;
};

// What the node would give to the pod today; nothing where that is not known.
std::optional<NodeValues> values_today(const PodRecord& record, const PodSurroundings& around) {
  const Exposure exposure = record.status->exposure.value_or(Exposure::PodOwned);
  // What a pod found itself depends on more than its node's table.
  if (record.starts_itself() || !around.table_known || exposure == Exposure::PodOwned) return std::nullopt;
  return node_values(*around.policy, record.node, around.table.get(), exposure, around.context);
}

class Comparison {
 public:
  Comparison(const PodRecord& record, const PodSurroundings& around)
      : at_start_(record.starts_itself()),
        file_known_(record.file && record.file->state == GivenFile::State::Known && !record.file->cut),
        node_(values_today(record, around)),
        wishes_(make_wishes(*around.policy, record.status->exposure.value_or(Exposure::PodOwned),
                            record.host_network, at_start_)) {}

  void compare(const GivenContainer& container, std::vector<ValueChange>& into) const {
    for (const Wish& wish : wishes_) {
      if (!is_comparable(wish, container)) continue;
      const GivenValue* given = container.find(wish.name);
      // What is the user's, or was left to the user, stays so.
      if (given ? given->from == GivenValue::From::User : is_users(container, wish.name)) continue;
      if (given && given->state == GivenValue::State::Pending) continue;
      add(container, wish.name, given, today(wish), into);
    }
    for (const GivenValue* given : container.effective()) {
      const bool wished = std::any_of(wishes_.begin(), wishes_.end(),
                                      [&](const Wish& wish) { return wish.name == given->name; });
      if (!wished && is_comparable(*given))
        add(container, given->name, given, {{}, std::string(to_string(Reason::OmittedByPolicy))}, into);
    }
  }

 private:
  // What a pod finds itself is not compared, nor what would be in a file that the container does not read or
  // that could not be written.
  [[nodiscard]] bool is_comparable(const Wish& wish, const GivenContainer& container) const {
    if (wish.source == Source::Pod || (wish.source == Source::Node && !node_)) return false;
    if (!at_start_ || (wish.source && wish.in_env)) return true;
    if (!wish.source) {
      const GivenValue* given = container.find(wish.name);
      return given && given->from == GivenValue::From::Policy;
    }
    return file_known_ && container.reads_file && wish.name != variable::kSocketIfname;
  }

  // A value that no wish of today has.
  [[nodiscard]] bool is_comparable(const GivenValue& given) const {
    using From = GivenValue::From;
    if (given.from == From::User || given.state == GivenValue::State::Pending) return false;
    if (given.from == From::Policy || node_) return true;
    // Of a file's lines, those that no node gives are constants.
    const bool by_file = given.from == From::File || given.from == From::Pod;
    return by_file && given.state == GivenValue::State::Known && !is_found(given.name);
  }

  // What a node or a pod gives.
  [[nodiscard]] static bool is_found(std::string_view name) {
    return name == variable::kIbHca || name == variable::kSocketIfname || in_gid_group(name);
  }

  [[nodiscard]] static bool is_users(const GivenContainer& container, std::string_view name) {
    const auto omitted = container.omitted.find(name);
    if (omitted == container.omitted.end()) return false;
    const auto reason = parse_reason(omitted->second);
    return reason == Reason::UserSet || reason == Reason::UserSetGroup || reason == Reason::DisabledByUser ||
           reason == Reason::EnvFromPresent || reason == Reason::ConfOccupied;
  }

  [[nodiscard]] Today today(const Wish& wish) const {
    if (!wish.source) return {{}, std::string(to_string(wish.reason))};
    if (wish.source == Source::Policy) return {wish.value, {}};
    const auto value = node_->set.find(wish.name);
    if (value != node_->set.end()) return {value->second, {}};
    for (const Omission& omission : node_->omitted) {
      if (omission.name == wish.name) return {{}, std::string(to_string(omission.reason))};
    }
    return {};
  }

  static void add(const GivenContainer& container, std::string_view name, const GivenValue* given,
                  Today today, std::vector<ValueChange>& into) {
    ValueChange change{
        container.name, std::string(name), {}, std::move(today.value), std::move(today.reason)};
    if (given && given->state == GivenValue::State::Known) change.then = given->value;
    if (change.then != change.now) into.push_back(std::move(change));
  }

  const bool at_start_;
  const bool file_known_;
  const std::optional<NodeValues> node_;
  const std::vector<Wish> wishes_;
};

}  // namespace

std::vector<ValueChange> changes_since(const PodRecord& record, const PodSurroundings& surroundings) {
  std::vector<ValueChange> changes;
  if (!record.status || record.node.empty() || !surroundings.policy) return changes;
  const Comparison comparison(record, surroundings);
  for (const GivenContainer& container : record.containers) {
    if (container.in_status) comparison.compare(container, changes);
  }
  return changes;
}

std::map<std::string, std::string, std::less<>> details_today(const PodRecord& record,
                                                              const PodSurroundings& surroundings) {
  std::map<std::string, std::string, std::less<>> details;
  if (!record.status || record.node.empty() || !surroundings.policy) return details;
  const auto node = values_today(record, surroundings);
  if (!node) return details;
  for (const Omission& omission : node->omitted) {
    if (record.reason_at_binding(omission.name) == to_string(omission.reason))
      details.emplace(omission.name, omission.detail);
  }
  return details;
}

}  // namespace nccl_env
