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
// All priorities of queue pairs that take the place of others are behind or in
// front of those of the others: so each frame goes to one or the other.
constexpr uint16_t kPriorities = kLastPriority + 1;

// The work queue of one lcore. The others go on when it is gone.
class WorkQueueEnd final : public RxEnd {
 public:
  WorkQueueEnd(std::shared_ptr<RxSpread> spread, size_t index,
               verbs::WorkQueue& queue, const verbs::CompletionQueue& cq)
      : spread_(std::move(spread)), index_(index), queue_(queue), cq_(cq) {}
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
  bool Rebuild() noexcept override { return spread_->Replace(index_).ok(); }

 private:
  std::shared_ptr<RxSpread> spread_;
  size_t index_;
  verbs::WorkQueue& queue_;
  const verbs::CompletionQueue& cq_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<RxSpread>> RxSpread::Create(
    std::shared_ptr<PortContext> context, uint32_t count,
    const RxEndOptions& options) {
  std::shared_ptr<RxSpread> spread(new RxSpread(std::move(context), options));
  absl::Status status = spread->CreateQueues(count);
  if (!status.ok()) return status;
  auto paths = spread->CreatePaths(0);
  if (!paths.ok()) return paths.status();
  spread->paths_ = *std::move(paths);
  status = spread->steering_->Open(spread->paths_.targets,
                                   spread->context_->info.mac);
  if (!status.ok()) return status;
  return spread;
}

absl::Status RxSpread::CreateQueues(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<verbs::CompletionQueue> cq =
        CreateRxCq(*context_->device, options_);
    if (!cq.ok()) return cq.status();
    cqs_.push_back(*std::move(cq));
  }
  for (const verbs::CompletionQueue& cq : cqs_) {
    absl::StatusOr<verbs::WorkQueue> queue = CreateQueue(cq);
    if (!queue.ok()) return queue.status();
    queues_.push_back(*std::move(queue));
  }
  return absl::OkStatus();
}

absl::StatusOr<verbs::WorkQueue> RxSpread::CreateQueue(
    const verbs::CompletionQueue& cq) const {
  absl::StatusOr<verbs::WorkQueue> queue = verbs::WorkQueue::Create(
      context_->domain, cq,
      {.depth = options_.depth, .segments = options_.segments});
  if (!queue.ok()) return queue;
  const absl::Status ready = queue->ModifyOrStatus(IBV_WQS_RDY);
  if (!ready.ok()) return ready;
  return queue;
}

absl::Status RxSpread::Replace(size_t index) {
  const std::lock_guard hold(lock_);
  // They are the old ones in the end, and go in the order in which they can.
  absl::StatusOr<verbs::CompletionQueue> cq =
      CreateRxCq(*context_->device, options_);
  if (!cq.ok()) return cq.status();
  absl::StatusOr<verbs::WorkQueue> queue = CreateQueue(*cq);
  if (!queue.ok()) return queue.status();
  if (queue->obtained().depth < queues_[index].obtained().depth) {
    return absl::ResourceExhaustedError(absl::StrCat(
        context_->info.name, ": no room for ", queues_[index].obtained().depth,
        " receives any more, but for ", queue->obtained().depth));
  }
  std::swap(queues_[index], *queue);
  const uint16_t first = first_priority_ == 0 ? kPriorities : 0;
  absl::StatusOr<Paths> paths = CreatePaths(first);
  absl::Status status = paths.status();
  if (status.ok()) status = steering_->Retarget(paths->targets);
  if (!status.ok()) {
    std::swap(queues_[index], *queue);
    return status;
  }
  std::swap(paths_, *paths);
  std::swap(cqs_[index], *cq);
  first_priority_ = first;
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

absl::Status RxSpread::AddTables(Paths& paths) const {
  const verbs::Device& device = *context_->device;
  const auto count = static_cast<uint32_t>(queues_.size());
  const size_t all = TableEntries(count, device.rss().table_entries);
  const std::span<const verbs::WorkQueue> queues(queues_);
  const std::pair<std::span<const verbs::WorkQueue>, size_t> wanted[] = {
      {queues, all}, {queues.first(1), 1}};
  for (const auto& [over, entries] : wanted) {
    auto table = verbs::IndirectionTable::Create(device, over, entries);
    if (!table.ok()) return table.status();
    paths.tables.push_back(*std::move(table));
  }
  return absl::OkStatus();
}

absl::StatusOr<RxSpread::Paths> RxSpread::CreatePaths(
    uint16_t first_priority) const {
  std::vector<Kind> kinds(std::begin(kWithAddresses), std::end(kWithAddresses));
  if (context_->info.queues.rx_hash == RxHash::kAddressesAndPorts) {
    kinds.insert(kinds.begin(), std::begin(kWithPorts), std::end(kWithPorts));
  }
  kinds.push_back({verbs::FrameKind::kAll, 0, kLastPriority});
  Paths paths;
  const absl::Status added = AddTables(paths);
  if (!added.ok()) return added;
  const uint8_t port = context_->info.device_port;
  for (const Kind& kind : kinds) {
    auto qp = verbs::RssQueuePair::Create(
        context_->domain, paths.tables[kind.fields == 0 ? 1 : 0],
        net::kSymmetricToeplitzKey, kind.fields);
    if (!qp.ok()) return qp.status();
    const absl::Status started = qp->Start(port);
    if (!started.ok()) return started;
    const auto priority = static_cast<uint16_t>(first_priority + kind.priority);
    paths.targets.push_back(verbs::TargetOf(*qp, kind.frames, priority, port));
    paths.qps.push_back(*std::move(qp));
  }
  return paths;
}

std::vector<std::unique_ptr<RxEnd>> RxSpread::Ends(
    const std::shared_ptr<RxSpread>& spread) {
  std::vector<std::unique_ptr<RxEnd>> ends;
  for (size_t i = 0; i < spread->queues_.size(); ++i) {
    ends.push_back(std::make_unique<WorkQueueEnd>(spread, i, spread->queues_[i],
                                                  spread->cqs_[i]));
  }
  return ends;
}

}  // namespace weir
