#include "weir/port/port.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/net/ethernet.h"
#include "weir/port/port_context.h"
#include "weir/port/rx_slots.h"
#include "weir/verbs/async_events.h"
#include "weir/verbs/memory_region.h"
#include "weir/verbs/protection_domain.h"

namespace weir {
namespace {

constexpr uint32_t kMinDepth = 32;
constexpr uint32_t kMaxDepth = 32768;

absl::Status CheckOptions(const std::string& name, const PortOptions& options) {
  for (const uint32_t depth : {options.rx_depth, options.tx_depth}) {
    if (depth < kMinDepth || depth > kMaxDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": want a queue depth from ", kMinDepth, " to ",
                       kMaxDepth, ", got ", depth));
    }
  }
  return absl::OkStatus();
}

// What is asked of the device: a power of two that it says it can do.
uint32_t Depth(const verbs::Device& device, uint32_t wanted) {
  const auto max = static_cast<uint32_t>(
      std::min(device.attributes().max_qp_wr, device.attributes().max_cqe));
  return std::min(std::bit_ceil(wanted), std::bit_floor(std::max(max, 1U)));
}

absl::StatusOr<std::shared_ptr<PortContext>> CreateContext(
    const PortDevice& device, const PortQueues& queues, MbufPool& pool) {
  absl::StatusOr<verbs::ProtectionDomain> domain =
      verbs::ProtectionDomain::Create(*device.device(), device.info().name);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<verbs::MemoryRegion> region =
      verbs::MemoryRegion::Register(*domain, pool.arena().bytes());
  if (!region.ok()) return region.status();
  PortInfo info = device.info();
  info.queues = queues;
  return std::make_shared<PortContext>(
      PortContext{device.device(), *std::move(domain), *std::move(region),
                  std::move(info)});
}

absl::StatusOr<std::vector<TxQueue>> CreateTx(
    const std::shared_ptr<PortContext>& context, const MbufPool& pool,
    TxQueue::Options options) {
  std::vector<TxQueue> queues;
  for (uint32_t i = 0; i < context->info.queues.tx; ++i) {
    options.index = i;
    absl::StatusOr<TxQueue> queue = TxQueue::Create(context, pool, options);
    if (!queue.ok()) return queue.status();
    queues.push_back(*std::move(queue));
  }
  return queues;
}

absl::StatusOr<std::vector<RxQueue>> CreateRx(
    const std::shared_ptr<PortContext>& context, const MbufPool& pool,
    const RxQueue::Options& options) {
  const uint32_t count = context->info.queues.rx;
  if (count > 1) return RxQueue::CreateSpread(context, pool, options, count);
  absl::StatusOr<RxQueue> queue = RxQueue::Create(context, pool, options);
  if (!queue.ok()) return queue.status();
  std::vector<RxQueue> queues;
  queues.push_back(*std::move(queue));
  return queues;
}

}  // namespace

absl::StatusOr<Port> Port::Open(absl::string_view name, MbufPool& pool,
                                const PortOptions& options) {
  absl::StatusOr<PortDevice> device = PortDevice::Open(name);
  if (!device.ok()) return device.status();
  return Open(*std::move(device), pool, options);
}

absl::StatusOr<Port> Port::Open(PortDevice device, MbufPool& pool,
                                const PortOptions& options) {
  const absl::Status valid = CheckOptions(device.info().name, options);
  if (!valid.ok()) return valid;
  const absl::StatusOr<PortQueues> queues = QueuesOf(device, options);
  if (!queues.ok()) return queues.status();
  const absl::StatusOr<std::shared_ptr<PortContext>> context =
      CreateContext(device, *queues, pool);
  if (!context.ok()) return context.status();
  // The other way round the port would receive its own broadcasts.
  absl::StatusOr<std::vector<TxQueue>> tx =
      CreateTx(*context, pool,
               {.depth = Depth(*device.device(), options.tx_depth),
                .watchdog_ms = options.tx_watchdog_ms});
  if (!tx.ok()) return tx.status();
  absl::StatusOr<std::vector<RxQueue>> rx =
      CreateRx(*context, pool,
               {.depth = Depth(*device.device(), options.rx_depth),
                .timestamps = options.timestamps});
  if (!rx.ok()) return rx.status();

  auto events = verbs::AsyncEvents::Create(*device.device());
  if (!events.ok()) return events.status();
  Port port(
      std::make_shared<PortMonitor>((*context)->info, device.device(),
                                    (*context)->health, *std::move(events)),
      (*context)->steering);
  for (const RxQueue& queue : *rx) port.monitor_->AddRx(queue.counters());
  for (const TxQueue& queue : *tx) port.monitor_->AddTx(queue.counters());
  port.rx = *std::move(rx);
  port.tx = *std::move(tx);
  return port;
}

absl::StatusOr<PortQueues> Port::QueuesOf(const PortDevice& device,
                                          const PortOptions& options) {
  return ChooseQueues(device.info(), device.device()->rss(),
                      {.rx = options.rx_queues,
                       .tx = options.tx_queues,
                       .needs_all_rx = options.needs_all_rx_queues});
}

uint64_t Port::MbufsHeld(const PortInfo& device, const PortOptions& options,
                         uint32_t chunk_bytes, uint32_t headroom_bytes) {
  const uint64_t segments = SegmentsFor(
      static_cast<uint32_t>(device.mtu_bytes + net::kL2OverheadBytes),
      chunk_bytes, headroom_bytes);
  const uint64_t rx_queues = device.can_spread ? options.rx_queues : 1;
  const uint64_t frames =
      rx_queues * std::bit_ceil(options.rx_depth) +
      uint64_t{options.tx_queues} * std::bit_ceil(options.tx_depth);
  return frames * segments;
}

}  // namespace weir
