// SPDX-License-Identifier: Apache-2.0
// The part of libibverbs that a probe needs. Abstract so that tests can script devices, and so that only
// nccl-env-agent links the library (libibverbs.h). Numbers are libibverbs' own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl_env/core/fabric/gid.h"
#include "nccl_env/result.h"

namespace nccl_env::node {

struct VerbsPortAttributes {
  int state = 0;              // enum ibv_port_state
  int link_layer = 0;         // IBV_LINK_LAYER_*
  int active_mtu = 0;         // enum ibv_mtu
  unsigned active_speed = 0;  // speed per lane, one bit; the kernel reports no more than NDR (128) here
  unsigned active_width = 0;  // number of lanes, one bit
  int gid_table_length = 0;
};

struct VerbsGid {
  int port = 0;
  int index = 0;
  Gid gid;
  unsigned type = 0;     // enum ibv_gid_type
  unsigned ifindex = 0;  // in the netdev's own namespace; 0: none
};

struct VerbsEvent {
  std::string name;    // IBV_EVENT_GID_CHANGE as text
  bool fatal = false;  // the device is gone: close the context
};

// An open device; closes it when destroyed. While it is open, some drivers can't be unloaded
// (verbs_events.h).
class VerbsContext {
 public:
  VerbsContext() = default;
  VerbsContext(const VerbsContext&) = delete;
  VerbsContext& operator=(const VerbsContext&) = delete;
  virtual ~VerbsContext() = default;

  virtual Result<VerbsPortAttributes> query_port(int port) = 0;
  // All rows that are not empty, of all ports.
  virtual Result<std::vector<VerbsGid>> query_gid_table() = 0;
  // Readable when there is an event; -1 if events can't be had.
  virtual int event_descriptor() const = 0;
  // The next event, acknowledged. Never blocks: nothing if there is none.
  virtual std::optional<VerbsEvent> next_event() = 0;
};

class VerbsDevice {
 public:
  VerbsDevice() = default;
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;
  virtual ~VerbsDevice() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  virtual Result<std::unique_ptr<VerbsContext>> open() = 0;
};

class Verbs {
 public:
  Verbs() = default;
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;
  virtual ~Verbs() = default;

  // The devices that this process may see; an error if the kernel has no RDMA at all.
  virtual Result<std::vector<std::unique_ptr<VerbsDevice>>> list() = 0;
};

}  // namespace nccl_env::node
