// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nccl_env::webhook {
namespace {

// Enough to find a case, little enough never to fill a disk: 1 000 reviews are 10-20 MB.
constexpr int kMaxCaptured = 1000;

// The request's uid is a UUID; from a stranger it may be anything.
bool is_file_name(std::string_view uid) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !uid.empty() && uid.size() <= 64 && std::ranges::all_of(uid, allowed);
}

}  // namespace

Result<std::unique_ptr<Capture>> Capture::open(std::filesystem::path directory, std::shared_ptr<Logger> log) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  if (error) return Error{directory.string() + ": " + error.message()};
  return std::unique_ptr<Capture>(new Capture(std::move(directory), std::move(log)));
}

void Capture::save(std::string_view uid, std::string_view review, std::string_view response) {
  if (!is_file_name(uid)) return;
  const int number = saved_.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxCaptured) {
    if (number == kMaxCaptured) log_->warn("capture is full", {{"reviews", kMaxCaptured}});
    saved_.store(kMaxCaptured + 1, std::memory_order_relaxed);
    return;
  }
  write(std::string(uid) + ".review.json", review);
  write(std::string(uid) + ".response.json", response);
}

void Capture::write(const std::string& name, std::string_view text) {
  const std::filesystem::path path = directory_ / name;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return log_->warn("capture failed", {{"file", path.string()}, {"problem", std::strerror(errno)}});
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      log_->warn("capture failed", {{"file", path.string()}, {"problem", std::strerror(errno)}});
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(file);
}

}  // namespace nccl_env::webhook
