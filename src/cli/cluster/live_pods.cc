// SPDX-License-Identifier: Apache-2.0
#include "cluster/live_pods.h"

#include <istream>

#include "commands/commands.h"
#include "nccl_env/program/inputs.h"

namespace nccl_env::app {
namespace {

using Json = nlohmann::json;

std::string kind_of(const Json& object) {
  const auto kind = object.find("kind");
  return kind != object.end() && kind->is_string() ? kind->get<std::string>() : std::string();
}

}  // namespace

Result<std::unique_ptr<LivePod>> LivePod::read(const Json& object) {
  std::unique_ptr<LivePod> live(new LivePod);
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto pod = live->parser_.parse_pod(text);
  if (!pod) return pod.error();
  live->pod_ = *pod;
  auto record = read_pod_record(live->pod_, object);
  if (!record) return record.error();
  live->record_ = *std::move(record);
  return live;
}

Result<std::vector<Json>> read_pod_file(const std::string& file, std::istream& in) {
  auto documents = read_documents(file, in);
  if (!documents) return documents.error();
  std::vector<Json> pods;
  const auto add = [&](Json& object) {
    if (!object.is_object() || kind_of(object) != "Pod") return false;
    pods.push_back(std::move(object));
    return pods.size() <= kMaxLivePods;
  };
  for (Json& document : *documents) {
    const auto items = document.is_object() ? document.find("items") : document.end();
    const bool list = items != document.end() && items->is_array();
    for (std::size_t i = 0; i < (list ? items->size() : 1); ++i) {
      if (add(list ? (*items)[i] : document)) continue;
      return Error{file +
                   (pods.size() > kMaxLivePods
                        ? ": holds more than " + std::to_string(kMaxLivePods) + " pods"
                        : ": holds what is no Pod; it has to be what kubectl get pods -o json prints")};
    }
  }
  if (pods.empty()) return Error{file + ": holds no pod"};
  return pods;
}

}  // namespace nccl_env::app
