// SPDX-License-Identifier: Apache-2.0
// A bug report: a cluster's answers to the GETs of commands, reduced to what nccl-env reads, as lines of
// text. From a plain one the same commands print the same; another one has counters for names and addresses,
// and is for people to read.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/text/timestamp.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// Room for the tables of 8 000 nodes. Reports are not compressed, so this bounds what reading one takes.
inline constexpr std::size_t kMaxBundle = 64u << 20;

struct Bundle {
  Timestamp at;                                       // the moment for which its commands decided
  std::string program;                                // the version that wrote it
  std::string server;                                 // as ApiServer::server() says it
  std::string name_space;                             // the context's, or the one that was given
  std::vector<std::string> commands;                  // that it can answer: "explain pod/train-0 -n ml"
  std::map<std::string, kube::Reply> answers;         // by target; status 0: why no answer came
  nlohmann::json findings = nlohmann::json::array();  // of its commands, as they print them with -o json

  // Counts its objects by their kinds' names in the API: {"pods", 12}.
  [[nodiscard]] std::map<std::string, std::size_t> kinds() const;
};

// The first line is an object about the report. Then each answer has two: {"get": TARGET, "status": STATUS},
// and its body, which is JSON. Then come {"findings": FINDINGS} and {"end": ANSWERS}.
std::string render_bundle(const Bundle& bundle);
// Does the same with counters for names and addresses, and the kind of object in place of TARGET. Logs are
// left out: their lines have names that are in no object.
std::string render_disguised(const Bundle& bundle);
// Refuses a text that render_bundle does not write. Bodies are not checked: trust them no more than a
// server's.
Result<Bundle> parse_bundle(std::string_view text);

// Passes GETs on and keeps what came. Other calls are refused.
class RecordingServer : public kube::ApiServer {
 public:
  RecordingServer(std::shared_ptr<kube::ApiServer> asked, Bundle& into)
      : asked_(std::move(asked)), bundle_(into) {}

  Result<kube::Reply> call(const kube::Call& call) override;
  Result<kube::Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                   const std::function<bool(std::string_view part)>& on_part) override;
  [[nodiscard]] std::string server() const override { return bundle_.server; }
  [[nodiscard]] Result<std::string> name_space() const override { return bundle_.name_space; }

 private:
  const std::shared_ptr<kube::ApiServer> asked_;
  Bundle& bundle_;
};

// Answers as the report does. A question that it has no answer to is an error, which names it.
class BundleServer : public kube::ApiServer {
 public:
  explicit BundleServer(Bundle bundle) : bundle_(std::move(bundle)) {}

  Result<kube::Reply> call(const kube::Call& call) override;
  Result<kube::Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                   const std::function<bool(std::string_view part)>& on_part) override;
  [[nodiscard]] std::string server() const override { return bundle_.server; }
  [[nodiscard]] Result<std::string> name_space() const override { return bundle_.name_space; }

 private:
  const Bundle bundle_;
};

}  // namespace nccl_env::cli
