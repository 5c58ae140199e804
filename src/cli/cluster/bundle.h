// SPDX-License-Identifier: Apache-2.0
// A bug report: a cluster's answers to the GETs of commands, reduced to what nccl-env reads, as lines of
// text.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

struct Bundle {
  Timestamp at;                                       // the moment for which its commands decided
  std::string program;                                // the version that wrote it
  std::string server;                                 // as ApiServer::server() says it
  std::string name_space;                             // the context's, or the one that was given
  std::map<std::string, kube::Reply> answers;         // by target; status 0: why no answer came
  nlohmann::json findings = nlohmann::json::array();  // of its commands, as they print them with -o json

  // Counts its objects by their kinds' names in the API: {"pods", 12}.
  [[nodiscard]] std::map<std::string, std::size_t> kinds() const;
};

// The first line is an object about the report. Then each answer has two: {"get": TARGET, "status": STATUS},
// and its body, which is JSON. The last line is {"findings": FINDINGS}.
std::string render_bundle(const Bundle& bundle);

// Passes GETs on and keeps what came. Other calls are refused.
class RecordingServer : public kube::ApiServer {
 public:
  RecordingServer(std::shared_ptr<kube::ApiServer> asked, Bundle& into)
      : asked_(std::move(asked)), bundle_(into) {}

  Result<kube::Reply> call(const kube::Call& call) override;
  // Logs are not kept.
  Result<kube::Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                   const std::function<bool(std::string_view part)>& on_part) override {
    return asked_->stream_parts(target, idle_deadline, on_part);
  }
  [[nodiscard]] std::string server() const override { return bundle_.server; }
  [[nodiscard]] Result<std::string> name_space() const override { return bundle_.name_space; }

 private:
  const std::shared_ptr<kube::ApiServer> asked_;
  Bundle& bundle_;
};

}  // namespace nccl_env::cli
