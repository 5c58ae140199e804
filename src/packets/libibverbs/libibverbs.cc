// SPDX-License-Identifier: Apache-2.0
// The calls of libibverbs that move packets.
#include "nccl_env/packets/libibverbs.h"

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
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
  ibv_port_attr port{};
  std::unique_ptr<unsigned char, Unmapper> memory;
  Owned<ibv_pd, ibv_dealloc_pd> domain;
  Owned<ibv_mr, ibv_dereg_mr> region;
  Owned<ibv_cq, ibv_destroy_cq> completions;
  Owned<ibv_qp, ibv_destroy_qp> queue_pair;
};

class RealQueuePair : public QueuePair {
 public:
  RealQueuePair(std::shared_ptr<Parts> parts, const OwnRail& rail) : parts_(std::move(parts)), rail_(rail) {}

  void describe(LinkWord& into) const override {
    into.queue_pair = static_cast<int>(parts_->queue_pair->qp_num);
    into.key = parts_->region->rkey;
    into.mtu = bytes_of(parts_->port.active_mtu);
    if (parts_->port.link_layer == IBV_LINK_LAYER_INFINIBAND) into.lid = parts_->port.lid;
  }
  std::span<unsigned char> incoming() override { return {parts_->memory.get(), kAllBytes}; }
  std::span<unsigned char> outgoing() override { return {parts_->memory.get() + kAllBytes, kAllBytes}; }

  // The kernel asks for the peer's MAC address, for long where nobody answers: a thread waits for it.
  void connect(const LinkWord& peer, int mtu) override {
    peer_key_ = static_cast<std::uint32_t>(peer.key.value_or(0));
    std::packaged_task<int()> task([parts = parts_, receive = receiving(peer, mtu)] {
      return modify(parts->queue_pair.get(), receive);
    });
    connecting_ = task.get_future();
    try {
      std::thread(std::move(task)).detach();
    } catch (const std::system_error& refused) {  // the container may start no more
      std::promise<int> none;
      none.set_value(refused.code().value());
      connecting_ = none.get_future();
    }
  }

  void write(int bytes) override {
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
    if (connecting_.valid()) {
      if (connecting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
      return connecting_.get();
    }
    if (!posted_) return kNotPosted;
    ibv_wc completion{};
    const int count = ibv_poll_cq(parts_->completions.get(), 1, &completion);
    if (count == 0) return std::nullopt;
    return count < 0 ? kNotPosted : static_cast<int>(completion.status);
  }

 private:
  // 0, or an errno.
  static int modify(ibv_qp* queue_pair, ibv_qp_attr receive) {
    const int error = ibv_modify_qp(queue_pair, &receive,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) return error;
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.timeout = kTimeout;
    send.retry_cnt = send.rnr_retry = kRetries;
    send.max_rd_atomic = 1;
    return ibv_modify_qp(queue_pair, &send,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC);
  }

  // Packets are counted from 0, as NCCL's are.
  [[nodiscard]] ibv_qp_attr receiving(const LinkWord& peer, int mtu) const {
    const Gid gid = peer.gid.value_or(Gid()), own = rail_.told.gid.value_or(Gid());
    ibv_qp_attr receive{};
    receive.qp_state = IBV_QPS_RTR;
    receive.path_mtu = mtu_of(mtu);
    receive.dest_qp_num = static_cast<std::uint32_t>(peer.queue_pair.value_or(0));
    receive.max_dest_rd_atomic = 1;
    receive.min_rnr_timer = kReceiverPause;
    ibv_ah_attr& way = receive.ah_attr;
    way.port_num = static_cast<std::uint8_t>(rail_.told.port);
    way.sl = static_cast<std::uint8_t>(rail_.service_level);
    way.dlid = static_cast<std::uint16_t>(peer.lid.value_or(0));
    // InfiniBand needs addresses only between subnets, whose prefixes are half of a GID.
    way.is_global = !peer.lid || !std::equal(gid.bytes.begin(), gid.bytes.begin() + 8, own.bytes.begin());
    std::memcpy(way.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
    way.grh.sgid_index = static_cast<std::uint8_t>(rail_.told.gid_index.value_or(0));
    way.grh.hop_limit = kHopLimit;
    way.grh.traffic_class = static_cast<std::uint8_t>(rail_.traffic_class);
    return receive;
  }

  const std::shared_ptr<Parts> parts_;
  const OwnRail rail_;
  std::uint32_t peer_key_ = 0;
  std::future<int> connecting_;
  bool posted_ = true;
};

using Contexts = std::map<std::string, std::shared_ptr<ibv_context>>;  // by device

// Null with errno.
std::shared_ptr<ibv_context> open_device(const std::string& hca, Contexts& opened) {
  if (const auto known = opened.find(hca); known != opened.end()) return known->second;
  errno = ENODEV;  // of a device that is not listed
  const Owned<ibv_device*, ibv_free_device_list> list(ibv_get_device_list(nullptr));
  for (ibv_device** device = list.get(); device && *device; ++device) {
    if (ibv_get_device_name(*device) != hca) continue;
    ibv_context* const context = ibv_open_device(*device);
    if (!context) break;
    return opened[hca] = std::shared_ptr<ibv_context>(context, ibv_close_device);
  }
  return {};
}

MadeQueuePair make_queue_pair(const OwnRail& rail, Contexts& opened) {
  auto parts = std::make_shared<Parts>();
  const auto number = static_cast<std::uint8_t>(rail.told.port);
  parts->context = open_device(rail.told.hca, opened);
  if (!parts->context) return RailFault{ProofStep::Open, errno};
  if (const int error = ibv_query_port(parts->context.get(), number, &parts->port); error != 0)
    return RailFault{ProofStep::Port, error};
  if (parts->port.state != IBV_PORT_ACTIVE) return RailFault{ProofStep::Port, {}};
  void* memory = ::mmap(nullptr, 2 * kAllBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return RailFault{ProofStep::Memory, errno};
  parts->memory.reset(static_cast<unsigned char*>(memory));
  parts->domain.reset(ibv_alloc_pd(parts->context.get()));
  if (!parts->domain) return RailFault{ProofStep::Memory, errno};
  // Addresses of the region begin at 0, so that the peer has to know its key alone.
  parts->region.reset(ibv_reg_mr_iova(parts->domain.get(), memory, 2 * kAllBytes, 0,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!parts->region) return RailFault{ProofStep::Memory, errno};
  parts->completions.reset(ibv_create_cq(parts->context.get(), 4, nullptr, nullptr, 0));
  if (!parts->completions) return RailFault{ProofStep::Queue, errno};
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = parts->completions.get();
  wanted.cap = {2, 1, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  parts->queue_pair.reset(ibv_create_qp(parts->domain.get(), &wanted));
  if (!parts->queue_pair) return RailFault{ProofStep::Queue, errno};
  ibv_qp_attr first{};
  first.qp_state = IBV_QPS_INIT;
  first.pkey_index = static_cast<std::uint16_t>(rail.partition);
  first.port_num = number;
  first.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (const int error = ibv_modify_qp(parts->queue_pair.get(), &first,
                                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
      error != 0)
    return RailFault{ProofStep::Queue, error};
  return std::make_unique<RealQueuePair>(std::move(parts), rail);
}

}  // namespace

MakeQueuePair open_libibverbs() {
  return [opened = Contexts()](const OwnRail& rail) mutable { return make_queue_pair(rail, opened); };
}

}  // namespace nccl_env::packets
