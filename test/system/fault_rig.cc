#include "test/system/fault_rig.h"

#include <cstring>
#include <utility>

#include "gtest/gtest.h"
#include "test/support/own_wire.h"
#include "weir/base/check.h"
#include "weir/hca_control/hca_control.h"
#include "weir/mbuf/burst.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port_device.h"
#include "weir/runtime/placer.h"
#include "weir/stage/choose_by_hash.h"
#include "weir/stage/dispatch.h"
#include "weir/stage/flow_hash.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/parse.h"
#include "weir/stage/transmit.h"
#include "weir/topo/topology.h"

namespace weir::testing {
namespace {

constexpr size_t kBurst = 32;
// Of the number of a frame and of its flow, behind the headers.
constexpr size_t kNumberAt = 14 + 20 + 8;
constexpr size_t kFlowAt = kNumberAt + sizeof(uint32_t);
// Steps between two frames of an idle port.
constexpr uint64_t kIdleSteps = 8;

std::unique_ptr<MbufPool> MakePool(uint32_t mbufs, size_t caches) {
  auto pool = MbufPool::Create(
      {.mbufs = mbufs, .caches = static_cast<uint32_t>(caches)});
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *std::move(pool);
}

std::unique_ptr<Port> OpenPort(const std::string& name, MbufPool& pool,
                               uint32_t tx_queues,
                               std::shared_ptr<verbs::Device>* device) {
  auto opened = PortDevice::Open(name);
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (device != nullptr) *device = opened->device();
  auto port = Port::Open(*std::move(opened), pool,
                         {.tx_queues = tx_queues,
                          .rx_depth = 256,
                          .tx_depth = 256,
                          .tx_watchdog_ms = FaultRig::kWatchdogMs});
  EXPECT_TRUE(port.ok()) << port.status();
  return std::make_unique<Port>(*std::move(port));
}

uint32_t NumberAt(const Mbuf& mbuf, size_t offset) {
  uint32_t number = 0;
  std::memcpy(&number, mbuf.data() + offset, sizeof number);
  return number;
}

}  // namespace

FaultRig::FaultRig(uint32_t workers)
    : far_pool_(MakePool(4096, 1)),
      pool_(MakePool(16384, Topology::Read().value().lcores().size())),
      lcore_(0, far_pool_->cache(0)) {
  const std::string first = OwnWire("faults-in");
  const std::string second = OwnWire("faults-out");
  source_ = OpenPort(first, *far_pool_, 1, nullptr);
  in_ = OpenPort(first, *pool_, 1, &devices_[0]);
  out_ = OpenPort(second, *pool_, workers, &devices_[1]);
  sink_ = OpenPort(second, *far_pool_, 1, nullptr);
  for (size_t flow = 0; flow < kFlows; ++flow) {
    templates_.push_back(
        Frame()
            .Ipv4("10.0.0." + std::to_string(flow + 1), "198.51.100.7")
            .Udp(static_cast<uint16_t>(40000 + flow), 53)
            .Payload(2 * sizeof(uint32_t))
            .Build());
  }
  Launch(workers);
  watch_ =
      std::make_unique<PortWatch>(std::vector<std::shared_ptr<PortMonitor>>{
          in_->monitor(), out_->monitor()});
  const absl::Status started = runtime_->Start();
  EXPECT_TRUE(started.ok()) << started;
}

void FaultRig::Launch(uint32_t workers) {
  const Topology topology = Topology::Read().value();
  runtime_ = Runtime::Create(Placer(topology.lcores(), {}), *pool_).value();
  if (workers == 1) {
    runtime_->Launch(
        {}, Pipeline{std::move(in_->rx[0]), Transmit{std::move(out_->tx[0])}});
    return;
  }
  std::vector<ToRing> to;
  for (uint32_t i = 0; i < workers; ++i) {
    auto ring = MakeRing({.name = "worker " + std::to_string(i)});
    EXPECT_TRUE(ring.ok()) << ring.status();
    to.push_back(std::move(ring->to));
    runtime_->Launch(
        {}, Pipeline{std::move(ring->from), Transmit{std::move(out_->tx[i])}});
  }
  runtime_->Launch({},
                   Pipeline{std::move(in_->rx[0]), Parse(), FlowHash{},
                            Dispatch(ChooseByHash(workers), std::move(to))});
}

void FaultRig::Inject(Side side, const std::string& fault) {
  std::array<char, 256> text{};
  const auto& device = devices_[side == Side::kIn ? 0 : 1];
  EXPECT_EQ(weir_hca_inject(device->context(), fault.c_str(), text.data(),
                            text.size()),
            0)
      << text.data();
}

void FaultRig::Step(Load load) {
  lcore_.UpdateClock();
  ++steps_;
  if (load == Load::kFull || (load == Load::kHalf && steps_ % 2 == 0)) {
    Send(kBurst);
  } else if (load == Load::kIdle && steps_ % kIdleSteps == 0) {
    Send(1);
  }
  source_->tx[0].Reap(lcore_);
  Receive();
  for (std::string& line : watch_->Look(Clock::now() + ahead_)) {
    said_.push_back(std::move(line));
  }
}

// What the wire has no room for is as if it had not been.
void FaultRig::Send(size_t count) {
  Burst burst(lcore_.cache());
  for (; count > 0; --count) {
    std::array<Mbuf*, 1> one{};
    if (lcore_.cache().Alloc(one) == 0) break;
    Mbuf& mbuf = *one[0];
    const size_t flow = turn_++ % kFlows;
    const auto flow_number = static_cast<uint32_t>(flow);
    std::vector<std::byte>& frame = templates_[flow];
    std::memcpy(&frame[kNumberAt], &next_[flow], sizeof(uint32_t));
    std::memcpy(&frame[kFlowAt], &flow_number, sizeof(uint32_t));
    ++next_[flow];
    mbuf.Reset(far_pool_->headroom_bytes());
    mbuf.SetLength(static_cast<uint32_t>(frame.size()));
    std::memcpy(mbuf.data(), frame.data(), frame.size());
    burst.Adopt(mbuf);
  }
  source_->tx[0].Send(burst, lcore_);
}

void FaultRig::Receive() {
  Burst burst(lcore_.cache());
  sink_->rx[0].Receive(burst, lcore_);
  for (const Mbuf* mbuf : burst.mbufs()) {
    came_[NumberAt(*mbuf, kFlowAt) % kFlows] = NumberAt(*mbuf, kNumberAt) + 1;
  }
  received_ += burst.size();
}

bool FaultRig::HasComeSinceMark() const {
  for (size_t flow = 0; flow < kFlows; ++flow) {
    if (came_[flow] <= marks_[flow]) return false;
  }
  return true;
}

std::vector<std::string> FaultRig::TakeSaid() {
  ahead_ += 2 * PortWatch::kWindow;
  for (std::string& line : watch_->Look(Clock::now() + ahead_)) {
    said_.push_back(std::move(line));
  }
  return std::exchange(said_, {});
}

uint64_t FaultRig::errors(Side side) {
  uint64_t sum = 0;
  for (const QueueStats& queue : monitor(side).queues()) sum += queue.errors;
  return sum;
}

uint64_t FaultRig::recoveries(Side side) {
  uint64_t sum = 0;
  for (const QueueStats& queue : monitor(side).queues()) {
    sum += queue.recoveries;
  }
  return sum;
}

uint64_t FaultRig::drops(Side side, absl::string_view reason) {
  uint64_t sum = 0;
  for (const QueueStats& queue : monitor(side).queues()) {
    for (const NamedCount& drop : queue.drops) {
      if (drop.name == reason) sum += drop.value;
    }
  }
  return sum;
}

AppReport FaultRig::Stop() {
  runtime_->Stop();
  AppReport report;
  report.lcores = runtime_->Snapshot();
  for (const Side side : {Side::kIn, Side::kOut}) {
    PortReport& port = report.ports.emplace_back();
    port.queues = monitor(side).queues();
    port.device_counters = monitor(side).device_counters();
  }
  return report;
}

uint64_t FaultRig::Close() {
  runtime_.reset();
  in_.reset();
  out_.reset();
  return pool_->used_mbufs();
}

}  // namespace weir::testing
