// SPDX-License-Identifier: Apache-2.0
// Watch: follows one collection of objects, as a state machine without sockets, threads or clocks. It names
// the next request, takes the answer as input, and passes changes of the objects to a sink.
//
//   Empty --page--> Paging --last page--> Watching --end--> Watching
//     ^                |410                  |410, garbage
//     +----------------+---------------------+
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <random>
#include <string>
#include <string_view>

#include "nccl_env/kube/client.h"
#include "nccl_env/kube/list.h"
#include "nccl_env/result.h"

namespace nccl_env::kube {

// How often the server is asked.
struct WatchPace {
  // As client-go: 5 to 10 minutes, spread so that not all watches reach a restarted server at once.
  std::chrono::seconds length{300};  // the server ends a watch after one to two times this
  // Pauses after failures, each half fixed and half random: they double from the first up to the longest, for
  // refusals and for silence each by itself, until a page or an event comes. A server that refuses is in
  // trouble, so it is asked rarely. One that does not answer is asked more often: asking costs nobody
  // anything, and its return should be noticed soon. A server that starts first does not answer and then
  // refuses, because it has not read its roles yet: its first refusals say little.
  std::chrono::milliseconds first_pause{200};
  std::chrono::milliseconds longest_refused{30'000};
  std::chrono::milliseconds longest_unanswered{4'000};
};

struct Collection {
  std::string path;                 // "/apis/nccl-env.io/v1alpha1/nodefabrics"
  std::string label_selector;       // "": all objects
  int page = 500;                   // objects per answer of a list; kube-apiserver's own clients take as many
  std::string field_selector = {};  // "": all objects
  WatchPace pace = {};
};

// Objects of a list may lack apiVersion and kind; of a removed object only the name counts.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // A list begins; an earlier list that was not completed is dropped. New objects do not count before
  // complete_list().
  virtual void begin_list() = 0;
  virtual void listed(const ApiObject& object) = 0;
  // Replaces all objects by the listed ones, in one step.
  virtual void complete_list() = 0;
  virtual void upserted(const ApiObject& object) = 0;
  virtual void removed(const ApiObject& object) = 0;
};

// Whether `object` has a name and a resource version, as every object of the API has.
bool is_api_object(const nlohmann::json& object);

// Sink for collections of few objects: gets each as a tree with metadata.name and metadata.resourceVersion.
// An object whose text is not such a tree is left out.
class TreeSink : public WatchSink {
 public:
  virtual void list_item(const nlohmann::json& object) = 0;
  virtual void upsert(const nlohmann::json& object) = 0;
  virtual void remove(const nlohmann::json& object) = 0;

  void listed(const ApiObject& object) final;
  void upserted(const ApiObject& object) final;
  void removed(const ApiObject& object) final;
};

class Watch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State { Empty, Paging, Watching };

  // `seed`: of the jitter. Replicas must not share it.
  Watch(Collection collection, std::uint32_t seed);

  struct Step {
    enum class Kind { List, Watch } kind = Kind::List;
    std::string target;                  // of a GET
    std::chrono::milliseconds delay{0};  // to wait before it
    std::chrono::seconds length{0};      // of a watch: the server ends it after this time
  };
  // Returns the next step. Ask again after each input.
  Step next();

  // Inputs. After a List step: page() or failed(). After a Watch step: refused() or failed() if it did not
  // open; else opened() and line()s, then ended() or failed().
  void page(Reply reply, WatchSink& sink, Time now);
  void opened(Time now);
  // Returns false if no more lines of this stream are wanted; ended() then has no effect.
  bool line(std::string_view text, WatchSink& sink, Time now);
  void ended(Time now);
  void refused(const Reply& reply, Time now);
  // There was no answer, or it broke off. `problem` is a sentence.
  void failed(const std::string& problem, Time now);

  [[nodiscard]] State state() const { return state_; }
  // Why the last step failed; "" once one succeeded.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t lists() const { return lists_; }  // completed
  [[nodiscard]] const std::string& resource_version() const { return resource_version_; }

 private:
  enum class Origin { Connection, Answer, List };
  struct Failures {
    int count = 0;
    Time due{};  // when the step after the last failure was due
  };

  void fail(std::string problem, Origin origin, Time now);
  void succeed();
  void relist(std::string problem, Time now);
  bool take(const WatchEvent& event, WatchSink& sink, Time now);
  bool error_event(const nlohmann::json& status, Time now);
  std::uint32_t random_up_to(std::uint32_t limit);

  const Collection collection_;
  const std::string path_;  // with its selectors
  std::minstd_rand random_;
  State state_ = State::Empty;
  std::string continue_;          // of the next page
  int pages_ = 0;                 // of the list that is being read
  std::string resource_version_;  // of the last event or list
  std::string problem_;
  std::chrono::milliseconds delay_{0};  // before the next step
  std::array<Failures, 3> failures_;    // by Origin
  int refusals_ = 0;                    // of this version, since a watch was open
  Time refused_since_{};                // or since it did not answer, which is later
  Time opened_at_{};
  bool fruitful_ = false;   // this stream brought an event
  bool abandoned_ = false;  // line() said that it wants no more
  std::uint64_t lists_ = 0;
};

}  // namespace nccl_env::kube
