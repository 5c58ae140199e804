// SPDX-License-Identifier: Apache-2.0
#include "histories/history.h"

#include <algorithm>

#include "nccl_env/core/engines/nccl/gid.h"
#include "nccl_env/core/engines/nccl/name_list.h"
#include "nccl_env/core/engines/nccl/variables.h"

namespace nccl_env::histories {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr hours kDay{24};
constexpr auto kEnd = 10 * kDay;
const Timestamp kStart = *parse_timestamp("2026-11-20T08:00:00Z");
constexpr std::string_view kText = "hostnetwork.nccl-env.io/nccl.conf";

// Why a queue pair on this port cannot connect; "" if it can.
std::string_view problem_of(const Port& port, const NcclEnv& env) {
  const NcclGid gid = nccl_gid_index(port, env, kNewestNccl);
  const bool pinned = env.contains(variable::kIbGidIndex);
  const auto row = std::find_if(port.gids->begin(), port.gids->end(),
                                [&](const GidRow& each) { return each.index == gid.index; });
  if (row == port.gids->end()) return pinned ? "index: empty row" : "search: empty row";
  if (row->gid.is_link_local()) return pinned ? "index: link-local" : "search: link-local";
  if (row->type != GidType::RoCEv2) return pinned ? "index: RoCE v1" : "search: RoCE v1";
  if (!row->gid.is_v4_mapped()) return pinned ? "index: other family" : "search: other family";
  return {};
}

}  // namespace

void History::run() {
  look();
  after(dice_.about(8 * kDay), [this] { flap(); });
  after(dice_.about(20 * kDay), [this] { boot(); });
  after(dice_.about(30 * kDay), [this] { lose_agent(); });
  after(dice_.about(200 * kDay), [this] {
    node_.rename(dice_.below(kRails));
    look();
  });
  if (network_.exclusive) after(dice_.about(kDay), [this] { take(); });
  create();
  while (agenda_.begin()->first < kEnd) {
    const auto next = agenda_.extract(agenda_.begin());
    if (pod_ && pod_->runs) {
      const long seconds = (next.key() - now_).count();
      figures_.pod_seconds += seconds;
      figures_.wrong_seconds += verdict_.empty() ? 0 : seconds;
      figures_.pinned_seconds += pod_->env.contains(variable::kIbGidIndex) ? seconds : 0;
    }
    now_ = next.key();
    next.mapped()();
  }
}

void History::in_this_boot(Seconds wait, std::function<void()> what) {
  after(wait, [this, boots = figures_.boots, what = std::move(what)] {
    if (boots == figures_.boots) what();
  });
}

// Returns why a connection that the pod makes now fails for its values; "" if none does.
std::string_view History::judge() const {
  const std::string_view text = nccl_getenv_or_empty(pod_->env, variable::kIbHca);
  const NcclNameList list = parse_nccl_name_list(text, kNewestNccl, kRails + 1);
  const bool named = text == policies_.back()->hca.literal;
  bool used = false;
  for (const Port& port : seen_.ports) {
    if (port.state != PortState::Active || !list.selects(port.hca, port.number)) continue;
    if (port.hca == node_.management() && text.empty()) continue;  // NCCL's own choice
    if (port.hca == node_.management() && !named) return "list: the management NIC";
    used = true;
    if (const auto problem = problem_of(port, pod_->env); !problem.empty()) return problem;
  }
  return used || named || text.empty() ? "" : "list: no device";
}

void History::note(Moment moment) {
  verdict_ = judge();
  Count& count = figures_.moments.at(static_cast<std::size_t>(moment));
  ++count.all;
  count.listed += pod_->env.contains(variable::kIbHca) ? 1 : 0;
  count.pinned += pod_->env.contains(variable::kIbGidIndex) ? 1 : 0;
  if (verdict_.empty()) return;
  ++count.wrong;
  ++count.why[verdict_];
}

// Called after every change of the node. The agent looks within a second of one.
void History::look() {
  seen_ = node_.look();
  if (pod_ && pod_->runs) verdict_ = judge();
  if (!agent_) return;
  table_ = seen_;
  history_.note(table_, kStart + now_);
  looked_ = now_;
}

// An agent that runs refreshes its table hourly.
void History::date_table() {
  if (agent_) table_.time = kStart + now_ - (now_ - looked_) % hours(1);
}

void History::start_agent() {
  agent_ = true;
  history_ = {};
  history_.resume(table_, node_.boot_id());
  look();
}

void History::lose_agent() {
  after(dice_.about(30 * kDay), [this] { lose_agent(); });
  date_table();
  agent_ = false;
  in_this_boot(dice_.about(hours(1)), [this] { start_agent(); });
}

// Once in ten times the agent is rolled out meanwhile.
void History::flap() {
  after(dice_.about(8 * kDay), [this] { flap(); });
  const int rail = dice_.below(kRails);
  const bool rolled_out = dice_.once_in(10);
  const Seconds away = Seconds(30) + dice_.about(minutes(2));
  if (!node_.is_up(rail)) return;
  ++figures_.flaps;
  node_.lose_carrier(rail);
  look();
  if (rolled_out && agent_) start_agent();
  in_this_boot(away, [this, rail] { regain(rail); });
}

// A job that notices is restarted in place, or made anew, or rides it out.
void History::regain(int rail) {
  node_.regain_carrier(rail);
  look();
  const double fate = dice_.part();
  if (!pod_ || !pod_->runs || fate > 0.6) return;
  if (fate > 0.35) return end_pod(dice_.about(minutes(10)));
  node_.release_rows();
  look();
  note(Moment::RestartInPlace);
  node_.hold_rows();
}

// A pod that is kept starts again with the values that it has, before the agent does.
void History::boot() {
  after(dice_.about(20 * kDay), [this] { boot(); });
  const bool kept = !dice_.once_in(2.5);
  ++figures_.boots;
  date_table();
  agent_ = false;
  node_.boot();
  look();
  in_this_boot(Seconds(20) + dice_.about(minutes(2)), [this] { start_agent(); });
  if (!pod_ || !pod_->runs) return;
  if (!kept) return end_pod(dice_.about(minutes(2)));
  note(Moment::RestartAfterBoot);
  node_.hold_rows();
}

// Another pod takes a device into its network namespace.
void History::take() {
  after(dice_.about(kDay), [this] { take(); });
  const int rail = dice_.below(kRails);
  const Seconds away = dice_.about(hours(6));
  if (!node_.is_up(rail)) return;
  node_.take(rail);
  look();
  in_this_boot(away, [this, rail] {
    node_.give_back(rail);
    look();
  });
}

// Once in ten times the policy is edited while the pod waits for its node, and soon edited back.
void History::create() {
  pod_ = Pod{policies_.at(policy_).get(), {}};
  if (!pod_->policy->hca.literal.empty()) pod_->env.emplace(variable::kIbHca, pod_->policy->hca.literal);
  const Seconds wait = dice_.about(dice_.once_in(2) ? minutes(1) : minutes(120));
  if (dice_.once_in(policy_ == 0 ? 10 : 2)) policy_ = 1 - policy_;
  after(wait, [this] { bind(); });
}

void History::bind() {
  date_table();
  const bool of_this_boot = table_.boot_id == node_.boot_id();
  NodeContext context;
  context.now = kStart + now_;
  context.other_boot = !of_this_boot;
  context.policy_changed = pod_->policy->value_hash != policies_.at(policy_)->value_hash;
  const auto plan = plan_binding(policies_.at(policy_), kNode, &table_, context);
  std::string lines = plan.annotations.find(kText)->second;
  for (std::size_t end = 0; (end = lines.find('\n')) != lines.npos; lines.erase(0, end + 1)) {
    const auto name = lines.find('=');
    pod_->env.emplace(lines.substr(0, name), lines.substr(name + 1, end - name - 1));
  }
  pod_->runs = true;
  figures_.of_earlier_boots += of_this_boot || plan.host.ports.empty() ? 0 : 1;
  note(pod_->policy != policies_.at(policy_).get() ? Moment::AfterEdit
       : !of_this_boot                             ? Moment::AfterBoot
       : agent_                                    ? Moment::Bound
                                                   : Moment::AgentAway);
  node_.hold_rows();
  after(dice_.about(hours(36)), [this, pod = pods_] {
    if (pod == pods_) end_pod(dice_.about(minutes(30)));
  });
}

void History::end_pod(Seconds until_next) {
  pod_.reset();
  ++pods_;
  node_.release_rows();
  look();
  after(until_next, [this] { create(); });
}

}  // namespace nccl_env::histories
