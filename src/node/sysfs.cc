// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace nccl_env::node {
namespace {

constexpr std::size_t kPage = 4096;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

class Directory {
 public:
  explicit Directory(DIR* stream) : stream_(stream) {}
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    if (stream_) ::closedir(stream_);
  }
  [[nodiscard]] DIR* get() const { return stream_; }

 private:
  DIR* stream_;
};

Error failed(const std::string& path, int error) {
  return {path + ": " + std::generic_category().message(error)};
}

class DiskSysfs : public Sysfs {
 public:
  explicit DiskSysfs(std::filesystem::path root) : root_(std::move(root)) {}

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    // O_NONBLOCK: in a copy somebody may have put a FIFO.
    const Descriptor file(::open((root_ / path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return failed(path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return failed(path, errno);
    if (!S_ISREG(status.st_mode)) return Error{path + ": not a regular file"};
    char page[kPage];
    const ssize_t size = ::read(file.get(), page, sizeof page);
    if (size < 0) return failed(path, errno);
    std::string text(page, static_cast<std::size_t>(size));
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }

  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const override {
    const Directory directory(::opendir((root_ / path).c_str()));
    if (!directory.get()) return failed(path, errno);
    std::vector<std::string> names;
    while (names.size() < kMaxNames) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (!entry && errno != 0) return failed(path, errno);
      if (!entry) break;
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] Result<std::string> resolve(const std::string& path) const override {
    std::error_code error;
    const auto root = std::filesystem::canonical(root_, error);
    if (error) return Error{root_.string() + ": " + error.message()};
    const auto target = std::filesystem::canonical(root_ / path, error);
    if (error) return Error{path + ": " + error.message()};
    const std::string relative = target.lexically_relative(root).string();
    if (relative.empty() || relative.starts_with(".."))
      return Error{path + ": leads out of " + root.string()};
    return relative;
  }

 private:
  const std::filesystem::path root_;
};

}  // namespace

std::unique_ptr<Sysfs> open_sysfs(std::filesystem::path root) {
  return std::make_unique<DiskSysfs>(std::move(root));
}

}  // namespace nccl_env::node
