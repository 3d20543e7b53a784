// Flow rules of any bytes, and frames of any bytes against them, through the
// public API; a slow reference says what should come of them. The input is a
// program of steps, each an opcode byte, a length byte and that many bytes:
//   0, 1  create a flow on the first or second queue pair; the bytes are the
//         ibv_flow_attr with its specs, zeros behind
//   2     send a frame of these bytes
//   3     destroy the flow whose position is the first of these bytes

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "test/fuzz/fuzz_device.h"
#include "test/fuzz/input.h"
#include "test/support/naive_flows.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMaxFlows = 16;
constexpr size_t kReceives = 24;

// What counts a received frame: each once.
constexpr std::array kOutcomes = {
    "rx_delivered", "unmatched",    "rx_flow_dropped", "out_of_buffer",
    "rx_oversize",  "rx_not_ready", "rx_errors",       "rx_cq_overrun"};

// A flow attribute in memory of its own: reads behind what its specs say are
// found by the sanitizers. Pointers in specs are the caller's promise, not
// input: they become `counters`, or null if they were.
class Attribute {
 public:
  Attribute(std::span<const uint8_t> bytes, ibv_counters* counters)
      : memory_(std::max(bytes.size(), sizeof(ibv_flow_attr)) + kTailBytes) {
    std::memcpy(memory_.data(), bytes.data(), bytes.size());
    size_t at = sizeof(ibv_flow_attr);
    while (at + sizeof(ibv_flow_spec_counter_action) <= memory_.size()) {
      uint32_t type = 0;
      uint16_t size = 0;
      std::memcpy(&type, memory_.data() + at, sizeof(type));
      std::memcpy(&size, memory_.data() + at + sizeof(type), sizeof(size));
      uint8_t* const pointer = memory_.data() + at + 8;
      if (type == IBV_FLOW_SPEC_ACTION_COUNT && *pointer != 0) {
        std::memcpy(pointer, &counters, sizeof(counters));
      } else if (type == IBV_FLOW_SPEC_ACTION_COUNT) {
        std::memset(pointer, 0, sizeof(counters));
      }
      if (size == 0) return;
      at += size;
    }
  }

  std::span<const uint8_t> bytes() const { return memory_; }
  ibv_flow_attr* get() {
    return reinterpret_cast<ibv_flow_attr*>(memory_.data());
  }

 private:
  // The longest spec, cut after its header, and a header that ends the walk.
  static constexpr size_t kTailBytes = sizeof(ibv_flow_spec) + 8;

  std::vector<uint8_t> memory_;
};

// A flow, and what it should have counted.
struct Flow {
  ibv_flow* flow;
  int id;
  ibv_counters* counters;
  bool counts;
  std::array<uint64_t, 2> expected{};
};

// Two queue pairs at one end of a wire, a sender at the other.
class Rig {
 public:
  Rig()
      : sender_(FuzzWire("flow_spec").c_str()),
        receiver_(FuzzWire("flow_spec").c_str()),
        from_(sender_.AddQueuePair()) {
    for (ibv_qp*& qp : to_) {
      qp = receiver_.AddQueuePair();
      for (size_t i = 0; i < kReceives; ++i) receiver_.PostReceive(qp, i);
    }
  }

  void Run(Input input) {
    reference_ = {};
    while (!input.empty()) {
      const uint8_t step = input.Byte() % 4;
      const auto bytes = input.Take(input.Byte());
      if (step <= 1) {
        Create(step, bytes);
      } else if (step == 2) {
        SendFrame(bytes);
      } else if (!bytes.empty()) {
        Destroy(bytes[0]);
      }
    }
    while (!flows_.empty()) Destroy(0);
  }

 private:
  void Create(size_t receiver, std::span<const uint8_t> bytes) {
    if (flows_.size() == kMaxFlows) return;
    ibv_counters* counters = MakeCounters();
    Attribute attribute(bytes, counters);
    NaiveRule rule;
    int expected = NaiveRead(attribute.bytes(), rule);
    if (expected == 0) {
      expected = reference_.Add(rule, static_cast<int>(receiver), next_id_);
    }
    errno = 0;
    ibv_flow* flow = ibv_create_flow(to_[receiver], attribute.get());
    Require((flow != nullptr) == (expected == 0), "a rule is taken or refused");
    if (flow == nullptr) {
      Require(errno == expected, "a refused rule has its reason");
      Require(ibv_destroy_counters(counters) == 0, "counters are unused");
      return;
    }
    flows_.push_back({.flow = flow,
                      .id = next_id_++,
                      .counters = counters,
                      .counts = rule.counts});
  }

  ibv_counters* MakeCounters() {
    ibv_counters_init_attr init{};
    ibv_counters* counters = ibv_create_counters(receiver_.context, &init);
    Require(counters != nullptr, "counters are made");
    ibv_counter_attach_attr attach{};
    attach.counter_desc = IBV_COUNTER_PACKETS;
    Require(ibv_attach_counters_point_flow(counters, &attach, nullptr) == 0,
            "packets are counted");
    attach.counter_desc = IBV_COUNTER_BYTES;
    attach.index = 1;
    Require(ibv_attach_counters_point_flow(counters, &attach, nullptr) == 0,
            "bytes are counted");
    return counters;
  }

  void Destroy(size_t index) {
    if (flows_.empty()) return;
    const auto at =
        flows_.begin() + static_cast<ptrdiff_t>(index % flows_.size());
    Require(ibv_destroy_flow(at->flow) == 0, "a flow can be destroyed");
    Require(ibv_destroy_counters(at->counters) == 0, "counters are unused");
    reference_.Remove(at->id);
    flows_.erase(at);
  }

  void SendFrame(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    const auto expected = reference_.Find(bytes);
    const uint64_t before = Outcomes();
    const uint64_t dropped = receiver_.Counter("rx_flow_dropped");
    sender_.Send(from_, bytes);
    std::vector<int> receivers;
    for (const ibv_wc& wc : receiver_.Drain()) {
      Require(wc.status == IBV_WC_SUCCESS && wc.byte_len == bytes.size(),
              "a frame arrives whole");
      const size_t which = wc.qp_num == to_[0]->qp_num ? 0 : 1;
      receivers.push_back(static_cast<int>(which));
      receiver_.PostReceive(to_[which], wc.wr_id);
    }
    std::ranges::sort(receivers);
    Require(std::ranges::equal(receivers, expected.copies, {}, {},
                               &NaiveSteering::Copy::first),
            "a frame goes where the reference says");
    Require(Outcomes() == before + 1, "a frame has one outcome");
    Require(receiver_.Counter("rx_frames") == before + 1,
            "a received frame is counted");
    const bool drops = expected.dropped && expected.copies.empty();
    Require(receiver_.Counter("rx_flow_dropped") == dropped + (drops ? 1 : 0),
            "a dropped frame is counted");
    CompareCounts(expected.ids, bytes.size());
  }

  void CompareCounts(const std::set<int>& ids, size_t bytes) {
    for (Flow& flow : flows_) {
      if (flow.counts && ids.contains(flow.id)) {
        flow.expected[0] += 1;
        flow.expected[1] += bytes;
      }
      std::array<uint64_t, 2> actual{};
      Require(ibv_read_counters(flow.counters, actual.data(), 2, 0) == 0,
              "counters can be read");
      Require(actual == flow.expected, "a rule counts its frames");
    }
  }

  uint64_t Outcomes() {
    uint64_t sum = 0;
    for (const char* name : kOutcomes) sum += receiver_.Counter(name);
    return sum;
  }

  FuzzDevice sender_;
  FuzzDevice receiver_;
  ibv_qp* from_;
  std::array<ibv_qp*, 2> to_{};
  std::vector<Flow> flows_;
  NaiveSteering reference_;
  int next_id_ = 0;
};

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const rig = new weir::fuzz::Rig;
  rig->Run({data, size});
  return 0;
}
