// SPDX-License-Identifier: Apache-2.0
#include "fabric/test_run.h"

#include <algorithm>

#include "cluster/live_pods.h"
#include "cluster/objects.h"
#include "nccl_env/base/line_splitter.h"
#include "nccl_env/core/proof/lines.h"
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
constexpr std::size_t kMostNotes = 4;  // lines that are not the journal's
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
    exists_ = true;  // also where no answer says so
    Json made;
    Failure failure = post(kJobs, job_object(from_, job_), made);
    if (!failure)
      failure = post(kube::kServices, service_object(job_, text_at(member(made, "metadata"), "uid")), made);
    if (!failure) failure = follow();
    if (!failure && !stopped_) look_at_pods();
    stopped_ = stopped_ || signals_.came();
    client_.interrupt_by(-1);
    if (exists_) remove();
    if (stopped_) return {program::kNotSeen, "stopped by a signal; " + gone_};
    return failure;
  }

 private:
  Failure post(const kube::Resource& resource, const nlohmann::ordered_json& object, Json& made) {
    const std::string words = "create " + std::string(resource.plural) + " in " + job_.name_space;
    const auto reply =
        client_.call({"POST", path_in(job_.name_space, resource), kube::kJson, object.dump(), seconds(60)});
    if (!reply) return {program::kNotSeen, words + ": " + reply.error().message};
    made = parse_json(reply->body);
    if (reply->status == kCreated || reply->status == kube::kOk) return {};
    exists_ = &resource != &kJobs;
    return refused(words, *reply);
  }

  static Failure refused(const std::string& words, const kube::Reply& reply) {
    const std::string said = kube::servers_word(reply),
                      sentence = ": " + (said.empty() ? kube::status_message(reply) : said);
    const Refuser by = refuser_of(reply.status, sentence);
    if (by == Refuser::Rights || (by == Refuser::Other && reply.status == kube::kForbidden))
      return {program::kNotSeen, "not allowed: " + words + sentence};
    if (by == Refuser::Other) return {program::kNotSeen, words + sentence};
    return {program::kNothing,
            "nothing was tested: " + words + " is refused by " + std::string(to_string(by)) + sentence};
  }

  [[nodiscard]] std::string pods_path(const std::string& more = {}) const {
    return kube::by_label(path_in(job_.name_space, kube::kPods),
                          std::string(kJobLabel) + "=" + job_.name + more);
  }

  // Reads the log of member 0 as soon as there is one, to its end; anew where it breaks off, since a line is
  // read once.
  Failure follow() {
    const auto begin = Steady::now();
    std::string pod, problem;
    int readings = 0;
    for (auto pause = kFirstLook; readings < kMostReadings; pause = std::min(2 * pause, kLongestLook)) {
      if (stopped_ = stopped_ || signals_.comes_within(pause); stopped_) return {};
      bool is_there = true;
      if (pod.empty()) {
        if (Failure failure = find(pod, is_there, problem)) return failure;
      }
      const auto waited = Steady::now() - begin;
      if (!pod.empty()) {
        ++readings;
        if (Failure failure = read_log(pod, problem)) return failure;
        if (problem.empty()) return {};
      } else if (waited > job_.wait || (!is_there && waited > kQuota && !refusal().empty())) {
        break;
      }
    }
    if (readings == 0 && !problem.empty()) return {program::kNotSeen, problem};
    if (readings > 0 && !into_.proof.ended) into_.remarks.push_back("the log of member 0: " + problem);
    return {};
  }

  // Finds the pod of member 0 once its container has a log.
  Failure find(std::string& pod, bool& is_there, std::string& problem) {
    const std::string words = "list pods in " + job_.name_space;
    const auto reply = client_.call({"GET", pods_path("," + std::string(kPlaceLabel) + "=0"), "", ""});
    if (reply && reply->status == kube::kForbidden) return refused(words, *reply);
    problem = problem_of(words + ": ", reply);
    if (!problem.empty()) return {};
    const Json all = parse_json(reply->body);
    const Json& pods = items_at(all, "items");
    is_there = !pods.empty();
    if (is_there && has_begun(pods.front())) pod = text_at(member(pods.front(), "metadata"), "name");
    return {};
  }

  // The member's own container, not one that admission put beside it.
  static bool has_begun(const Json& pod) {
    const Json& all = items_at(member(pod, "status"), "containerStatuses");
    return std::ranges::any_of(all, [](const Json& each) {
      const Json& state = member(each, "state");
      return text_at(each, "name") == kTestContainer &&
             (state.contains("running") || state.contains("terminated"));
    });
  }

  static std::string problem_of(const std::string& words, const Result<kube::Reply>& reply) {
    if (!reply) return words + reply.error().message;
    return reply->status == kube::kOk ? "" : words + kube::status_message(*reply);
  }

  // The problem says why it broke off.
  Failure read_log(const std::string& pod, std::string& problem) {
    into_.proof = {};
    into_.remarks.clear();
    LineSplitter lines(kLongestLine);
    std::size_t read = 0;
    const auto reply = client_.stream_parts(
        ask_pod(job_.name_space, pod).target + "/log?container=" + kTestContainer + "&follow=true",
        job_.wait + kSilence, [&](std::string_view part) {
          const auto fed = lines.feed(part, [&](std::string_view line) { return take(line); });
          return fed && *fed && (read += part.size()) < kMostLog;
        });
    stopped_ = stopped_ || signals_.came();
    if (!stopped_ && reply && reply->status == kube::kForbidden)
      return refused("get pods/log in " + job_.name_space, *reply);
    problem = problem_of("", reply);
    return {};
  }

  bool take(std::string_view line) {
    if (!read_journal_line(line, into_.proof) && into_.remarks.size() < kMostNotes)
      into_.remarks.push_back("member 0: " + std::string(line.substr(0, kLongestNote)));
    on_progress_(into_.proof);
    stopped_ = stopped_ || signals_.came();
    return !stopped_ && !into_.proof.ended;
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
  void look_at_pods() {
    if (into_.proof.members.size() >= job_.nodes.size()) return;
    stopped_ = into_.proof.members.empty() && signals_.comes_within(kSettled);
    std::vector<Json> pods;
    const Status listed = kube::list_all(client_, pods_path(), [&](const Json& pod) { pods.push_back(pod); });
    if (!listed && !signals_.came())
      into_.remarks.push_back("nodes that did not come: " + listed.error().message);
    const std::string why = listed && pods.size() < job_.nodes.size() ? refusal() : "";
    into_.untested = untested_nodes(job_.nodes, into_.proof, pods, why);
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
  std::string gone_;
};

}  // namespace

Failure run_test(kube::ApiServer& client, const TestTemplate& from, const TestJob& job,
                 const program::TerminationSignals& signals,
                 const std::function<void(const Proof&)>& on_progress, TestRun& into) {
  client.interrupt_by(signals.descriptor());
  return Run(client, from, job, signals, on_progress, into).run();
}

}  // namespace nccl_env::cli
