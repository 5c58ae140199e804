// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/node/devices.h"
#include "nccl_env/node/verbs.h"

namespace nccl_env::node {

// True if a device of this driver may be held open for its events: the driver can take an open context away
// (disassociate_ucontext; in Linux 6.1: mlx5, mlx4, irdma, hns). With any other driver, the device can't be
// removed and the driver can't be unloaded until the context is closed.
bool may_hold_open(std::string_view driver);

// Events of devices: ports that go up or down, GIDs that come or go. Holds a context of each device for which
// that is safe.
class VerbsEvents {
 public:
  explicit VerbsEvents(Verbs& verbs) : verbs_(verbs) {}

  // Opens what is new and safe, closes what is gone. A device that can't be opened is tried again next time.
  // True if a device was opened: its changes between the last look and now made no event.
  bool follow(const std::vector<std::string>& names);
  // Readable when there are events.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Takes and acknowledges events without waiting; returns how many. A device whose event says
  // that it is gone is closed.
  int take();

 private:
  Verbs& verbs_;
  std::map<std::string, std::unique_ptr<VerbsContext>, std::less<>> held_;
};

}  // namespace nccl_env::node
