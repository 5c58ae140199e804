// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/node/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "nccl_env/base/descriptor.h"

namespace nccl_env::node {
namespace {

constexpr std::size_t kPage = 4096;

struct DirectoryCloser {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// -1 with errno EXDEV where a link leads out of `root`.
int open_beneath(int root, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: something was renamed or mounted anywhere on the machine while ".." was followed.
  constexpr int kAttempts = 100;
  long fd = -1;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);  // glibc 2.36 has no function for it
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return static_cast<int>(fd);
}

// The path without links; empty where /proc is absent.
std::filesystem::path path_of(const Descriptor& file) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error);
}

Error failed(const std::string& path, int error) {
  return {path + ": " + std::generic_category().message(error)};
}

bool is_sysfs(const std::filesystem::path& root) {
  struct statfs system {};
  return ::statfs(root.c_str(), &system) == 0 && system.f_type == SYSFS_MAGIC;
}

class DiskSysfs : public Sysfs {
 public:
  explicit DiskSysfs(std::filesystem::path root) : root_(std::move(root)), live_(is_sysfs(root_)) {}

  [[nodiscard]] Result<std::string> read(const std::string& path) const override {
    // O_NONBLOCK: in a copy somebody may have put a FIFO.
    const auto file = open(path, O_RDONLY | O_NONBLOCK);
    if (!file) return file.error();
    struct stat status {};
    if (::fstat(file->get(), &status) != 0) return failed(path, errno);
    if (!S_ISREG(status.st_mode)) return Error{path + ": not a regular file"};
    char page[kPage];
    const ssize_t size = ::read(file->get(), page, sizeof page);
    if (size < 0) return failed(path, errno);
    std::string text(page, static_cast<std::size_t>(size));
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  }

  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path) const override {
    auto opened = open(path, O_RDONLY | O_DIRECTORY);
    if (!opened) return opened.error();
    const std::unique_ptr<DIR, DirectoryCloser> directory(::fdopendir(opened->get()));
    if (!directory) return failed(path, errno);
    opened->release();
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
    const auto end = open(path, O_PATH);
    if (!end) return end.error();
    const auto root = open_root();
    if (!root) return root.error();
    const std::string relative = path_of(*end).lexically_relative(path_of(*root)).string();
    if (relative.empty() || relative.starts_with("..")) return leads_out(path);
    return relative;
  }

 private:
  [[nodiscard]] Error leads_out(const std::string& path) const {
    return {path + ": leads out of " + root_.string()};
  }

  [[nodiscard]] Result<Descriptor> open_root() const {
    Descriptor root(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return failed(root_.string(), errno);
    return Result<Descriptor>(std::move(root));
  }

  // Opens a path without leaving the root. No link of the kernel's own sysfs leads out of it, and it has to
  // be read on kernels that cannot bound a path, too; in a copy from others a link may lead anywhere.
  [[nodiscard]] Result<Descriptor> open(const std::string& path, int flags) const {
    if (live_) {
      Descriptor file(::open((root_ / path).c_str(), flags | O_CLOEXEC));
      if (!file) return failed(path, errno);
      return Result<Descriptor>(std::move(file));
    }
    const auto root = open_root();
    if (!root) return root.error();
    Descriptor file(open_beneath(root->get(), path.c_str(), flags | O_CLOEXEC));
    if (file) return Result<Descriptor>(std::move(file));
    if (errno == EXDEV) return leads_out(path);
    if (errno == ENOSYS || errno == EPERM)
      return Error{root_.string() + ": a copy of sysfs needs openat2, which Linux has from 5.6 on"};
    return failed(path, errno);
  }

  const std::filesystem::path root_;
  const bool live_;  // the kernel's own, not a copy
};

}  // namespace

std::unique_ptr<Sysfs> open_sysfs(std::filesystem::path root) {
  return std::make_unique<DiskSysfs>(std::move(root));
}

}  // namespace nccl_env::node
