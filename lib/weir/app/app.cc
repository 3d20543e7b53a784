#include "weir/app/app.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "weir/app/outside.h"
#include "weir/app/report_json.h"
#include "weir/app/report_metrics.h"
#include "weir/app/stats_printer.h"
#include "weir/base/tsc_clock.h"
#include "weir/memory/arena.h"
#include "weir/memory/lock_limit.h"
#include "weir/net/ethernet.h"
#include "weir/runtime/placer.h"
#include "weir/topo/pin.h"
#include "weir/topo/topology.h"

namespace weir {
namespace {

// The memory of the pool goes where all ports are, or anywhere.
int CommonNode(std::span<const PortDevice> devices) {
  if (devices.empty()) return -1;
  const int node = devices[0].info().numa_node;
  const bool common = std::ranges::all_of(devices, [node](const auto& device) {
    return device.info().numa_node == node;
  });
  return common ? node : -1;
}

absl::Status WithContext(absl::string_view context,
                         const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

using Clock = std::chrono::steady_clock;

// Between two updates of what other processes see, and two looks at the ports.
constexpr std::chrono::milliseconds kShareEvery(100);

// How long routers are told of groups that are left.
constexpr std::chrono::milliseconds kLeavePatience(1000);

// Queues are not made shorter than this to save memory.
constexpr uint32_t kShortestQueue = 64;

uint64_t MbufsOf(const PortInfo& info, const MbufPool::Options& pool) {
  const uint64_t room = pool.chunk_bytes - pool.headroom_bytes;
  return (info.mtu_bytes + net::kL2OverheadBytes + room - 1) / room;
}

}  // namespace

App::App(AppOptions options, std::optional<JsonFile> json)
    : options_(std::move(options)), json_(std::move(json)) {}

App::~App() = default;

absl::StatusOr<std::unique_ptr<App>> App::Create(AppOptions options) {
  std::optional<JsonFile> json;
  if (!options.json_file.empty()) {
    const absl::Status kept = CheckIsOfNoPort("--json", options.json_file,
                                              FileUse::kWrite, options.ports);
    if (!kept.ok()) return kept;
    absl::StatusOr<JsonFile> file = JsonFile::Open(options.json_file);
    if (!file.ok()) return file.status();
    json.emplace(*std::move(file));
  }
  return std::unique_ptr<App>(new App(std::move(options), std::move(json)));
}

absl::Status App::CheckFile(absl::string_view flag, absl::string_view path,
                            FileUse use) const {
  if (json_ && IsSameFile(path, json_->path())) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": ", path, ": --json writes this file; name another file"));
  }
  return CheckIsOfNoPort(flag, path, use, options_.ports);
}

absl::StatusOr<std::span<Port>> App::OpenPorts(const AppNeeds& needs) {
  if (runtime_ != nullptr) {
    return absl::FailedPreconditionError("OpenPorts is for once");
  }
  port_options_ = needs.ports;
  port_options_.tx_watchdog_ms =
      static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.tx_watchdog));
  stage_mbufs_ = needs.stage_mbufs;
  stage_packets_ = needs.stage_packets;
  is_sender_ = needs.is_sender;
  absl::StatusOr<Placer> placer = MakePlacer();
  if (!placer.ok()) return placer.status();
  absl::Status status = CheckDistinctNames(options_.ports);
  if (status.ok()) status = CheckInputsAreKept(options_.ports);
  if (!status.ok()) return status;
  const auto purpose = options_.only_plan ? PortDevice::Purpose::kPlan
                                          : PortDevice::Purpose::kRun;
  std::vector<PortDevice> devices;
  for (const std::string& name : options_.ports) {
    const bool add = needs.empty_records && absl::StartsWith(name, "pcap:") &&
                     !absl::StrContains(name, ",empty=");
    absl::StatusOr<PortDevice> device =
        PortDevice::Open(add ? absl::StrCat(name, ",empty=on") : name, purpose);
    if (!device.ok()) return device.status();
    devices.push_back(*std::move(device));
  }
  status = CheckDistinct(devices);
  if (status.ok()) status = CheckQueues(devices);
  if (status.ok()) status = CreatePool(devices, *placer);
  if (!status.ok()) return status;
  for (PortDevice& device : devices) {
    absl::StatusOr<Port> port =
        Port::Open(std::move(device), *pool_, port_options_);
    if (!port.ok()) return port.status();
    ports_.push_back(*std::move(port));
  }
  absl::StatusOr<std::unique_ptr<Runtime>> runtime =
      Runtime::Create(*std::move(placer), *pool_, options_.when_idle);
  if (!runtime.ok()) return runtime.status();
  runtime_ = *std::move(runtime);
  return std::span<Port>(ports_);
}

absl::StatusOr<Placer> App::MakePlacer() {
  absl::StatusOr<Topology> topology = Topology::Read();
  if (!topology.ok()) return topology.status();
  usable_lcores_.assign(topology->lcores().begin(), topology->lcores().end());
  std::vector<uint32_t> wanted;
  if (!options_.lcores.empty()) {
    auto parsed = topology->ParseLcores(options_.lcores);
    if (!parsed.ok()) return WithContext("--lcores", parsed.status());
    wanted = *std::move(parsed);
  }
  return Placer(topology->lcores(), wanted);
}

// Finds the pipelines there will be: one an RX queue, and where an app has to
// spread frames itself, one for each queue that it wanted as well.
absl::Status App::CheckQueues(std::span<const PortDevice> devices) {
  for (const PortDevice& device : devices) {
    const auto queues = Port::QueuesOf(device, port_options_);
    if (!queues.ok()) return queues.status();
    const bool spreads = queues->rx_method == RxMethod::kSoftwareDispatch;
    pipelines_ += queues->rx + (spreads ? queues->rx_wanted : 0);
  }
  return absl::OkStatus();
}

PoolPlan App::Plan(std::span<const PortDevice> devices, size_t lcores) const {
  const MbufPool::Options options;
  PoolPlan plan;
  plan.chunk_bytes = options.chunk_bytes;
  plan.lcores = lcores;
  plan.pipelines = std::max<uint64_t>(pipelines_, lcores);
  for (const PortDevice& device : devices) {
    plan.queue_mbufs +=
        Port::MbufsHeld(device.info(), port_options_, options.chunk_bytes,
                        options.headroom_bytes);
    plan.mbufs_per_frame =
        std::max(plan.mbufs_per_frame, MbufsOf(device.info(), options));
  }
  plan.stage_mbufs = stage_mbufs_ + stage_packets_ * plan.mbufs_per_frame;
  return plan;
}

// The plan that stays within the limit: first with no more lcores than
// pipelines, then with queues of half the depth, again and again. If none does,
// the smallest, whose memory will be refused with a message.
PoolPlan App::PlanWithin(std::optional<uint64_t> limit_bytes,
                         std::span<const PortDevice> devices, Placer& placer) {
  for (;;) {
    PoolPlan plan = Plan(devices, placer.lcores().size());
    if (!limit_bytes || plan.bytes() <= *limit_bytes) return plan;
    const size_t enough = std::max<size_t>(pipelines_, 1);
    if (options_.lcores.empty() && placer.lcores().size() > enough) {
      placer.Keep(enough);
    } else if (port_options_.rx_depth > kShortestQueue) {
      port_options_.rx_depth /= 2;
      port_options_.tx_depth /= 2;
    } else {
      return plan;
    }
  }
}

absl::Status App::CreatePool(std::span<const PortDevice> devices,
                             Placer& placer) {
  MbufPool::Options options;
  const std::optional<uint64_t> limit_bytes = LockLimitBytes();
  const uint32_t wanted_depth = port_options_.rx_depth;
  const PoolPlan plan = PlanWithin(limit_bytes, devices, placer);
  pool_arithmetic_ = plan.Arithmetic();
  if (port_options_.rx_depth != wanted_depth) {
    absl::StrAppend(&pool_arithmetic_, "; queues of ", port_options_.rx_depth,
                    " since RLIMIT_MEMLOCK is ", WithCommas(*limit_bytes),
                    " bytes");
  }
  if (plan.mbufs() > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("mbuf pool: too many mbufs: ", pool_arithmetic_,
                     "; use fewer ports or a smaller MTU"));
  }
  options.mbufs = static_cast<uint32_t>(plan.mbufs());
  options.caches = static_cast<uint32_t>(plan.lcores);
  options.numa_node = CommonNode(devices);
  absl::StatusOr<std::unique_ptr<MbufPool>> pool = MbufPool::Create(options);
  if (!pool.ok()) {
    return WithContext(absl::StrCat("mbuf pool of ", pool_arithmetic_),
                       pool.status());
  }
  pool_ = *std::move(pool);
  return absl::OkStatus();
}

absl::Status App::RunUntilSignal() {
  if (runtime_ == nullptr) {
    return absl::FailedPreconditionError(
        "RunUntilSignal comes after OpenPorts");
  }
  const RunPlan plan = PlanOfRun();
  if (options_.only_plan) {
    PrintPlan(plan);
    return Finish(FormatPlanJson(options_.name, plan));
  }
  absl::StatusOr<SignalWait> signals = SignalWait::Create();
  if (!signals.ok()) return signals.status();
  signals_ = std::make_unique<SignalWait>(*std::move(signals));
  // Measured now, not in the first report.
  TscHz();
  PrintPlan(plan);
  std::vector<std::shared_ptr<PortMonitor>> monitors;
  for (const Port& port : ports_) monitors.push_back(port.monitor());
  watch_ = std::make_unique<PortWatch>(std::move(monitors));
  WatchPorts();
  const Clock::time_point begin = Clock::now();
  absl::Status started = runtime_->Start();
  if (!started.ok()) return started;
  KeepThisThreadOff(plan.WorkerIds());
  OpenToOthers(begin);
  WaitForEnd(begin);
  outside_->CloseControl();
  if (!runtime_->done()) LeaveGroups(groups_, kLeavePatience);
  if (tell_drain_) tell_drain_();
  runtime_->Stop();
  outside_->EndCaptures();
  PrintWarnings();
  Say(watch_->Missed());
  const AppReport report = Report(begin);
  if (is_sender_) Say(DroppedLine(report));
  if (is_sender_) Say(watch_->Unsent());
  std::fputs(FormatTable(report).c_str(), stdout);
  if (print_summary_) print_summary_();
  if (json_format_) return Finish(json_format_());
  std::vector<JsonPart> parts;
  for (const auto& [key, text] : json_parts_) parts.push_back({key, text()});
  return Finish(FormatJson(options_.name, report, parts));
}

absl::Status App::Finish(const std::string& json) {
  const bool flushed = std::fflush(stdout) == 0;
  absl::Status written = json_ ? json_->Write(json) : absl::OkStatus();
  if (written.ok() && (!flushed || std::ferror(stdout) != 0)) {
    written = absl::DataLossError("standard output could not be written");
  }
  return written;
}

void App::WaitForEnd(Clock::time_point begin) {
  const Clock::time_point end =
      After(begin, options_.duration.value_or(absl::InfiniteDuration()));
  Clock::time_point share = outside_->has_segment() ? Clock::now() : end;
  rates_.SetInterval(options_.stats_interval, begin, Report(begin));
  while (!runtime_->done() && !stop_requested_) {
    const Clock::time_point look = Clock::now() + kShareEvery;
    const SignalWait::Woken woken =
        signals_->WaitUntil(std::min({rates_.next(), share, end, look}),
                            runtime_->done_fd(), handlers_);
    PrintWarnings();
    const Clock::time_point time = Clock::now();
    if (woken == SignalWait::Woken::kSignal || time >= end) return;
    if (watch_->all_gone() || (is_over_ && is_over_())) return;
    // Busy handlers hold up neither rates nor counters.
    if (time < std::min(rates_.next(), share)) continue;
    const AppReport now = Report(begin);
    if (time >= share) {
      outside_->Write(MetricsOf(now));
      share = time + kShareEvery;
    }
    std::string rates = rates_.Take(time, now);
    if (rates.empty()) continue;
    if (format_rates_) rates += format_rates_();
    std::fputs(rates.c_str(), stdout);
    std::fflush(stdout);
  }
}

void App::OpenToOthers(Clock::time_point begin) {
  outside_ = std::make_unique<Outside>(options_.name, handlers_);
  SteeringOfPorts steering;
  for (const Port& port : ports_) steering[port.name()] = port.steering();
  const absl::Status opened = outside_->Open(
      {.report = [this, begin] { return Report(begin); },
       .stats_interval = [this] { return rates_.interval(); },
       .set_stats_interval =
           [this, begin](absl::Duration interval) {
             rates_.SetInterval(interval, Clock::now(), Report(begin));
           },
       .stop = [this] { stop_requested_ = true; }},
      runtime_->taps(), std::move(steering), groups_);
  // The run is as good without.
  if (!opened.ok()) Say({absl::StrCat("warning: ", opened.message())});
}

RunPlan App::PlanOfRun() const {
  RunPlan plan;
  for (const Port& port : ports_) plan.ports.push_back(port.info());
  plan.lcores = runtime_->plan();
  plan.usable = usable_lcores_;
  plan.when_idle = options_.when_idle;
  plan.pool = absl::StrCat("pool on ", ToString(pool_->arena().rung()), ", ",
                           pool_arithmetic_);
  return plan;
}

void App::PrintPlan(const RunPlan& plan) const {
  std::fputs(FormatPlan(plan).c_str(), stdout);
  std::fflush(stdout);
  const std::string warning = plan.Warning();
  if (!warning.empty()) Say({absl::StrCat("warning: ", warning)});
}

// Has the events of the ports' devices end the wait, until there will be none.
void App::WatchPorts() {
  for (const Port& port : ports_) {
    const int fd = port.monitor()->event_fd();
    if (fd < 0) continue;
    handlers_.Add(fd, POLLIN, [this, fd, monitor = port.monitor()](short) {
      PrintPortNews();
      if (monitor->event_fd() < 0) handlers_.Remove(fd);
    });
  }
}

void App::Say(const std::vector<std::string>& lines) const {
  for (const std::string& line : lines) {
    std::fprintf(stderr, "%s: %s\n", options_.name.c_str(), line.c_str());
  }
}

void App::PrintPortNews() {
  const size_t gone = watch_->gone();
  Say(watch_->Look(Clock::now()));
  warnings_ += watch_->gone() - gone;
  LookAtLinks(groups_);
}

void App::PrintWarnings() {
  PrintPortNews();
  for (const Port& port : ports_) {
    for (std::string warning = port.monitor()->TakeWarning(); !warning.empty();
         warning = port.monitor()->TakeWarning()) {
      Say({absl::StrCat("warning: ", warning)});
      ++warnings_;
    }
  }
}

AppReport App::Report(Clock::time_point begin) const {
  AppReport report;
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.tsc_hz = static_cast<double>(TscHz());
  report.lcores = runtime_->Snapshot();
  for (const Port& port : ports_) {
    PortReport& seen = report.ports.emplace_back();
    seen.info = port.info();
    seen.state = port.monitor()->state();
    seen.state_changes = port.monitor()->state_changes();
    seen.queues = port.monitor()->queues();
    seen.device_counters = port.monitor()->device_counters();
    for (const QueueStats& queue : seen.queues) {
      const bool rx = queue.name.starts_with("rx");
      (rx ? report.mbufs.posted : report.mbufs.sending) += queue.held_mbufs;
    }
  }
  for (const RingSnapshot& ring : RingsOf(report)) {
    report.mbufs.rings += ring.size;
  }
  report.mbufs.total = pool_->mbufs();
  report.mbufs.free = pool_->mbufs() - pool_->used_mbufs();
  for (uint32_t i = 0; i < pool_->caches(); ++i) {
    report.mbufs.shortages += pool_->cache(i).shortages();
  }
  return report;
}

}  // namespace weir
