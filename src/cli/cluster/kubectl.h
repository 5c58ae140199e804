// SPDX-License-Identifier: Apache-2.0
// Asks a cluster through kubectl, which handles contexts, several kubeconfigs, proxies, credential plugins
// and OIDC. Its errors are passed on in its own words.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cluster/child_process.h"
#include "nccl_env/kube/client.h"
#include "nccl_env/result.h"

namespace nccl_env::cli {

// One process for each call: `kubectl get --raw`, `create --raw` or `delete --raw`. For one thread.
class Kubectl : public kube::ApiServer {
 public:
  // `path`: of the program. The other two are kubectl's options of that name; "": kubectl's own choice.
  Kubectl(std::string path, const std::string& kubeconfig, const std::string& context);

  // `call` is a GET, a POST or a DELETE. Its deadline is prolonged by the time that a person or a plugin may
  // need to log in.
  Result<kube::Reply> call(const kube::Call& call) override;
  Result<kube::Reply> stream_parts(const std::string& target, std::chrono::milliseconds idle_deadline,
                                   const std::function<bool(std::string_view part)>& on_part) override;
  [[nodiscard]] std::string server() const override;  // "context prod, https://10.0.0.1:6443"
  [[nodiscard]] Result<std::string> name_space() const override;
  void interrupt_by(int descriptor) override { interrupt_ = descriptor; }

  // The time that kubectl gets: the call's, and that to log in, which is shorter once the server answered.
  [[nodiscard]] std::chrono::milliseconds with_login(std::chrono::milliseconds deadline) const;

 private:
  struct Context {
    std::string name, server, name_space;
  };
  [[nodiscard]] Program program(std::vector<std::string> words) const;
  [[nodiscard]] Result<kube::Reply> ask(const Program& program,
                                        const std::function<bool(std::string_view part)>& on_part) const;
  const Result<Context>& context() const;
  [[nodiscard]] Result<Context> read_context() const;
  [[nodiscard]] Error failed(const std::string& complaint) const;

  const std::string path_;
  int interrupt_ = -1;
  std::vector<std::string> options_;
  mutable std::optional<Result<Context>> context_;  // once it was asked for
  mutable bool answered_ = false;                   // by the server
};

// kubectl's complaint as one sentence: without warnings, klog's lines and "error: ", at most 1 KiB.
std::string sentence_of(const std::string& complaint);

// Reads the API server's refusal from such a sentence, with a Status as its body: "Error from server
// (NotFound): pods "x" not found" is 404. Returns nothing if the server gave no answer.
std::optional<kube::Reply> refusal_of(const std::string& sentence);

}  // namespace nccl_env::cli
