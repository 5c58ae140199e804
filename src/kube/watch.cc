// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::kube {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

// Failures further apart have nothing to do with each other (client-go resets after two minutes).
constexpr std::chrono::seconds kCalm = 60s;
// A stream that ends sooner than this without an event counts as a failure (client-go's rule).
constexpr std::chrono::seconds kShortWatch = 1s;

// A version that the server keeps failing to serve may be one that it never had: etcd was restored from a
// backup.
constexpr int kMostRefusals = 5;

// A server that starts has no room yet, for minutes where it reads many objects, and does not know us yet:
// neither says anything of the version.
bool is_busy(int status) {
  return status == 429 || status == 503;
}
bool is_about_us(int status) {
  return status == 401 || status == 403;
}

// One that does not know us for longer means it: lists may be allowed where watches are not.
constexpr std::chrono::seconds kStart = 60s;

// The same request may succeed later; after any other refusal, 410 above all, only a new list helps.
bool is_passing(int status) {
  return is_about_us(status) || status == 408 || status == 429 || status >= 500;
}

}  // namespace

bool is_api_object(const Json& object) {
  const Json& metadata = member(object, "metadata");
  return !text_at(metadata, "name").empty() && !text_at(metadata, "resourceVersion").empty();
}

void TreeSink::listed(const ApiObject& object) {
  if (const Json tree = parse_json(object.text); is_api_object(tree)) list_item(tree);
}

void TreeSink::upserted(const ApiObject& object) {
  if (const Json tree = parse_json(object.text); is_api_object(tree)) upsert(tree);
}

void TreeSink::removed(const ApiObject& object) {
  if (const Json tree = parse_json(object.text); is_api_object(tree)) remove(tree);
}

Watch::Watch(Collection collection, std::uint32_t seed)
    : collection_(std::move(collection)),
      path_(by_field(by_label(collection_.path, collection_.label_selector), collection_.field_selector)),
      random_(seed) {}

std::uint32_t Watch::random_up_to(std::uint32_t limit) {
  return static_cast<std::uint32_t>(random_()) % (limit + 1);
}

Watch::Step Watch::next() {
  Step step;
  step.delay = delay_;
  if (state_ != State::Watching) {
    step.target = list_target(path_, collection_.page, state_ == State::Paging ? continue_ : "");
    return step;
  }
  step.kind = Step::Kind::Watch;
  const auto least = static_cast<std::uint32_t>(collection_.pace.length.count());
  const std::uint32_t seconds = least + random_up_to(least);
  step.length = std::chrono::seconds(seconds);
  step.target =
      with_query(path_, "watch=1&allowWatchBookmarks=true&resourceVersion=" + escaped(resource_version_) +
                            "&timeoutSeconds=" + std::to_string(seconds));
  return step;
}

// Half of the delay is fixed, half is random.
void Watch::fail(std::string problem, Origin origin, Time now) {
  problem_ = std::move(problem);
  auto& [count, due] = failures_[static_cast<std::size_t>(origin)];
  count = now - due > kCalm ? 1 : count + 1;
  const WatchPace& pace = collection_.pace;
  const auto longest = origin == Origin::Connection ? pace.longest_unanswered : pace.longest_refused;
  const auto full =
      std::min<std::chrono::milliseconds>(longest, pace.first_pause * (1 << std::min(count - 1, 10)));
  const auto half = static_cast<std::uint32_t>(full.count() / 2);
  delay_ = std::chrono::milliseconds(half + random_up_to(half));
  due = now + delay_;
}

// Not for lists that have to begin anew: a server that always stops them half-way would be asked in a loop.
void Watch::succeed() {
  for (const Origin origin : {Origin::Connection, Origin::Answer})
    failures_[static_cast<std::size_t>(origin)] = {};
}

void Watch::relist(std::string problem, Time now) {
  state_ = State::Empty;
  fail(std::move(problem), Origin::List, now);
}

void Watch::failed(const std::string& problem, Time now) {
  refused_since_ = now;  // it may start once more
  fail(problem, Origin::Connection, now);
}

void Watch::page(Reply reply, WatchSink& sink, Time now) {
  if (reply.status != kOk) {
    const std::string problem = "list: " + status_message(reply);
    return is_passing(reply.status) ? fail(problem, Origin::Answer, now) : relist(problem, now);
  }
  if (state_ == State::Empty) {
    sink.begin_list();
    pages_ = 0;
  }
  const auto read =
      read_list_page(std::move(reply.body), [&](const ApiObject& object) { sink.listed(object); });
  if (!read) return relist("list: " + read.error().message, now);
  if (++pages_ > kMostPages) return relist("list: more than " + std::to_string(kMostPages) + " pages", now);
  succeed();
  problem_.clear();
  delay_ = 0ms;
  if (!read->next.empty()) {
    continue_ = read->next;
    state_ = State::Paging;
    return;
  }
  resource_version_ = read->resource_version;
  state_ = State::Watching;
  refusals_ = 0;
  ++lists_;
  sink.complete_list();
}

void Watch::opened(Time now) {
  problem_.clear();
  opened_at_ = now;
  fruitful_ = false;
  abandoned_ = false;
  refusals_ = 0;
}

bool Watch::line(std::string_view text, WatchSink& sink, Time now) {
  abandoned_ = true;
  bool go_on = false;
  const auto take_it = [&](const WatchEvent& event) { go_on = take(event, sink, now); };
  if (!read_watch_event(text, take_it)) relist("watch: a line that is not an event", now);
  return go_on;
}

// Returns what line() returns.
bool Watch::take(const WatchEvent& event, WatchSink& sink, Time now) {
  const ApiObject& object = event.object;
  if (event.type == "ERROR") return error_event(parse_json(object.text), now);
  const bool bookmark = event.type == "BOOKMARK", removed = event.type == "DELETED";
  const bool known = bookmark || removed || event.type == "ADDED" || event.type == "MODIFIED";
  if (!known || object.resource_version.empty() || (object.name.empty() && !bookmark)) {
    relist("watch: a line that is not an event", now);
    return false;
  }
  abandoned_ = false;
  fruitful_ = true;
  succeed();
  resource_version_ = object.resource_version;
  if (removed) {
    sink.removed(object);
  } else if (!bookmark) {
    sink.upserted(object);
  }
  return true;
}

// Returns false, as line() does when it wants no more.
bool Watch::error_event(const Json& status, Time now) {
  Reply reply;
  const auto code = status.is_object() ? status.find("code") : status.end();
  if (status.is_object() && code != status.end() && code->is_number_integer())
    reply.status = code->get<int>();
  if (status.is_object()) reply.body = dump_json(Json{{"message", text_at(status, "message")}});
  refused(reply, now);
  return false;
}

void Watch::ended(Time now) {
  if (abandoned_) return;
  delay_ = 0ms;
  if (!fruitful_ && now - opened_at_ < kShortWatch)
    fail("watch: the server ended it at once", Origin::Answer, now);
}

void Watch::refused(const Reply& reply, Time now) {
  const std::string problem = "watch: " + status_message(reply);
  if (refusals_++ == 0) refused_since_ = now;
  const bool starts = is_busy(reply.status) || (is_about_us(reply.status) && now - refused_since_ < kStart);
  if (!is_passing(reply.status) || (refusals_ >= kMostRefusals && !starts)) return relist(problem, now);
  fail(problem, Origin::Answer, now);
}

}  // namespace nccl_env::kube
