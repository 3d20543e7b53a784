#include "weir/port/rx_spread.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/net/toeplitz.h"

namespace weir {
namespace {

// Entries a queue has at least where the number of queues is no power of two.
constexpr size_t kEntriesPerQueue = 16;

constexpr uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
constexpr uint64_t kIpv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
constexpr uint64_t kTcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
constexpr uint64_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

// A hash is over one IP version and one transport at most, so each kind of
// frame has a queue pair of its own. All of them have one key and one table:
// what two of them hash over alike, such as the addresses of a fragment, goes
// to one queue.
struct Kind {
  verbs::FrameKind frames;
  uint64_t fields;
  uint16_t priority;
};

constexpr Kind kWithPorts[] = {
    {verbs::FrameKind::kIpv4Tcp, kIpv4 | kTcp, 0},
    {verbs::FrameKind::kIpv4Udp, kIpv4 | kUdp, 0},
    {verbs::FrameKind::kIpv6Tcp, kIpv6 | kTcp, 0},
    {verbs::FrameKind::kIpv6Udp, kIpv6 | kUdp, 0},
};
constexpr Kind kWithAddresses[] = {
    {verbs::FrameKind::kIpv4, kIpv4, 1},
    {verbs::FrameKind::kIpv6, kIpv6, 1},
};
constexpr uint16_t kLastPriority = 2;

// The work queue of one lcore. The others go on when it is gone.
class WorkQueueEnd final : public RxEnd {
 public:
  WorkQueueEnd(std::shared_ptr<RxSpread> spread, verbs::WorkQueue& queue,
               const verbs::CompletionQueue& cq)
      : spread_(std::move(spread)), queue_(queue), cq_(cq) {}
  ~WorkQueueEnd() override { Reset(); }

  const verbs::CompletionQueue& cq() const noexcept override { return cq_; }
  uint32_t depth() const noexcept override { return queue_.obtained().depth; }
  int Post(ibv_recv_wr& first, ibv_recv_wr** bad) noexcept override {
    return queue_.PostReceive(first, bad);
  }
  bool Open() noexcept override { return true; }
  void Fail() noexcept override { queue_.Modify(IBV_WQS_ERR); }
  void Reset() noexcept override { queue_.Modify(IBV_WQS_RESET); }
  bool Renew() noexcept override {
    return queue_.Modify(IBV_WQS_RESET) == 0 && queue_.Modify(IBV_WQS_RDY) == 0;
  }
  // A work queue keeps its completion queue, and the table that the others need
  // keeps the work queue.
  bool Rebuild() noexcept override { return false; }

 private:
  std::shared_ptr<RxSpread> spread_;
  verbs::WorkQueue& queue_;
  const verbs::CompletionQueue& cq_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<RxSpread>> RxSpread::Create(
    std::shared_ptr<PortContext> context, uint32_t count,
    const RxEndOptions& options) {
  std::shared_ptr<RxSpread> spread(new RxSpread(std::move(context)));
  absl::Status status = spread->CreateQueues(count, options);
  if (status.ok()) status = spread->CreateTables();
  if (status.ok()) status = spread->CreateFlows();
  if (!status.ok()) return status;
  return spread;
}

absl::Status RxSpread::CreateQueues(uint32_t count,
                                    const RxEndOptions& options) {
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<verbs::CompletionQueue> cq =
        CreateRxCq(*context_->device, options);
    if (!cq.ok()) return cq.status();
    cqs_.push_back(*std::move(cq));
  }
  for (const verbs::CompletionQueue& cq : cqs_) {
    absl::StatusOr<verbs::WorkQueue> queue = verbs::WorkQueue::Create(
        context_->domain, cq,
        {.depth = options.depth, .segments = options.segments});
    if (!queue.ok()) return queue.status();
    const absl::Status ready = queue->ModifyOrStatus(IBV_WQS_RDY);
    if (!ready.ok()) return ready;
    queues_.push_back(*std::move(queue));
  }
  return absl::OkStatus();
}

size_t RxSpread::TableEntries(uint32_t count, uint32_t max) noexcept {
  if (max < count) return 0;
  if (std::has_single_bit(count)) return count;
  const size_t least = std::bit_ceil(size_t{count});
  const size_t even = std::min<size_t>(
      std::bit_ceil(kEntriesPerQueue * size_t{count}), std::bit_floor(max));
  return even < least ? 0 : even;
}

absl::Status RxSpread::CreateTables() {
  const verbs::Device& device = *context_->device;
  const auto count = static_cast<uint32_t>(queues_.size());
  const size_t all = TableEntries(count, device.rss().table_entries);
  const std::span<const verbs::WorkQueue> queues(queues_);
  const std::pair<std::span<const verbs::WorkQueue>, size_t> wanted[] = {
      {queues, all}, {queues.first(1), 1}};
  for (const auto& [over, entries] : wanted) {
    auto table = verbs::IndirectionTable::Create(device, over, entries);
    if (!table.ok()) return table.status();
    tables_.push_back(*std::move(table));
  }
  return absl::OkStatus();
}

absl::Status RxSpread::CreateFlows() {
  std::vector<Kind> kinds(std::begin(kWithAddresses), std::end(kWithAddresses));
  if (context_->info.queues.rx_hash == RxHash::kAddressesAndPorts) {
    kinds.insert(kinds.begin(), std::begin(kWithPorts), std::end(kWithPorts));
  }
  kinds.push_back({verbs::FrameKind::kAll, 0, kLastPriority});
  const uint8_t port = context_->info.device_port;
  for (const Kind& kind : kinds) {
    auto qp = verbs::RssQueuePair::Create(
        context_->domain, kind.fields == 0 ? tables_[1] : tables_[0],
        net::kSymmetricToeplitzKey, kind.fields);
    if (!qp.ok()) return qp.status();
    qps_.push_back(*std::move(qp));
    const absl::Status started = qps_.back().Start(port);
    if (!started.ok()) return started;
  }
  std::vector<verbs::FlowTarget> targets;
  for (size_t i = 0; i < kinds.size(); ++i) {
    targets.push_back(
        verbs::TargetOf(qps_[i], kinds[i].frames, kinds[i].priority, port));
  }
  return steering_->Open(std::move(targets), context_->info.mac);
}

std::vector<std::unique_ptr<RxEnd>> RxSpread::Ends(
    const std::shared_ptr<RxSpread>& spread) {
  std::vector<std::unique_ptr<RxEnd>> ends;
  for (size_t i = 0; i < spread->queues_.size(); ++i) {
    ends.push_back(std::make_unique<WorkQueueEnd>(spread, spread->queues_[i],
                                                  spread->cqs_[i]));
  }
  return ends;
}

}  // namespace weir
