// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/program/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace nccl_env::program {

TerminationSignals::TerminationSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);  // of a terminal that ends
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool TerminationSignals::came() const {
  signalfd_siginfo info{};
  return ::read(descriptor(), &info, sizeof info) > 0;
}

bool TerminationSignals::comes_within(std::chrono::milliseconds time) const {
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  pollfd waited{descriptor(), POLLIN, 0};
  ::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(time.count(), kLongest)));
  return came();
}

}  // namespace nccl_env::program
