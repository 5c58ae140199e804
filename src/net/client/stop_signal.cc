// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/net/client/stop_signal.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace nccl_env::net {

StopSignal::StopSignal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void StopSignal::set() {
  ::eventfd_write(descriptor(), 1);
}

bool StopSignal::is_set() const {
  return wait_until(Deadline());
}

bool StopSignal::wait_until(Deadline deadline) const {
  return wait_for(-1, 0, deadline) < 0;
}

int StopSignal::wait_for(int descriptor, short events, Deadline deadline) const {
  using std::chrono::steady_clock;
  for (;;) {
    std::array<pollfd, 2> waits{{{descriptor_.get(), POLLIN, 0}, {descriptor, events, 0}}};
    const auto left = std::max(deadline - steady_clock::now(), steady_clock::duration::zero());
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec limit{whole.count(), std::chrono::nanoseconds(left - whole).count()};
    const int found = ::ppoll(waits.data(), descriptor < 0 ? 1 : 2, &limit, nullptr);
    if (found < 0 && errno == EINTR) continue;
    if (waits[0].revents != 0) return -1;
    return found;
  }
}

}  // namespace nccl_env::net
