#include "bench/hca/verbs_port.h"

#include <bit>
#include <cstdio>
#include <cstdlib>

#include "benchmark/benchmark.h"
#include "weir/hca_control/hca_control.h"

namespace weir {
namespace {

void Must(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

ibv_context* Open(const std::string& key) {
  char name[64] = "";
  char text[256] = "";
  weir_hca_add_device(key.c_str(), name, text, sizeof(text));
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* context = nullptr;
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::string(ibv_get_device_name(*at)) == name) {
      context = ibv_open_device(*at);
    }
  }
  ibv_free_device_list(list);
  Must(context != nullptr, key.c_str());
  return context;
}

void SetState(ibv_qp* qp, ibv_qp_state state, int more) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.port_num = 1;
  Must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | more) == 0, "ibv_modify_qp");
}

}  // namespace

VerbsPort::VerbsPort(const std::string& key, size_t frame_bytes)
    : memory_((kChunks + 1) * kChunkBytes, std::byte{0x5a}),
      context_(Open(key)),
      pd_(ibv_alloc_pd(context_)),
      mr_(ibv_reg_mr(pd_, memory_.data(), memory_.size(),
                     IBV_ACCESS_LOCAL_WRITE)),
      rx_cq_(ibv_create_cq(context_, kDepth, nullptr, nullptr, 0)),
      tx_cq_(ibv_create_cq(context_, kDepth, nullptr, nullptr, 0)) {
  CreateQueuePair();
  Link();
  for (ibv_sge& sge : send_sges_) {
    // All from one buffer, as a generator does.
    sge.addr = AddressOf(kChunks);
    sge.length = static_cast<uint32_t>(frame_bytes);
  }
}

VerbsPort::~VerbsPort() {
  ibv_destroy_flow(flow_);
  ibv_destroy_qp(qp_);
  ibv_destroy_cq(tx_cq_);
  ibv_destroy_cq(rx_cq_);
  ibv_dereg_mr(mr_);
  ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

void VerbsPort::CreateQueuePair() {
  ibv_qp_init_attr attr{};
  attr.send_cq = tx_cq_;
  attr.recv_cq = rx_cq_;
  attr.cap = {.max_send_wr = kDepth,
              .max_recv_wr = kDepth,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  qp_ = ibv_create_qp(pd_, &attr);
  Must(qp_ != nullptr, "ibv_create_qp");
  SetState(qp_, IBV_QPS_INIT, IBV_QP_PORT);
  SetState(qp_, IBV_QPS_RTR, 0);
  SetState(qp_, IBV_QPS_RTS, 0);
  ibv_flow_attr rule{};
  rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  rule.size = sizeof(rule);
  rule.port = 1;
  flow_ = ibv_create_flow(qp_, &rule);
  Must(flow_ != nullptr, "ibv_create_flow");
}

void VerbsPort::Link() {
  for (size_t i = 0; i < kMaxBurst; ++i) {
    receive_sges_[i] = {.addr = 0, .length = kChunkBytes, .lkey = mr_->lkey};
    send_sges_[i] = receive_sges_[i];
    receives_[i].sg_list = &receive_sges_[i];
    sends_[i].sg_list = &send_sges_[i];
    receives_[i].num_sge = sends_[i].num_sge = 1;
    sends_[i].opcode = IBV_WR_SEND;
    if (i + 1 == kMaxBurst) break;
    receives_[i].next = &receives_[i + 1];
    sends_[i].next = &sends_[i + 1];
  }
  Refill(kMaxBurst);
}

// `index` from 0 to kChunks - 1 for buffers of receives, kChunks for sends.
uint64_t VerbsPort::AddressOf(uint64_t index) const {
  return std::bit_cast<uint64_t>(memory_.data()) + index * kChunkBytes;
}

size_t VerbsPort::Send(size_t count) {
  if (bursts_ == kMaxBursts) ReapSends();
  if (bursts_ == kMaxBursts) return 0;
  PostSends(count);
  ReapSends();
  return count;
}

size_t VerbsPort::Receive(size_t max) {
  const std::span<const ibv_wc> done = Poll(max);
  if (done.empty()) return 0;
  uint64_t sum = 0;
  for (const ibv_wc& each : done) {
    sum += each.byte_len +
           std::to_integer<uint64_t>(memory_[each.wr_id * kChunkBytes]);
  }
  benchmark::DoNotOptimize(sum);
  Refill(done.size());
  return done.size();
}

size_t VerbsPort::Forward(size_t max) {
  const std::span<const ibv_wc> done = Poll(max);
  if (done.empty()) return 0;
  for (size_t i = 0; i < done.size(); ++i) {
    send_sges_[i].addr = AddressOf(done[i].wr_id);
    send_sges_[i].length = done[i].byte_len;
  }
  PostSends(done.size());
  ReapSends();
  Refill(done.size());
  return done.size();
}

std::span<const ibv_wc> VerbsPort::Poll(size_t max) {
  const int got = ibv_poll_cq(rx_cq_, static_cast<int>(max), done_.data());
  Must(got >= 0, "ibv_poll_cq");
  return std::span(done_).first(static_cast<size_t>(got));
}

void VerbsPort::PostSends(size_t count) {
  ibv_send_wr& last = sends_[count - 1];
  ibv_send_wr* const next = last.next;
  last.next = nullptr;
  last.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  Must(ibv_post_send(qp_, sends_.data(), &bad) == 0, "ibv_post_send");
  last.send_flags = 0;
  last.next = next;
  ++bursts_;
}

void VerbsPort::ReapSends() {
  std::array<ibv_wc, kMaxBursts> sent;
  const int got = ibv_poll_cq(tx_cq_, kMaxBursts, sent.data());
  Must(got >= 0, "ibv_poll_cq");
  bursts_ -= static_cast<size_t>(got);
}

void VerbsPort::Refill(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    receive_sges_[i].addr = AddressOf(next_);
    receives_[i].wr_id = next_;
    next_ = (next_ + 1) % kChunks;
  }
  ibv_recv_wr& last = receives_[count - 1];
  ibv_recv_wr* const next = last.next;
  last.next = nullptr;
  ibv_recv_wr* bad = nullptr;
  Must(ibv_post_recv(qp_, receives_.data(), &bad) == 0, "ibv_post_recv");
  last.next = next;
}

}  // namespace weir
