// SPDX-License-Identifier: Apache-2.0
// --capture DIR: saves reviews and answers, so that a production case can be replayed offline.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string_view>

#include "nccl_env/base/log.h"
#include "nccl_env/result.h"

namespace nccl_env::webhook {

class Capture {
 public:
  // Makes the directory if need be, readable for its owner alone: env values may be secrets.
  static Result<std::unique_ptr<Capture>> open(std::filesystem::path directory, std::shared_ptr<Logger> log);

  // Writes UID.review.json and UID.response.json. Stops after kMaxCaptured reviews, with a log line.
  // Any thread.
  void save(std::string_view uid, std::string_view review, std::string_view response);

 private:
  Capture(std::filesystem::path directory, std::shared_ptr<Logger> log)
      : directory_(std::move(directory)), log_(std::move(log)) {}
  void write(const std::string& name, std::string_view text);

  const std::filesystem::path directory_;
  const std::shared_ptr<Logger> log_;
  std::atomic<int> saved_{0};
};

}  // namespace nccl_env::webhook
