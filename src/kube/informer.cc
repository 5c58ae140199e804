// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/informer.h"

#include <random>

namespace nccl_env::kube {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kPageDeadline = 60s;  // the server's own for a request
// Bookmarks come every minute, but nothing promises them: only the end that we asked for is sure.
constexpr std::chrono::milliseconds kWatchGrace = 30s;
// A list may be minutes old when it ends. A watch first brings what was written since, or an error because
// the list is too old.
constexpr std::chrono::milliseconds kCatchUp = 1s;

}  // namespace

Informer::Informer(Client& client, Collection collection, WatchSink& sink, std::shared_ptr<Logger> log)
    : client_(client),
      collection_(std::move(collection)),
      sink_(sink),
      log_(std::move(log)),
      watch_(collection_, std::random_device()()),
      last_contact_(Clock::now()),
      thread_([this] { run(); }) {}

Informer::~Informer() {
  thread_.join();
}

void Informer::run() {
  while (!client_.stopped()) {
    const Watch::Step step = watch_.next();
    if (step.delay > 0ms && client_.stopped_within(step.delay)) return;
    if (step.kind == Watch::Step::Kind::List) {
      list(step);
    } else {
      watch(step);
    }
  }
}

void Informer::list(const Watch::Step& step) {
  Call call;
  call.target = step.target;
  call.deadline = kPageDeadline;
  auto reply = client_.call(call);
  if (client_.stopped()) return;
  const bool heard = reply.ok();
  if (reply) {
    watch_.page(*std::move(reply), sink_, Clock::now());
  } else {
    watch_.failed("list: " + reply.error().message, Clock::now());
  }
  note(heard);
}

void Informer::watch(const Watch::Step& step) {
  const auto on_line = [this](std::string_view text) {
    const bool go_on = watch_.line(text, sink_, Clock::now());
    note(true);
    return go_on;
  };
  const auto on_start = [this] {
    watch_.opened(Clock::now());
    set_open(Clock::now());
    note(true);
  };
  const auto reply = client_.stream(step.target, step.length + kWatchGrace, on_line, on_start);
  if (client_.stopped()) return;
  set_open({});
  if (!reply) {
    watch_.failed("watch: " + reply.error().message, Clock::now());
  } else if (reply->status == 200) {
    watch_.ended(Clock::now());
  } else {
    watch_.refused(*reply, Clock::now());
  }
  note(reply.ok());
}

// Logs what changed: one line when the watch starts to fail or the problem changes, one when it works again.
void Informer::note(bool heard) {
  const std::string& problem = watch_.problem();
  if (problem != logged_) {
    if (!problem.empty()) {
      log_->warn("API server: watch disturbed", {{"resource", collection_.path}, {"problem", problem}});
    } else {
      log_->info("API server: watch restored", {{"resource", collection_.path}});
    }
    logged_ = problem;
  }
  const std::lock_guard lock(mutex_);
  if (heard) last_contact_ = Clock::now();
  health_.synced = watch_.lists() > 0;
  health_.relists = watch_.lists() > 0 ? watch_.lists() - 1 : 0;
  health_.in_contact = problem.empty();
  health_.problem = problem;
}

void Informer::set_open(std::optional<Watch::Time> since) {
  const std::lock_guard lock(mutex_);
  open_since_ = since;
}

InformerHealth Informer::health() const {
  const std::lock_guard lock(mutex_);
  InformerHealth health = health_;
  health.following = open_since_ && Clock::now() - *open_since_ >= kCatchUp;
  health.since_contact = std::chrono::floor<std::chrono::seconds>(Clock::now() - last_contact_);
  return health;
}

}  // namespace nccl_env::kube
