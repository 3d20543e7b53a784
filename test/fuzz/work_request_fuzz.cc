// Work requests of any shape, and state changes between them, through the
// public API. The input is a program of steps; see Rig::Step. What has to hold:
// a request completes once and in order, what arrives was sent, whole and in
// order, nothing is written beside a posted buffer, every frame is counted.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "test/fuzz/fuzz_device.h"
#include "test/fuzz/fuzz_memory.h"
#include "test/fuzz/input.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMaxRequests = 4;
constexpr size_t kMaxSges = 4;
constexpr uint32_t kMaxInlineBytes = 128;
// As libFuzzer makes them by itself; TargetMemory has buffers for so much.
constexpr size_t kMaxInputBytes = 4096;
// What a request says in num_sge.
constexpr std::array kSgeCounts = {1, 1, 1, 0, 2, -1, 65, 4};
constexpr std::array kOpcodes = {
    IBV_WR_SEND,       IBV_WR_SEND,          IBV_WR_SEND,
    IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,     IBV_WR_TSO,
    IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM, IBV_WR_LOCAL_INV};

// What counts a received frame: each once.
constexpr std::array kOutcomes = {
    "rx_delivered", "unmatched", "out_of_buffer", "rx_oversize",
    "rx_not_ready", "rx_errors", "rx_cq_overrun"};

// A list of requests of one direction, with its SGEs.
template <typename Wr>
struct RequestList {
  std::array<Wr, kMaxRequests> requests{};
  std::array<std::array<ibv_sge, kMaxSges>, kMaxRequests> sges{};
  size_t count = 0;

  Wr* Link() {
    for (size_t i = 0; i < count; ++i) {
      requests[i].sg_list = sges[i].data();
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
    }
    return requests.data();
  }
  // How many stand before `bad`, all if the call did not fail.
  size_t Accepted(int error, const Wr* bad) const {
    if (error == 0) return count;
    Require(bad >= requests.data() && bad < requests.data() + count,
            "bad_wr is one of the list");
    return static_cast<size_t>(bad - requests.data());
  }
};

class Rig {
 public:
  Rig()
      : sender_(FuzzWire("work_request").c_str()),
        receiver_(FuzzWire("work_request").c_str()),
        from_(sender_.AddQueuePair(kMaxSges, kMaxInlineBytes)),
        to_(receiver_.AddQueuePair(kMaxSges)),
        source_(sender_.pd),
        target_(receiver_.pd) {
    ibv_flow_attr all{};
    all.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    all.size = sizeof(all);
    all.port = 1;
    flow_ = ibv_create_flow(to_, &all);
    Require(flow_ != nullptr, "there is a rule for all");
  }

  void Run(Input input) {
    Restart();
    while (!input.empty()) Step(input);
    PollSends();
    PollReceives();
    const uint64_t frames = receiver_.Counter("rx_frames");
    uint64_t outcomes = 0;
    for (const char* name : kOutcomes) outcomes += receiver_.Counter(name);
    Require(frames == outcomes, "every frame has one outcome");
  }

 private:
  void Step(Input& input) {
    switch (input.Byte() % 7) {
      case 0:
      case 1:
        return PostSends(input);
      case 2:
        return PostReceives(input);
      case 3:
        return PollSends();
      case 4:
        return PollReceives();
      case 5:
        return Modify(from_, input);
      default:
        return Modify(to_, input);
    }
  }

  // Both queue pairs as new, the medium empty.
  void Restart() {
    for (ibv_qp* qp : {from_, to_}) Enter(qp, IBV_QPS_RESET);
    // With nowhere to go, what is in the medium is dropped and counted.
    while (receiver_.Drain().size() + Dropped() > 0) {
    }
    for (ibv_qp* qp : {from_, to_}) {
      for (const ibv_qp_state state :
           {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        Enter(qp, state);
      }
    }
    sends_.clear();
    receives_.clear();
    sent_.clear();
  }

  // Frames that the last poll dropped.
  size_t Dropped() {
    const uint64_t before = receiver_.Counter("rx_frames");
    receiver_.Drain();
    return receiver_.Counter("rx_frames") - before;
  }

  void Enter(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = 1;
    const int mask =
        state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE;
    Require(ibv_modify_qp(qp, &attr, mask) == 0, "the way up is open");
  }

  void Modify(ibv_qp* qp, Input& input) {
    ibv_qp_attr attr{};
    attr.qp_state = static_cast<ibv_qp_state>(input.Byte() % 8);
    attr.cur_qp_state = static_cast<ibv_qp_state>(input.Byte() % 8);
    attr.port_num = 1;
    // Mostly what the states want.
    int mask = attr.qp_state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT
                                             : IBV_QP_STATE;
    const uint8_t odd = input.Byte();
    if (odd >= 128) mask ^= 1 << (odd % 25);
    const bool reset = attr.qp_state == IBV_QPS_RESET;
    if (ibv_modify_qp(qp, &attr, mask) != 0 || !reset) return;
    // A reset takes along what was posted.
    if ((mask & IBV_QP_STATE) == 0) return;
    if (qp == from_) {
      sends_.clear();
    } else {
      receives_.clear();
    }
  }

  void PostSends(Input& input) {
    RequestList<ibv_send_wr> list;
    list.count = 1 + input.Byte() % kMaxRequests;
    for (size_t i = 0; i < list.count; ++i) {
      ibv_send_wr& wr = list.requests[i];
      wr.wr_id = next_id_++;
      wr.num_sge = kSgeCounts[input.Byte() % kSgeCounts.size()];
      wr.opcode = kOpcodes[input.Byte() % kOpcodes.size()];
      wr.send_flags = input.Byte() & 0x1f;
      for (ibv_sge& sge : list.sges[i]) sge = source_.Sge(input);
      // An inline address is a promise of the program, whatever its key is.
      if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
        for (ibv_sge& sge : list.sges[i]) sge = source_.Clamp(sge);
      }
    }
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(from_, list.Link(), &bad);
    Require(error == 0 || error == EINVAL || error == ENOMEM,
            "a refused send has a reason");
    const size_t accepted = list.Accepted(error, bad);
    for (size_t i = 0; i < accepted; ++i) {
      const ibv_send_wr& wr = list.requests[i];
      sends_[wr.wr_id] = (wr.send_flags & IBV_SEND_SIGNALED) != 0;
      const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
      sent_.push_back(source_.Gather(
          {list.sges[i].data(), static_cast<size_t>(wr.num_sge)}, is_inline));
    }
  }

  void PostReceives(Input& input) {
    RequestList<ibv_recv_wr> list;
    list.count = 1 + input.Byte() % kMaxRequests;
    for (size_t i = 0; i < list.count; ++i) {
      list.requests[i].wr_id = next_id_++;
      list.requests[i].num_sge = kSgeCounts[input.Byte() % kSgeCounts.size()];
      for (ibv_sge& sge : list.sges[i]) sge = target_.NextBuffer(input);
    }
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(to_, list.Link(), &bad);
    Require(error == 0 || error == EINVAL || error == ENOMEM,
            "a refused receive has a reason");
    const size_t accepted = list.Accepted(error, bad);
    for (size_t i = 0; i < accepted; ++i) {
      const ibv_recv_wr& wr = list.requests[i];
      receives_[wr.wr_id].assign(wr.sg_list, wr.sg_list + wr.num_sge);
    }
  }

  void PollSends() {
    for (const ibv_wc& wc : sender_.Drain()) {
      const auto at = sends_.find(wc.wr_id);
      Require(at != sends_.end(), "a send completes once, in order");
      Require(at->second || wc.status != IBV_WC_SUCCESS,
              "only a failure completes unasked");
      // What stands before was done without a word.
      for (auto done = sends_.begin(); done != at; ++done) {
        Require(!done->second, "no completion is left out");
      }
      sends_.erase(sends_.begin(), std::next(at));
    }
  }

  void PollReceives() {
    for (const ibv_wc& wc : receiver_.Drain()) {
      Require(!receives_.empty() && receives_.begin()->first == wc.wr_id,
              "receives complete once, in order");
      const std::vector<ibv_sge> sges = receives_.begin()->second;
      receives_.erase(receives_.begin());
      if (wc.status != IBV_WC_SUCCESS) continue;
      const std::string got = target_.Take(sges, wc.byte_len);
      const auto frame = std::ranges::find(sent_, got);
      Require(frame != sent_.end(), "what arrives was sent, in order");
      sent_.erase(sent_.begin(), std::next(frame));
    }
  }

  FuzzDevice sender_;
  FuzzDevice receiver_;
  ibv_qp* from_;
  ibv_qp* to_;
  ibv_flow* flow_ = nullptr;
  SourceMemory source_;
  TargetMemory target_;
  uint64_t next_id_ = 1;
  // What is not complete: by wr_id, whether it wants to complete; its buffers.
  std::map<uint64_t, bool> sends_;
  std::map<uint64_t, std::vector<ibv_sge>> receives_;
  // Frames that may still arrive.
  std::deque<std::string> sent_;
};

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const rig = new weir::fuzz::Rig;
  if (size <= weir::fuzz::kMaxInputBytes) rig->Run({data, size});
  return 0;
}
