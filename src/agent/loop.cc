// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <poll.h>

#include <algorithm>
#include <random>

#include "nccl_env/core/choose/summary.h"
#include "nccl_env/node/interface_history.h"
#include "nccl_env/node/kernel_events.h"
#include "nccl_env/node/port_history.h"
#include "nccl_env/node/verbs_events.h"
#include "nccl_env/program/clock.h"
#include "nccl_env/program/ending.h"
#include "nccl_env/program/signals.h"
#include "nccl_env/program/version.h"
#include "ops.h"
#include "probe.h"
#include "publisher.h"
#include "schedule.h"
#include "table_store.h"

namespace nccl_env::agent {
namespace {

PublishSchedule make_schedule(const AgentRunArguments& arguments) {
  PublishIntervals intervals;
  intervals.refresh = arguments.refresh;
  intervals.look_anyway = arguments.look_anyway;
  intervals.lost_spread = arguments.look_anyway / 2;
  intervals.between_losses = arguments.look_anyway;
  return {intervals, [engine = std::mt19937(std::random_device{}())]() mutable {
            return std::uniform_real_distribution<>(0, 1)(engine);
          }};
}

class AgentLoop {
 public:
  AgentLoop(const AgentRunArguments& arguments, node::Verbs& verbs, TableStore& store, AgentOps& ops,
            std::shared_ptr<Logger> log)
      : probe_(arguments.probe, verbs),
        may_open_(arguments.probe.use_verbs && arguments.probe.sysfs.empty()),
        log_(std::move(log)),
        ops_(ops),
        longest_older_form_(arguments.refresh * 3 / 4),
        events_(verbs),
        schedule_(make_schedule(arguments)),
        publisher_(store) {}

  Status run(const program::TerminationSignals& stop) {
    auto links = node::KernelEvents::of_links();
    if (!links) return links.error();
    links_ = std::move(*links);
    auto devices = node::KernelEvents::of_devices();
    if (devices) {
      devices_ = std::move(*devices);
    } else {
      log_->warn("devices that come or go are seen at the next look", {{"problem", devices.error().message}});
    }
    publisher_.follow();
    while (!stop.came()) {
      ops_.beat();
      take_outcomes();
      const auto now = std::chrono::steady_clock::now();
      if (schedule_.begin_due(now)) begin();
      if (schedule_.look_due(now)) look();
      if (schedule_.publish_due(std::chrono::steady_clock::now())) publish();
      wait(stop);
    }
    log_->info("stopped");
    return done();
  }

 private:
  void look() {
    const auto begin = std::chrono::steady_clock::now();
    const Timestamp now = program::clock_now();
    node::ProbeResult read = probe_.read(now);
    history_.note(read.table, now);
    interfaces_.note(read.table, now);
    auto object = to_json(read.table, summarize(read.table, now));
    const auto end = std::chrono::steady_clock::now();
    const bool with_verbs = may_open_ && read.sysfs_alone.empty();
    ops_.metrics().note_look(read.table, now, read.problems.size(), with_verbs, end - begin);
    log_problems(std::move(read.problems));
    if (read.sysfs_alone != sysfs_alone_ && !read.sysfs_alone.empty())
      log_->info("devices are read from sysfs alone", {{"reason", read.sysfs_alone}});
    sysfs_alone_ = std::move(read.sysfs_alone);

    nlohmann::ordered_json content = object["observed"];
    content.erase("time");
    const bool changed = content != content_;
    schedule_.on_look(end, changed);
    if (changed) log_table(read.table, object["observed"]["summary"].value("hcas", ""));
    content_ = std::move(content);
    if (end < older_form_until_)
      object["observed"]["ports"] = to_json(read.table, RowsForm::Objects)["observed"]["ports"];
    object_ = std::move(object);
    if (may_open_) follow_events(read.table);
  }

  void follow_events(const NodeFabric& table) {
    std::vector<std::string> safe;
    for (const Port& port : table.ports) {
      if (node::may_hold_open(port.driver.value_or(""))) safe.push_back(port.hca);
    }
    if (events_.follow(safe)) schedule_.on_event(std::chrono::steady_clock::now());
  }

  void begin() {
    schedule_.on_begin_started();
    publisher_.begin();
  }

  void publish() {
    schedule_.on_publish_begin();
    publisher_.write(object_);
  }

  void take_outcomes() {
    const auto now = std::chrono::steady_clock::now();
    const Publisher::Outcomes outcomes = publisher_.take();
    if (outcomes.begun) note_begun(*outcomes.begun, now);
    if (outcomes.written) note_written(*outcomes.written, now);
    if (outcomes.lost) note_loss(*outcomes.lost, now);
  }

  void note_begun(const Publisher::Begun& begun, PublishSchedule::Time now) {
    schedule_.on_begin_ended(now, begun.ok());
    if (!begun) return log_failure(begun.error(), now);
    failures_ = 0;
    probe_.set_node(begun->node);
    if (begun->row_objects) older_form_until_ = now + longest_older_form_;
    if (begun->earlier) history_.resume(*begun->earlier, probe_.boot_id());
  }

  void note_written(const Publisher::Written& written, PublishSchedule::Time now) {
    schedule_.on_publish_end(now, written.ok(), !written.ok() || written->settled);
    ops_.metrics().count_publish(written.ok(), program::clock_now());
    if (!written) return log_failure(written.error(), now);
    failures_ = 0;
    log_->info("table written");
    if (probe_.set_node(*written)) schedule_.on_event(now);
  }

  void note_loss(const std::string& why, PublishSchedule::Time now) {
    schedule_.on_loss(now);
    ops_.metrics().count_loss();
    log_->warn("table lost, it is written again", {{"problem", why}});
  }

  // Called when the schedule knows the failure already, and so the time of the next try.
  void log_failure(const Error& error, PublishSchedule::Time now) {
    const std::chrono::duration<double> rest =
        std::chrono::floor<std::chrono::milliseconds>(schedule_.retry_at() - now);
    log_->error("table not written, it is tried again",
                {{"problem", error.message}, {"attempt", ++failures_}, {"next_in_seconds", rest.count()}});
  }

  void wait(const program::TerminationSignals& stop) {
    // poll(2) passes over a descriptor of -1.
    std::vector<pollfd> waited{{stop.descriptor(), POLLIN, 0},
                               {publisher_.descriptor(), POLLIN, 0},
                               {links_->descriptor(), POLLIN, 0},
                               {devices_ ? devices_->descriptor() : -1, POLLIN, 0}};
    const auto verbs_begin = static_cast<std::ptrdiff_t>(waited.size());
    for (const int descriptor : events_.descriptors()) waited.push_back({descriptor, POLLIN, 0});
    // Wakes at least once a minute, for ops_.beat().
    const auto now = std::chrono::steady_clock::now();
    const auto until = std::min(schedule_.next(), now + std::chrono::minutes(1));
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(std::max(until, now) - now);
    ::poll(waited.data(), waited.size(), static_cast<int>(rest.count()));
    if (waited[2].revents != 0 && links_->take()) note_event(AgentEvent::Link, 1);
    if (waited[3].revents != 0 && devices_->take()) note_event(AgentEvent::Device, 1);
    if (std::any_of(waited.begin() + verbs_begin, waited.end(),
                    [](const pollfd& each) { return each.revents != 0; }))
      take_verbs_events();
  }

  void take_verbs_events() {
    const int count = events_.take();
    // A descriptor that has only an error to report would stay readable for ever. So all are closed; the next
    // look opens them anew.
    if (count == 0) events_.follow({});
    note_event(AgentEvent::Verbs, count);
  }

  void note_event(AgentEvent source, int count) {
    ops_.metrics().count_event(source, count);
    schedule_.on_event(std::chrono::steady_clock::now());
  }

  // Logs each problem once, and again only after it was gone and has come back.
  void log_problems(node::Problems problems) {
    std::sort(problems.begin(), problems.end());
    for (const std::string& problem : problems) {
      if (!std::binary_search(problems_.begin(), problems_.end(), problem))
        log_->warn("not readable", {{"problem", problem}});
    }
    problems_ = std::move(problems);
  }

  void log_table(const NodeFabric& table, const std::string& hcas) {
    const auto active = std::count_if(table.ports.begin(), table.ports.end(),
                                      [](const Port& port) { return port.state == PortState::Active; });
    log_->info("table changed", {{"ports", table.ports.size()},
                                 {"active", active},
                                 {"hcas", hcas},
                                 {"node_interface", table.node_interface.value_or("")}});
  }

  NodeProbe probe_;
  const bool may_open_;
  const std::shared_ptr<Logger> log_;
  AgentOps& ops_;
  // Webhooks of the previous release can't read rows that are texts, and during an upgrade some of these
  // webhooks still run. So a table that is found with rows as objects keeps this form for so long; the time
  // ends before the table's first refresh.
  const std::chrono::seconds longest_older_form_;
  std::chrono::steady_clock::time_point older_form_until_{};
  node::PortHistory history_;
  node::InterfaceHistory interfaces_;
  node::VerbsEvents events_;
  std::unique_ptr<node::KernelEvents> links_;
  std::unique_ptr<node::KernelEvents> devices_;  // null: can't be had
  PublishSchedule schedule_;
  int failures_ = 0;                // since the store last took anything
  node::Problems problems_;         // of the last look, sorted
  std::string sysfs_alone_;         // of the last look
  nlohmann::ordered_json object_;   // the last look
  nlohmann::ordered_json content_;  // the part of it that counts as a change
  Publisher publisher_;
};

Result<std::unique_ptr<TableStore>> open_store(const AgentRunArguments& arguments,
                                               const std::shared_ptr<Logger>& log) {
  const std::string& node = arguments.probe.node_name;
  if (!arguments.directory.empty()) return open_directory(arguments.directory, node);
  auto config = kube::load_config(arguments.kubeconfig);
  if (!config) return program::at_option("--kubeconfig", config.error());
  config->user_agent = "nccl-env-agent/" + std::string(program::kVersion);
  auto client = kube::Client::make(std::move(*config), log);
  if (!client) return program::at_option("--kubeconfig", client.error());
  return open_cluster(std::move(*client), node, arguments.node_labels, log);
}

}  // namespace

Status keep_table(const AgentRunArguments& arguments, node::Verbs& verbs) {
  const program::TerminationSignals stop;
  const auto log = Logger::to_stderr(arguments.log_level);
  auto store = open_store(arguments, log);
  if (!store) return store.error();
  auto ops = AgentOps::start(arguments.ops_listen, log);
  if (!ops) return program::at_option("--ops-listen", ops.error());
  log->info(
      "watching",
      {{"version", program::kVersion}, {"node", arguments.probe.node_name}, {"ops_port", (*ops)->port()}});
  return AgentLoop(arguments, verbs, **store, **ops, log).run(stop);
}

}  // namespace nccl_env::agent
