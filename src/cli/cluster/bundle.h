// SPDX-License-Identifier: Apache-2.0
// A bug report: a cluster's answers to the GETs of commands, reduced to what nccl-env reads, as lines of
// text.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// The plural by which a GET's path names what it asks for: "pods", "nodefabrics"; "version"; "log".
std::string kind_at(std::string_view target);

// A report keeps the fields that nccl-env reads, and those that tell how it runs. Secrets, commands, foreign
// variables and images are never among them (docs/reference/cli.md, bug-report).
// Returns the body as it is kept: one line of JSON; null for a kind that no report holds, and for a body that
// is not JSON.
std::string kept_text(std::string_view target, const kube::Reply& reply);

struct Bundle {
  Timestamp at;                                       // the moment for which its commands decided
  std::string program;                                // the version that wrote it
  std::string server;                                 // as ApiServer::server() says it
  std::string name_space;                             // the context's, or the one that was given
  std::map<std::string, kube::Reply> answers;         // by target, with kept_text(); status 0: why none came
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
