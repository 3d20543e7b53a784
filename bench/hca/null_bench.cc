// What the verbs objects of the software HCA cost a forwarder: receive, refill,
// send and reap on a null device, per packet.

#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "weir/hca_control/hca_control.h"

namespace {

constexpr size_t kChunkBytes = 2048;
constexpr uint32_t kDepth = 1024;
// As few as a pool that hands out the newest first would use.
constexpr size_t kChunks = 256;
constexpr int kMaxBurst = 64;

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
  return context;
}

// One queue pair that takes everything, with linked arrays of work requests as
// a forwarder keeps them.
class Forwarder {
 public:
  Forwarder(const std::string& key, int burst)
      : burst_(burst), memory_(kChunks * kChunkBytes) {
    ibv_context* context = Open(key);
    ibv_pd* pd = ibv_alloc_pd(context);
    mr_ =
        ibv_reg_mr(pd, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    rx_cq_ = ibv_create_cq(context, kDepth, nullptr, nullptr, 0);
    tx_cq_ = ibv_create_cq(context, kDepth, nullptr, nullptr, 0);
    ibv_qp_init_attr attr{};
    attr.send_cq = tx_cq_;
    attr.recv_cq = rx_cq_;
    attr.cap = {.max_send_wr = kDepth,
                .max_recv_wr = kDepth,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    qp_ = ibv_create_qp(pd, &attr);
    ibv_qp_attr state{};
    state.port_num = 1;
    state.qp_state = IBV_QPS_INIT;
    ibv_modify_qp(qp_, &state, IBV_QP_STATE | IBV_QP_PORT);
    state.qp_state = IBV_QPS_RTR;
    ibv_modify_qp(qp_, &state, IBV_QP_STATE);
    state.qp_state = IBV_QPS_RTS;
    ibv_modify_qp(qp_, &state, IBV_QP_STATE);
    ibv_flow_attr rule{};
    rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    rule.size = sizeof(rule);
    rule.port = 1;
    ibv_create_flow(qp_, &rule);
    Link();
  }

  // Forwards one burst; returns how many frames that was.
  int Step() {
    std::array<ibv_wc, kMaxBurst> done;
    const int got = ibv_poll_cq(rx_cq_, burst_, done.data());
    if (got <= 0) return 0;
    for (int i = 0; i < got; ++i) {
      const size_t at = static_cast<size_t>(i);
      send_sges_[at].addr = AddressOf(done[at].wr_id);
      send_sges_[at].length = done[at].byte_len;
    }
    ibv_send_wr& last = sends_[static_cast<size_t>(got - 1)];
    last.next = nullptr;
    last.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad_send = nullptr;
    ibv_post_send(qp_, sends_.data(), &bad_send);
    last.send_flags = 0;
    if (got < kMaxBurst) last.next = &last + 1;
    ibv_wc sent;
    ibv_poll_cq(tx_cq_, 1, &sent);
    Refill(got);
    return got;
  }

  void Refill(int count) {
    for (int i = 0; i < count; ++i) {
      const size_t at = static_cast<size_t>(i);
      receive_sges_[at].addr = AddressOf(next_);
      receives_[at].wr_id = next_++;
    }
    ibv_recv_wr& last = receives_[static_cast<size_t>(count - 1)];
    last.next = nullptr;
    ibv_recv_wr* bad = nullptr;
    ibv_post_recv(qp_, receives_.data(), &bad);
    if (count < kMaxBurst) last.next = &last + 1;
  }

 private:
  uint64_t AddressOf(uint64_t index) const {
    return std::bit_cast<uint64_t>(memory_.data()) +
           index % kChunks * kChunkBytes;
  }

  void Link() {
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
    for (uint32_t i = 0; i < 64; i += 32) Refill(32);
  }

  int burst_;
  std::vector<std::byte> memory_;
  ibv_mr* mr_ = nullptr;
  ibv_cq* rx_cq_ = nullptr;
  ibv_cq* tx_cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  uint64_t next_ = 0;
  std::array<ibv_sge, kMaxBurst> receive_sges_{};
  std::array<ibv_sge, kMaxBurst> send_sges_{};
  std::array<ibv_recv_wr, kMaxBurst> receives_{};
  std::array<ibv_send_wr, kMaxBurst> sends_{};
};

void ForwardOnNull(benchmark::State& state) {
  Forwarder forwarder("null:,size=" + std::to_string(state.range(1)),
                      static_cast<int>(state.range(0)));
  int64_t packets = 0;
  for (auto _ : state) packets += forwarder.Step();
  state.SetItemsProcessed(packets);
  state.counters["per_packet"] = benchmark::Counter(
      static_cast<double>(packets),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(ForwardOnNull)
    ->ArgNames({"burst", "bytes"})
    ->ArgsProduct({{1, 4, 32}, {64, 1500}});

}  // namespace
