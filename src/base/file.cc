// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "nccl_env/base/descriptor.h"

namespace nccl_env {
namespace {

Error failed(const std::filesystem::path& path, const char* what) {
  return {path.string() + ": " + what + ": " + std::generic_category().message(errno)};
}

bool write_all(int fd, const std::string& content) {
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = ::write(fd, content.data() + written, content.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return ::fsync(fd) == 0;
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed(path, "can't open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(path, "can't stat");
  if (!S_ISREG(status.st_mode)) return Error{path.string() + ": not a regular file"};
  const auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  std::string content(std::min(expected, limit) + 1, '\0');  // sizes in sysfs and procfs mean nothing
  std::size_t size = 0;
  while (size <= limit) {
    if (size == content.size()) content.resize(std::min(limit + 1, 2 * size));
    const ssize_t n = ::read(file.get(), content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(path, "can't read");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > limit) return Error{path.string() + ": larger than " + std::to_string(limit) + " bytes"};
  content.resize(size);
  content.shrink_to_fit();
  return content;
}

Status write_file(const std::filesystem::path& path, const std::string& content, mode_t mode) {
  // The new file takes the place of what is there: it must not be that of /dev/null.
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    return Error{path.string() + ": not a regular file"};
  std::string temporary = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return failed(path, "can't create a temporary file beside it");
  const bool stored = ::fchmod(file.get(), mode) == 0 && write_all(file.get(), content) &&
                      ::rename(temporary.c_str(), path.c_str()) == 0;
  if (stored) return done();
  const Error error = failed(path, "can't write");
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace nccl_env
