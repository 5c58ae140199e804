// SPDX-License-Identifier: Apache-2.0
#include "fabric/test_run.h"

#include <algorithm>

#include "cluster/objects.h"
#include "nccl_env/core/proof/lines.h"
#include "nccl_env/core/text/join.h"
#include "nccl_env/core/text/json_document.h"
#include "nccl_env/core/text/json_member.h"
#include "nccl_env/kube/list.h"

namespace nccl_env::cli {
namespace {

using Json = nlohmann::json;
using program::Failure;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kFirstLook{500}, kLongestLook{4000};  // between looks at member 0's pod
constexpr seconds kSettled{2};                               // a pod's status follows its container's end
constexpr seconds kQuota{5};           // until the Job's events are asked why it has no pod
constexpr seconds kSilence{60};        // a round takes less
constexpr std::size_t kMostNotes = 4;  // of the program itself, which stand between the journal's lines
constexpr std::size_t kLongestNote = 200;
constexpr int kMostReadings = 4;  // of a log that breaks off
constexpr std::size_t kMostLog = 64u << 20, kLongestLine = 1u << 20;

class Run {
 public:
  Run(kube::ApiServer& client, const TestTemplate& from, const TestJob& job,
      const program::TerminationSignals& signals, const std::function<void(const Proof&)>& on_progress,
      TestRun& into)
      : client_(client), from_(from), job_(job), signals_(signals), on_progress_(on_progress), into_(into) {}

  Failure run() {
    Failure failure = create();
    if (!failure) failure = read();
    stopped_ = stopped_ || signals_.came();
    client_.interrupt_by(-1);
    if (exists_) remove();
    if (stopped_) return {program::kNotSeen, "stopped by a signal; " + gone_};
    return failure;
  }

 private:
  // The objects; without both there is no test.
  Failure create() {
    exists_ = true;  // also where no answer says so
    Json made;
    if (Failure failure = post(kJobs, job_object(from_, job_).dump(), made)) return failure;
    const std::string uid = text_at(member(made, "metadata"), "uid");
    return post(kube::kServices, service_object(job_, uid).dump(), made);
  }

  Failure post(const kube::Resource& resource, const std::string& body, Json& made) {
    const std::string words = "create " + std::string(resource.plural) + " in " + job_.name_space;
    const auto reply =
        client_.call({"POST", path_in(job_.name_space, resource), kube::kJson, body, seconds(60)});
    if (!reply) return {program::kNotSeen, words + ": " + reply.error().message};
    made = parse_json(reply->body);
    if (reply->status == kCreated || reply->status == kube::kOk) return {};
    if (&resource == &kJobs) exists_ = false;
    return refused(words, *reply);
  }

  static Failure refused(const std::string& words, const kube::Reply& reply) {
    const std::string said = kube::servers_word(reply),
                      sentence = said.empty() ? kube::status_message(reply) : said;
    const bool rights =
        reply.status == kube::kForbidden && refuser_of(reply.status, sentence) == Refuser::Other;
    const Refuser by = refuser_of(reply.status, sentence);
    if (rights || by == Refuser::Rights)
      return {program::kNotSeen, "not allowed: " + words + ": " + sentence};
    if (by == Refuser::Other) return {program::kNotSeen, words + ": " + sentence};
    return {program::kNothing, "nothing was tested: " + words + " is refused by " +
                                   std::string(to_string(by)) + ": " + sentence};
  }

  Failure read() {
    std::string pod;
    if (Failure failure = wait_for_collector(pod)) return failure;
    if (!pod.empty()) {
      if (Failure failure = follow(pod)) return failure;
    }
    return stopped_ ? Failure() : look_at_pods();
  }

  [[nodiscard]] std::string pods_path(const std::string& more = {}) const {
    return kube::by_label(path_in(job_.name_space, kube::kPods),
                          std::string(kJobLabel) + "=" + job_.name + more);
  }

  // True if a signal came within the time.
  bool pause(milliseconds time) { return stopped_ = stopped_ || signals_.comes_within(time); }

  // Finds the pod of member 0 once its container has a log; "" if it has none in time.
  Failure wait_for_collector(std::string& pod) {
    const auto begin = Steady::now();
    std::string problem;
    for (milliseconds wait = kFirstLook; !pause(wait); wait = std::min(2 * wait, kLongestLook)) {
      bool found = false;
      problem.clear();
      const auto reply = client_.call({"GET", pods_path("," + std::string(kPlaceLabel) + "=0"), "", ""});
      if (reply && reply->status == kube::kForbidden)
        return refused("list pods in " + job_.name_space, *reply);
      if (!reply || reply->status != kube::kOk)
        problem = reply ? kube::status_message(*reply) : reply.error().message;
      for (const Json& each : reply ? items_at(parse_json(reply->body), "items") : Json()) {
        found = true;
        for (const Json& container : items_at(member(each, "status"), "containerStatuses")) {
          const Json& state = member(container, "state");
          if (text_at(container, "name") == kTestContainer &&
              (state.contains("running") || state.contains("terminated")))
            pod = text_at(member(each, "metadata"), "name");
        }
      }
      const auto waited = std::chrono::duration_cast<milliseconds>(Steady::now() - begin);
      if (!pod.empty() || (problem.empty() && !found && waited > kQuota && !refusal().empty())) return {};
      if (waited > job_.wait) break;
    }
    if (problem.empty() || stopped_) return {};
    return {program::kNotSeen, "list pods in " + job_.name_space + ": " + problem};
  }

  // Reads the log to its end; anew where it breaks off, since a line is read once.
  Failure follow(const std::string& pod) {
    const auto end = Steady::now() + job_.deadline;
    for (int reading = 0; reading < kMostReadings && Steady::now() < end; ++reading) {
      if (reading > 0 && pause(kLongestLook)) return {};
      into_.proof = {};
      strange_ = 0;
      std::string rest;
      std::size_t read = 0;
      const auto take = [&](std::string_view part) {
        read += part.size();
        rest += part;
        take_lines(rest);
        stopped_ = stopped_ || signals_.came();
        return !stopped_ && !into_.proof.ended && read < kMostLog && rest.size() <= kLongestLine;
      };
      const auto reply = client_.stream_parts(
          ask_pod(job_.name_space, pod).target + "/log?container=" + kTestContainer + "&follow=true",
          job_.wait + kSilence, take);
      stopped_ = stopped_ || signals_.came();
      if (stopped_) return {};
      if (reply && reply->status == kube::kForbidden)
        return refused("get pods/log in " + job_.name_space, *reply);
      if (reply && reply->status == kube::kOk) break;
      problem_ = reply ? kube::status_message(*reply) : reply.error().message;
    }
    if (strange_ > 0)
      into_.remarks.push_back(count_of(strange_, "line") +
                              " of member 0's log not understood, first: " + strange_line_);
    if (!into_.proof.ended && !problem_.empty()) into_.remarks.push_back("the log of member 0: " + problem_);
    return {};
  }

  // A log that is read anew has the same ones.
  void add_note(std::string note) {
    std::vector<std::string>& all = into_.remarks;
    if (all.size() < kMostNotes && std::ranges::find(all, note) == all.end()) all.push_back(std::move(note));
  }

  void take_lines(std::string& text) {
    for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      const std::string_view line = std::string_view(text).substr(0, end);
      if (!line.starts_with('{')) {
        add_note("member 0: " + std::string(line.substr(0, kLongestNote)));
      } else if (const Status status = read_journal_line(line, into_.proof); !status && ++strange_ == 1) {
        strange_line_ = line.substr(0, kLongestNote);
      }
      on_progress_(into_.proof);
    }
  }

  // Says why the Job made no pod, or not all; "" if it says nothing.
  std::string refusal() {
    std::string said;
    const std::string events = kube::by_field(path_in(job_.name_space, kube::kEvents),
                                              "involvedObject.name=" + job_.name + ",reason=FailedCreate");
    const Status listed =
        kube::list_all(client_, events, [&](const Json& event) { said = text_at(event, "message"); });
    return listed ? said : std::string();
  }

  // Tells why members did not come.
  Failure look_at_pods() {
    if (into_.proof.members.size() >= job_.nodes.size()) return {};
    if (into_.proof.members.empty() && pause(kSettled)) return {};
    std::vector<Json> pods;
    const Status listed = kube::list_all(client_, pods_path(), [&](const Json& pod) { pods.push_back(pod); });
    if (!listed && !signals_.came())
      into_.remarks.push_back("nodes that did not come: " + listed.error().message);
    const std::string why = listed && pods.size() < job_.nodes.size() ? refusal() : "";
    into_.untested = untested_nodes(job_.nodes, into_.proof, pods, why);
    return {};
  }

  // Whatever the Job made goes with it.
  void remove() {
    const std::string target = path_in(job_.name_space, kJobs, job_.name) + "?propagationPolicy=Background";
    auto reply = client_.call({"DELETE", target, "", ""});
    if (!reply) reply = client_.call({"DELETE", target, "", ""});
    gone_ = "its Job is deleted";
    if (reply && (reply->status < 300 || reply->status == kube::kNotFound)) return;
    gone_ = "Job " + job_.name_space + "/" + job_.name + " is still there (" +
            (reply ? kube::status_message(*reply) : reply.error().message) + "): it ends by itself within " +
            std::to_string((job_.deadline + job_.kept).count() / 60) + " minutes";
    into_.remarks.push_back(gone_);
  }

  kube::ApiServer& client_;
  const TestTemplate& from_;
  const TestJob& job_;
  const program::TerminationSignals& signals_;
  const std::function<void(const Proof&)>& on_progress_;
  TestRun& into_;
  bool exists_ = false, stopped_ = false;
  std::size_t strange_ = 0;
  std::string strange_line_, problem_, gone_;
};

}  // namespace

Failure run_test(kube::ApiServer& client, const TestTemplate& from, const TestJob& job,
                 const program::TerminationSignals& signals,
                 const std::function<void(const Proof&)>& on_progress, TestRun& into) {
  client.interrupt_by(signals.descriptor());
  return Run(client, from, job, signals, on_progress, into).run();
}

}  // namespace nccl_env::cli
