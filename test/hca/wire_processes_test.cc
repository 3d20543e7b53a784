// Processes on one wire, each with a thread that sends and one that receives
// through the verbs; of use above all under the sanitizers.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/child_process.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr uint64_t kFrames = 3000;
constexpr size_t kSlots = VerbsRig::kBuffers / 2;

// What each frame carries behind its addresses and EtherType.
struct Label {
  uint64_t sender;
  uint64_t number;
};
constexpr size_t kLabelOffset = 14;

// One device. Sends from the second half of the rig's buffers on a queue pair
// with a completion queue of its own, receives into the first half on the
// rig's.
class Station {
 public:
  Station(const std::string& key, uint64_t id)
      : rig_({.key = key}),
        send_cq_(ibv_create_cq(rig_.context, 256, nullptr, nullptr, 0)),
        id_(id) {
    rig_.MoveTo(IBV_QPS_RTS);
    rig_.TakeEverything();
    for (size_t slot = 0; slot < kSlots; ++slot) {
      EXPECT_EQ(rig_.PostReceive(slot), 0);
    }
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = send_cq_;
    init.cap = rig_.cap;
    init.qp_type = IBV_QPT_RAW_PACKET;
    // The rig brings up whatever is in its place.
    receive_qp_ = std::exchange(rig_.qp, ibv_create_qp(rig_.pd, &init));
    rig_.MoveTo(IBV_QPS_RTS);
    send_qp_ = std::exchange(rig_.qp, receive_qp_);
  }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;
  ~Station() {
    EXPECT_EQ(ibv_destroy_qp(send_qp_), 0);
    EXPECT_EQ(ibv_destroy_cq(send_cq_), 0);
  }

  // Sends kFrames frames and receives as many from each of `others`; true if
  // all came, whole and in order.
  bool Run(size_t others) {
    std::atomic<bool> sent_well = false;
    std::jthread sender([&] { sent_well = SendAll(); });
    const bool received_well = ReceiveAll(others);
    sender.join();
    return sent_well && received_well;
  }

 private:
  static uint32_t BytesOf(uint64_t number) {
    return static_cast<uint32_t>(60 + number % 1400);
  }
  static std::byte PatternOf(const Label& label) {
    return static_cast<std::byte>(label.number * 7 + label.sender);
  }

  bool SendAll() {
    uint64_t done = 0;
    for (uint64_t number = 0; done < kFrames;) {
      if (number < kFrames && number - done < kSlots) {
        const size_t slot = kSlots + number % kSlots;
        const std::span<std::byte> frame =
            rig_.Buffer(slot).first(BytesOf(number));
        const Label label = {.sender = id_, .number = number};
        std::fill(frame.begin(), frame.end(), PatternOf(label));
        std::memcpy(frame.data() + kLabelOffset, &label, sizeof label);
        ibv_sge sge = rig_.Sge(slot, BytesOf(number));
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        if (ibv_post_send(send_qp_, &wr, &bad) != 0) return false;
        ++number;
      }
      std::array<ibv_wc, 16> wcs;
      const int got = ibv_poll_cq(send_cq_, 16, wcs.data());
      for (int i = 0; i < got; ++i) {
        if (wcs[static_cast<size_t>(i)].status != IBV_WC_SUCCESS) return false;
      }
      done += static_cast<uint64_t>(got);
      if (got == 0) std::this_thread::yield();
    }
    return true;
  }

  bool ReceiveAll(size_t others) {
    std::vector<uint64_t> expected(8, 0);
    for (uint64_t received = 0; received < others * kFrames;) {
      std::array<ibv_wc, 16> wcs;
      const int got = ibv_poll_cq(rig_.cq, 16, wcs.data());
      for (int i = 0; i < got; ++i) {
        const ibv_wc& wc = wcs[static_cast<size_t>(i)];
        if (!IsExpected(wc, expected)) return false;
        if (rig_.PostReceive(wc.wr_id) != 0) return false;
        ++received;
      }
      if (got == 0) std::this_thread::yield();
    }
    return true;
  }

  bool IsExpected(const ibv_wc& wc, std::vector<uint64_t>& expected) {
    if (wc.status != IBV_WC_SUCCESS) return false;
    const std::span<const std::byte> frame =
        rig_.Buffer(wc.wr_id).first(wc.byte_len);
    Label label{};
    std::memcpy(&label, frame.data() + kLabelOffset, sizeof label);
    return label.sender < expected.size() && label.sender != id_ &&
           label.number == expected[label.sender]++ &&
           frame.size() == BytesOf(label.number) &&
           std::ranges::all_of(
               frame.subspan(kLabelOffset + sizeof label),
               [&](std::byte each) { return each == PatternOf(label); });
  }

  VerbsRig rig_;
  ibv_cq* send_cq_;
  ibv_qp* receive_qp_ = nullptr;
  ibv_qp* send_qp_ = nullptr;
  uint64_t id_;
};

// A station in a process of its own, which runs when it is told to and closes
// when it is told to.
class StationProcess {
 public:
  StationProcess(const std::string& key, uint64_t id, size_t others)
      : child_([=](Conversation parent) {
          Station station(key, id);
          parent.Say(0);
          if (!parent.Hear().has_value()) return false;
          const bool good = station.Run(others);
          parent.Say(good ? 1 : 0);
          return parent.Hear().has_value() && good &&
                 !testing::Test::HasFailure();
        }) {}

  // Each returns once the process has come as far.
  bool AwaitOpen() { return child_.conversation().Hear() == 0u; }
  void Start() { child_.conversation().Say(0); }
  bool AwaitSuccess() { return child_.conversation().Hear() == 1u; }
  int Close() {
    child_.conversation().Say(0);
    return child_.Wait();
  }

 private:
  ChildProcess child_;
};

void PassEveryFrameBetween(size_t processes) {
  const std::string key = OwnWire("stations");
  std::vector<std::unique_ptr<StationProcess>> all;
  for (uint64_t id = 0; id < processes; ++id) {
    all.push_back(std::make_unique<StationProcess>(key + ",bytes=16384", id,
                                                   processes - 1));
    ASSERT_TRUE(all.back()->AwaitOpen());
  }
  for (const auto& each : all) each->Start();
  for (const auto& each : all) EXPECT_TRUE(each->AwaitSuccess());
  for (const auto& each : all) EXPECT_EQ(each->Close(), 0);
}

TEST(WireProcessesTest, TwoProcessesPassEveryFrameBothWays) {
  PassEveryFrameBetween(2);
}

TEST(WireProcessesTest, ThreeProcessesPassEveryFrameToEachOther) {
  PassEveryFrameBetween(3);
}

}  // namespace
}  // namespace weir::hca
