// SPDX-License-Identifier: Apache-2.0
#include "sync_state.h"

namespace nccl_env::store {

bool SyncState::update(bool in_contact, Time now) {
  if (in_contact) {
    lost_.reset();
    if (!in_sync_ && !found_) found_ = now;
    if (found_ && now - *found_ >= kSettle) in_sync_ = true;
    if (in_sync_) found_.reset();
  } else {
    found_.reset();
    if (!lost_) lost_ = now;
    if (now - *lost_ >= kPatience) in_sync_ = false;
  }
  return in_sync_;
}

bool Lag::update(bool following, Time now) {
  if (following) {
    lost_.reset();
  } else if (!lost_) {
    lost_ = now;
  }
  return !lost_ || now - *lost_ < kReconnection;
}

}  // namespace nccl_env::store
