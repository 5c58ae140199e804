// SPDX-License-Identifier: Apache-2.0
// KeptTable: tells by a watch whether the store still holds the table that the agent wrote. Tables vanish
// while their agents run: a Node is registered anew, somebody deletes an object or its CRD.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "nccl_env/kube/watch.h"

namespace nccl_env::agent {

// The watch calls from its thread, the writer from another.
class KeptTable : public kube::TreeSink {
 public:
  // Called with the reason, as the end of a sentence.
  using OnLoss = std::function<void(const std::string&)>;

  void follow(OnLoss on_loss);

  // Called around each write: the watch's reports meanwhile are compared with the object that the write
  // stored.
  void begin_write();
  // `stored`: the object that the server returned; null: the write failed and will be tried again.
  void end_write(const nlohmann::json& stored);

  void begin_list() override;
  void list_item(const nlohmann::json& object) override;
  void complete_list() override;
  void upsert(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override;

 private:
  struct Form {
    std::string version;      // resourceVersion; "": not known, because a list lacks the object
    std::size_t content = 0;  // hash of the fields that the agent writes, as stored; 0: the object is gone
  };
  static Form form_of(const nlohmann::json& object);
  static bool is_newer(const Form& form, const Form& than);
  void see(Form form);
  void judge();

  std::mutex mutex_;  // guards all below
  OnLoss on_loss_;
  bool writing_ = false;
  std::optional<Form> written_;  // absent: what the store should hold is not known
  std::optional<Form> seen_;     // by the watch, not judged yet
  std::optional<Form> listed_;   // by the list under way
};

}  // namespace nccl_env::agent
