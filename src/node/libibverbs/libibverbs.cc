// SPDX-License-Identifier: Apache-2.0
// The only file that calls libibverbs.
#include "nccl_env/node/libibverbs.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace nccl_env::node {
namespace {

// The kernel takes the table's size in bytes as a 16-bit number: 2048 entries of 32 bytes are one too many
// (EINVAL). A buffer for fewer entries than there are is refused as well.
constexpr std::size_t kMaxEntries = 2047;

using DeviceList = std::shared_ptr<ibv_device*>;

struct ContextCloser {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, ContextCloser>;

class OpenDevice : public VerbsContext {
 public:
  OpenDevice(std::string name, Context context) : name_(std::move(name)), context_(std::move(context)) {
    const int flags = ::fcntl(context_->async_fd, F_GETFL);
    if (flags >= 0 && ::fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) == 0)
      event_descriptor_ = context_->async_fd;
  }

  Result<VerbsPortAttributes> query_port(int port) override {
    ibv_port_attr attributes{};
    if (const int error = ibv_query_port(context_.get(), static_cast<std::uint8_t>(port), &attributes);
        error != 0)
      return failed("ibv_query_port " + std::to_string(port), error);
    return VerbsPortAttributes{attributes.state,        attributes.link_layer,   attributes.active_mtu,
                               attributes.active_speed, attributes.active_width, attributes.gid_tbl_len};
  }

  Result<std::vector<VerbsGid>> query_gid_table() override {
    std::vector<ibv_gid_entry> entries(kMaxEntries);
    const ssize_t count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
    if (count < 0) return failed("ibv_query_gid_table", static_cast<int>(-count));
    std::vector<VerbsGid> rows;
    for (ssize_t i = 0; i < count; ++i) {
      const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
      VerbsGid& row = rows.emplace_back();
      row.port = static_cast<int>(entry.port_num);
      row.index = static_cast<int>(entry.gid_index);
      std::memcpy(row.gid.bytes.data(), entry.gid.raw, row.gid.bytes.size());
      row.type = entry.gid_type;
      row.ifindex = entry.ndev_ifindex;
    }
    return rows;
  }

  int event_descriptor() const override { return event_descriptor_; }

  std::optional<VerbsEvent> next_event() override {
    ibv_async_event event{};
    // Without O_NONBLOCK the call would wait for the next event.
    if (event_descriptor_ < 0 || ibv_get_async_event(context_.get(), &event) != 0) return std::nullopt;
    VerbsEvent result{ibv_event_type_str(event.event_type), event.event_type == IBV_EVENT_DEVICE_FATAL};
    ibv_ack_async_event(&event);
    return result;
  }

 private:
  [[nodiscard]] Error failed(const std::string& what, int error) const {
    return {name_ + ": " + what + ": " + std::generic_category().message(error)};
  }

  const std::string name_;
  const Context context_;
  int event_descriptor_ = -1;
};

class ListedDevice : public VerbsDevice {
 public:
  ListedDevice(DeviceList list, ibv_device* device) : list_(std::move(list)), device_(device) {}

  [[nodiscard]] std::string name() const override { return ibv_get_device_name(device_); }

  Result<std::unique_ptr<VerbsContext>> open() override {
    errno = 0;
    Context context(ibv_open_device(device_));
    if (!context) return Error{name() + ": ibv_open_device: " + std::generic_category().message(errno)};
    return std::unique_ptr<VerbsContext>(std::make_unique<OpenDevice>(name(), std::move(context)));
  }

 private:
  const DeviceList list_;  // keeps device_ alive
  ibv_device* const device_;
};

class LibIbverbs : public Verbs {
 public:
  Result<std::vector<std::unique_ptr<VerbsDevice>>> list() override {
    int count = 0;
    errno = 0;
    const DeviceList list(ibv_get_device_list(&count), [](ibv_device** devices) {
      if (devices) ibv_free_device_list(devices);
    });
    if (!list) return Error{"ibv_get_device_list: " + std::generic_category().message(errno)};
    std::vector<std::unique_ptr<VerbsDevice>> devices;
    devices.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<ListedDevice>(list, list.get()[i]));
    return devices;
  }
};

}  // namespace

std::unique_ptr<Verbs> open_libibverbs() {
  return std::make_unique<LibIbverbs>();
}

}  // namespace nccl_env::node
