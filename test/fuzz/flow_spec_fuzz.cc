// Flow rules of any bytes, and frames of any bytes against them, through the
// public API. The input is a program of steps, each an opcode byte, a length
// byte and that many bytes:
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
#include <span>
#include <vector>

#include "test/fuzz/fuzz_device.h"
#include "test/fuzz/input.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMaxFlows = 16;
constexpr size_t kReceives = 24;

// What counts a received frame: each once.
constexpr std::array kOutcomes = {"rx_delivered",  "unmatched",
                                  "out_of_buffer", "rx_oversize",
                                  "rx_not_ready",  "rx_errors"};

// A flow attribute in memory of its own: reads behind what its specs say are
// found by the sanitizers.
class Attribute {
 public:
  explicit Attribute(std::span<const uint8_t> bytes)
      : memory_(std::max(bytes.size(), sizeof(ibv_flow_attr)) + kTailBytes) {
    std::memcpy(memory_.data(), bytes.data(), bytes.size());
    DropPointers();
  }

  ibv_flow_attr* get() {
    return reinterpret_cast<ibv_flow_attr*>(memory_.data());
  }

 private:
  // The longest spec, cut after its header, and a header that ends the walk.
  static constexpr size_t kTailBytes = sizeof(ibv_flow_spec) + 8;

  // Pointers in action specs are the caller's promise, not input.
  void DropPointers() {
    size_t at = sizeof(ibv_flow_attr);
    while (at + sizeof(ibv_flow_spec_counter_action) <= memory_.size()) {
      uint32_t type = 0;
      uint16_t size = 0;
      std::memcpy(&type, memory_.data() + at, sizeof(type));
      std::memcpy(&size, memory_.data() + at + sizeof(type), sizeof(size));
      if (type == IBV_FLOW_SPEC_ACTION_COUNT ||
          type == IBV_FLOW_SPEC_ACTION_HANDLE) {
        std::memset(memory_.data() + at + 8, 0, sizeof(void*));
      }
      if (size == 0) return;
      at += size;
    }
  }

  std::vector<uint8_t> memory_;
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
    while (!input.empty()) {
      const uint8_t step = input.Byte() % 4;
      const auto bytes = input.Take(input.Byte());
      if (step <= 1) {
        Create(to_[step], bytes);
      } else if (step == 2) {
        SendFrame(bytes);
      } else if (!bytes.empty()) {
        Destroy(bytes[0]);
      }
    }
    while (!flows_.empty()) Destroy(0);
  }

 private:
  void Create(ibv_qp* qp, std::span<const uint8_t> bytes) {
    if (flows_.size() == kMaxFlows) return;
    Attribute attribute(bytes);
    errno = 0;
    ibv_flow* flow = ibv_create_flow(qp, attribute.get());
    if (flow != nullptr) {
      flows_.push_back(flow);
    } else {
      Require(errno == EINVAL || errno == EOPNOTSUPP || errno == EEXIST,
              "a refused rule has a reason");
    }
  }

  void Destroy(size_t index) {
    if (flows_.empty()) return;
    const auto at =
        flows_.begin() + static_cast<ptrdiff_t>(index % flows_.size());
    Require(ibv_destroy_flow(*at) == 0, "a flow can be destroyed");
    flows_.erase(at);
  }

  void SendFrame(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    const uint64_t before = Outcomes();
    sender_.Send(from_, bytes);
    for (const ibv_wc& wc : receiver_.Drain()) {
      Require(wc.status == IBV_WC_SUCCESS && wc.byte_len == bytes.size(),
              "a frame arrives whole");
      ibv_qp* qp = wc.qp_num == to_[0]->qp_num ? to_[0] : to_[1];
      receiver_.PostReceive(qp, wc.wr_id);
    }
    Require(Outcomes() == before + 1, "a frame has one outcome");
    Require(receiver_.Counter("rx_frames") == before + 1,
            "a received frame is counted");
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
  std::vector<ibv_flow*> flows_;
};

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const rig = new weir::fuzz::Rig;
  rig->Run({data, size});
  return 0;
}
