// SPDX-License-Identifier: Apache-2.0
// The calls of libibverbs that move packets.
#include "nccl_env/packets/libibverbs.h"

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>
#include <thread>

namespace nccl_env::packets {
namespace {

// 12 is 0.64 ms, and 14 is 67 ms, which devices stretch by up to four: a write fails within 2 s. One retry
// less than NCCL's, because Linux's soft RoCE takes 7 for endless.
constexpr std::uint8_t kReceiverPause = 12, kTimeout = 14, kRetries = 6;
constexpr std::uint8_t kHopLimit = 255;
constexpr int kNotPosted = IBV_WC_GENERAL_ERR;

// enum ibv_mtu: 1 is 256, 5 is 4096.
int bytes_of(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}
ibv_mtu mtu_of(int bytes) {
  int mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (256 << mtu) <= bytes) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}

template <auto Close>
struct Closer {
  template <class Object>
  void operator()(Object* object) const {
    Close(object);
  }
};
template <class Object, auto Close>
using Owned = std::unique_ptr<Object, Closer<Close>>;

struct Unmapper {
  void operator()(unsigned char* memory) const { ::munmap(memory, 2 * kAllBytes); }
};

// Everything of a queue pair, in the order of making it.
struct Parts {
  std::shared_ptr<ibv_context> context;
  std::unique_ptr<unsigned char, Unmapper> memory;
  Owned<ibv_pd, ibv_dealloc_pd> domain;
  Owned<ibv_mr, ibv_dereg_mr> region;
  Owned<ibv_cq, ibv_destroy_cq> completions;
  Owned<ibv_qp, ibv_destroy_qp> queue_pair;
  std::atomic<int> connected{-1};  // errno of connecting, once it has ended
};

class RealQueuePair : public QueuePair {
 public:
  RealQueuePair(std::shared_ptr<Parts> parts, const QueueSettings& settings)
      : parts_(std::move(parts)), settings_(settings), first_packet_(std::random_device()() & 0xffffff) {}

  void describe(LinkEnd& into) const override {
    into.queue_pair = static_cast<int>(parts_->queue_pair->qp_num);
    into.first_packet = static_cast<int>(first_packet_);
    into.key = parts_->region->rkey;
  }
  std::span<unsigned char> incoming() override { return {parts_->memory.get(), kAllBytes}; }
  std::span<unsigned char> outgoing() override { return {parts_->memory.get() + kAllBytes, kAllBytes}; }

  // The kernel asks for the peer's MAC address, for long where nobody answers: a thread waits for it.
  void connect(const LinkEnd& peer, int mtu) override {
    peer_key_ = static_cast<std::uint32_t>(peer.key);
    ibv_qp_attr receive = receiving(peer, mtu);
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.timeout = kTimeout;
    send.retry_cnt = kRetries;
    send.rnr_retry = kRetries;
    send.sq_psn = first_packet_;
    send.max_rd_atomic = 1;
    const auto modify = [parts = parts_, receive, send]() mutable {
      int error = ibv_modify_qp(parts->queue_pair.get(), &receive,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
      if (error == 0)
        error = ibv_modify_qp(parts->queue_pair.get(), &send,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
      parts->connected = error;
    };
    connecting_ = true;
    try {
      std::thread(modify).detach();
    } catch (const std::system_error& refused) {  // the container may start no more
      parts_->connected = refused.code().value();
    }
  }

  void write(std::size_t bytes) override {
    // Addresses are those of the regions, which begin at 0.
    ibv_sge piece{kAllBytes, static_cast<std::uint32_t>(bytes), parts_->region->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.rkey = peer_key_;
    ibv_send_wr* refused = nullptr;
    posted_ = ibv_post_send(parts_->queue_pair.get(), &request, &refused) == 0;
  }

  std::optional<int> poll() override {
    if (connecting_) {
      const int error = parts_->connected;
      if (error < 0) return std::nullopt;
      connecting_ = false;
      return error;
    }
    if (!posted_) return kNotPosted;
    ibv_wc completion{};
    const int count = ibv_poll_cq(parts_->completions.get(), 1, &completion);
    if (count == 0) return std::nullopt;
    return count < 0 ? kNotPosted : static_cast<int>(completion.status);
  }

 private:
  [[nodiscard]] ibv_qp_attr receiving(const LinkEnd& peer, int mtu) const {
    ibv_qp_attr receive{};
    receive.qp_state = IBV_QPS_RTR;
    receive.path_mtu = mtu_of(mtu);
    receive.dest_qp_num = static_cast<std::uint32_t>(peer.queue_pair);
    receive.rq_psn = static_cast<std::uint32_t>(peer.first_packet);
    receive.max_dest_rd_atomic = 1;
    receive.min_rnr_timer = kReceiverPause;
    ibv_ah_attr& way = receive.ah_attr;
    way.port_num = static_cast<std::uint8_t>(settings_.port);
    way.sl = static_cast<std::uint8_t>(settings_.service_level);
    way.dlid = static_cast<std::uint16_t>(peer.lid.value_or(0));
    // InfiniBand needs addresses only between subnets, whose prefixes are half of a GID.
    const Gid gid = peer.gid.value_or(Gid{});
    const bool same_subnet =
        std::equal(gid.bytes.begin(), gid.bytes.begin() + 8, settings_.gid.bytes.begin());
    way.is_global = !peer.lid || !same_subnet;
    std::memcpy(way.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
    way.grh.sgid_index = static_cast<std::uint8_t>(settings_.gid_index);
    way.grh.hop_limit = kHopLimit;
    way.grh.traffic_class = static_cast<std::uint8_t>(settings_.traffic_class);
    return receive;
  }

  const std::shared_ptr<Parts> parts_;
  const QueueSettings settings_;
  const std::uint32_t first_packet_;
  std::uint32_t peer_key_ = 0;
  bool connecting_ = false, posted_ = true;
};

class RealDevice : public Device {
 public:
  explicit RealDevice(std::shared_ptr<ibv_context> context) : context_(std::move(context)) {}

  Attempt<PortStatus> query_port(int port) override {
    ibv_port_attr attributes{};
    if (const int error = ibv_query_port(context_.get(), static_cast<std::uint8_t>(port), &attributes);
        error != 0)
      return RailFault{ProofStep::Port, error};
    return PortStatus{attributes.state == IBV_PORT_ACTIVE, bytes_of(attributes.active_mtu), attributes.lid};
  }

  Attempt<std::unique_ptr<QueuePair>> make_queue_pair(const QueueSettings& settings) override {
    auto parts = std::make_shared<Parts>();
    parts->context = context_;
    void* memory = ::mmap(nullptr, 2 * kAllBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return RailFault{ProofStep::Memory, errno};
    parts->memory.reset(static_cast<unsigned char*>(memory));
    parts->domain.reset(ibv_alloc_pd(context_.get()));
    if (!parts->domain) return RailFault{ProofStep::Memory, errno};
    // Addresses of the region begin at 0, so that the peer has to know its key alone.
    parts->region.reset(ibv_reg_mr_iova(parts->domain.get(), memory, 2 * kAllBytes, 0,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    if (!parts->region) return RailFault{ProofStep::Memory, errno};
    parts->completions.reset(ibv_create_cq(context_.get(), 4, nullptr, nullptr, 0));
    if (!parts->completions) return RailFault{ProofStep::Queue, errno};
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = parts->completions.get();
    wanted.cap = {2, 1, 1, 1, 0};
    wanted.qp_type = IBV_QPT_RC;
    parts->queue_pair.reset(ibv_create_qp(parts->domain.get(), &wanted));
    if (!parts->queue_pair) return RailFault{ProofStep::Queue, errno};
    ibv_qp_attr first{};
    first.qp_state = IBV_QPS_INIT;
    first.pkey_index = static_cast<std::uint16_t>(settings.partition);
    first.port_num = static_cast<std::uint8_t>(settings.port);
    first.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (const int error = ibv_modify_qp(parts->queue_pair.get(), &first,
                                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        error != 0)
      return RailFault{ProofStep::Queue, error};
    return std::make_unique<RealQueuePair>(std::move(parts), settings);
  }

 private:
  const std::shared_ptr<ibv_context> context_;
};

class RealVerbs : public Verbs {
 public:
  Attempt<std::shared_ptr<Device>> open(const std::string& hca) override {
    int count = 0;
    errno = ENODEV;  // of a device that is not listed
    const Owned<ibv_device*, ibv_free_device_list> list(ibv_get_device_list(&count));
    for (int i = 0; list && i < count; ++i) {
      ibv_device* const device = list.get()[i];
      if (ibv_get_device_name(device) != hca) continue;
      std::shared_ptr<ibv_context> context(ibv_open_device(device), [](ibv_context* open) {
        if (open) ibv_close_device(open);
      });
      if (!context) break;
      return std::make_shared<RealDevice>(std::move(context));
    }
    return RailFault{ProofStep::Open, errno};
  }
};

}  // namespace

std::unique_ptr<Verbs> open_libibverbs() {
  return std::make_unique<RealVerbs>();
}

}  // namespace nccl_env::packets
