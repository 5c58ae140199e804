// SPDX-License-Identifier: Apache-2.0
// The first line is the answer to a list, the others are those of a watch.
#include "fuzz/fuzz.h"
#include "nccl_env/base/line_splitter.h"
#include "nccl_env/kube/watch.h"

namespace nccl_env::fuzz::watch_line_fuzz {
namespace {

class Checker : public kube::TreeSink {
 public:
  void begin_list() override {
    require(!complete_, "nothing is listed after the list was complete");
    listing_ = true;
  }
  void list_item(const nlohmann::json& object) override {
    require(listing_, "an item belongs to a list");
    check(object);
  }
  void complete_list() override {
    require(listing_, "a list ends once");
    listing_ = false;
    complete_ = true;
  }
  void upsert(const nlohmann::json& object) override { check(object); }
  void remove(const nlohmann::json& object) override { check(object); }

 private:
  static void check(const nlohmann::json& object) {
    require(object.at("metadata").at("name").is_string(), "every object has a name");
    require(object.at("metadata").at("resourceVersion").is_string(), "and a version");
  }
  bool listing_ = false, complete_ = false;
};

}  // namespace

FUZZ_TARGET(watch_line) {
  Checker sink;
  const kube::Watch::Time now{std::chrono::hours(1)};
  kube::Watch watch({"/api/v1/namespaces", "", 500}, 1);
  const auto end = std::min(input.find('\n'), input.size());
  watch.page({200, std::string(input.substr(0, end))}, sink, now);
  require(!watch.next().target.empty(), "there always is something to do");
  if (watch.state() != kube::Watch::State::Watching)
    return require(watch.state() == kube::Watch::State::Paging || !watch.problem().empty(),
                   "a refused list has a sentence");
  watch.opened(now);
  LineSplitter lines(1 << 20);
  const auto fed = lines.feed(input.substr(std::min(end + 1, input.size())), [&](std::string_view line) {
    const bool go_on = watch.line(line, sink, now);
    require(go_on == watch.problem().empty(), "a watch goes on until there is a problem");
    return go_on;
  });
  require(fed.ok(), "no line is too long");
  watch.ended(now);
  const auto step = watch.next();
  const bool lists = step.kind == kube::Watch::Step::Kind::List;
  require(lists == (watch.state() == kube::Watch::State::Empty), "a relist begins with its first page");
}

}  // namespace nccl_env::fuzz::watch_line_fuzz
