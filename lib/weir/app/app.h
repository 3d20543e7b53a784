// Ports and pipelines of one process, from opening the first to printing the
// last number: the facade that a main() talks to.

#ifndef WEIR_APP_APP_H_
#define WEIR_APP_APP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "weir/app/fd_handlers.h"
#include "weir/app/json_file.h"
#include "weir/app/pool_plan.h"
#include "weir/app/port_groups.h"
#include "weir/app/port_watch.h"
#include "weir/app/rate_lines.h"
#include "weir/app/report.h"
#include "weir/app/run_plan.h"
#include "weir/app/signal_wait.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/port/port.h"
#include "weir/port/port_device.h"
#include "weir/port/port_files.h"
#include "weir/port/port_monitor.h"
#include "weir/runtime/runtime.h"
#include "weir/runtime/task.h"
#include "weir/topo/topology.h"

namespace weir {

class Outside;

// What AppMain found on the command line.
struct AppOptions {
  // Of the program, for messages.
  std::string name;
  // Of AppInfo::commands, empty if there are none.
  std::string command = {};
  // Names of ports, as Port::Open takes them.
  std::vector<std::string> ports;
  // Where pipelines go, in turn, as Topology::ParseLcores takes them; empty:
  // chosen.
  std::string lcores;
  // When to end at the latest.
  std::optional<absl::Duration> duration;
  // Between two lines of rates; zero for none.
  absl::Duration stats_interval = absl::Seconds(1);
  // The file for the final report, empty for none.
  std::string json_file;
  // How long frames may be under way to be sent without one completing before
  // their queue is reset; zero: for ever.
  absl::Duration tx_watchdog = absl::Seconds(5);
  // Whether only to say what would run where.
  bool only_plan = false;
  // What lcores do while nothing comes.
  WhenIdle when_idle = WhenIdle::kSleep;
};

// What an app asks for beyond the command line.
struct AppNeeds {
  PortOptions ports = {};
  // Mbufs that its stages keep over polls, at most, in all.
  uint64_t stage_mbufs = 0;
  // Packets that rings and stages keep beside them, whole: each needs as many
  // mbufs as the largest frame of the ports.
  uint64_t stage_packets = 0;
  // Whether records of captures that have no bytes are received too, as frames
  // of none: for programs that count records. Ports that say `empty=` decide.
  bool empty_records = false;
  // Whether it begins what it sends: what was dropped and what devices did not
  // send is said at the end then, besides in the table.
  bool is_sender = false;
};

// Control thread only.
class App {
 public:
  // InvalidArgument if the JSON file cannot be written or is one of a port.
  static absl::StatusOr<std::unique_ptr<App>> Create(AppOptions options);

  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  // What of AppInfo::commands the command line says.
  const std::string& command() const noexcept { return options_.command; }

  // Opens the ports of the command line, in its order, and the one mbuf pool
  // that serves them. They live as long as the app. Where little memory may be
  // locked, queues are shorter and, unless the command line names them, lcores
  // fewer. InvalidArgument for a port given twice or lcores that do not exist;
  // otherwise the errors of PortDevice::Open, MbufPool::Create and Port::Open.
  // Once.
  absl::StatusOr<std::span<Port>> OpenPorts(const AppNeeds& needs = {});

  // The pool that all frames are from. After OpenPorts.
  const MbufPool& pool() const noexcept { return *pool_; }

  // Places `pipeline` on an lcore; it runs from RunUntilSignal on.
  // FailedPrecondition before OpenPorts.
  template <Runnable T>
  absl::Status Launch(const Placement& placement, T pipeline) {
    if (runtime_ == nullptr) {
      return absl::FailedPreconditionError("Launch comes after OpenPorts");
    }
    runtime_->Launch(placement, std::move(pipeline));
    return absl::OkStatus();
  }

  // Prints which pipeline runs where; with AppOptions::only_plan that is all,
  // and what goes to the JSON file. Otherwise takes over SIGINT, SIGTERM
  // and SIGHUP, which until now end the process: opening a FIFO may wait for
  // ever. Runs until one of them, the end of the duration, or until no port has
  // any more input. Prints rates meanwhile, then lets pipelines drain, for
  // Worker::kDrainMs at most, and prints the table. What Runtime::Start
  // returns, or DataLoss if the JSON file or standard output could not be
  // written.
  absl::Status RunUntilSignal();

  // What the control thread serves while the run goes on.
  FdHandlers& handlers() noexcept { return handlers_; }

  // Whether RunUntilSignal runs nothing and says only what would run.
  bool only_plans() const noexcept { return options_.only_plan; }

  // InvalidArgument, beginning with `flag`, if `path`, which the flag says to
  // use, is a file of a port or of --json, and either of them writes it. Before
  // OpenPorts, which empties files.
  absl::Status CheckFile(absl::string_view flag, absl::string_view path,
                         FileUse use) const;

  // Whether the command line asks for a file of JSON.
  bool writes_json() const noexcept { return !options_.json_file.empty(); }

  // Has the file of --json be what `format` returns when the run is over, in
  // place of the report. Before RunUntilSignal.
  void SetJson(std::function<std::string()> format) {
    json_format_ = std::move(format);
  }
  // Has the report of --json have a member `key` too, the JSON that `format`
  // returns when the run is over. Before RunUntilSignal.
  void AddToJson(std::string key, std::function<std::string()> format) {
    json_parts_.emplace_back(std::move(key), std::move(format));
  }
  // Has `print` called behind the table. Before RunUntilSignal.
  void SetSummary(std::function<void()> print) {
    print_summary_ = std::move(print);
  }
  // Has what `format` returns printed below each line of rates. Before
  // RunUntilSignal.
  void SetRates(std::function<std::string()> format) {
    format_rates_ = std::move(format);
  }
  // Has the run end when `is_over` says so, which is asked some ten times a
  // second. Before RunUntilSignal.
  void SetEnd(std::function<bool()> is_over) { is_over_ = std::move(is_over); }

  // Has `tell` called when the run is over, before pipelines drain. Before
  // RunUntilSignal.
  void SetDrain(std::function<void()> tell) { tell_drain_ = std::move(tell); }

  // Has the groups of `port` looked after: said again when its link came up,
  // joined and left by commands from outside, left before pipelines stop.
  // Before RunUntilSignal.
  void SetGroups(const Port& port, std::shared_ptr<PortGroups> groups) {
    groups_[port.name()] = std::move(groups);
  }

  // The warnings printed so far, and ports that were lost. Each says that
  // something came or went incomplete, so a run with any is no success.
  uint64_t warnings() const { return warnings_; }

 private:
  using Clock = std::chrono::steady_clock;

  App(AppOptions options, std::optional<JsonFile> json);

  absl::StatusOr<Placer> MakePlacer();
  absl::Status CheckQueues(std::span<const PortDevice> devices);
  RunPlan PlanOfRun() const;
  PoolPlan Plan(std::span<const PortDevice> devices, size_t lcores) const;
  PoolPlan PlanWithin(std::optional<uint64_t> limit_bytes,
                      std::span<const PortDevice> devices, Placer& placer);
  absl::Status CreatePool(std::span<const PortDevice> devices, Placer& placer);
  void PrintPlan(const RunPlan& plan) const;
  // On standard error, each behind the name of the program.
  void Say(const std::vector<std::string>& lines) const;
  void PrintWarnings();
  void WatchPorts();
  void PrintPortNews();
  AppReport Report(Clock::time_point begin) const;
  // Waits and prints rates until something ends the run.
  void WaitForEnd(Clock::time_point begin);
  // Has others see this run and ask things of it.
  void OpenToOthers(Clock::time_point begin);
  // The end of all output: writes the file of --json.
  absl::Status Finish(const std::string& json);

  AppOptions options_;
  // From RunUntilSignal on.
  std::unique_ptr<SignalWait> signals_;
  FdHandlers handlers_;
  std::optional<JsonFile> json_;
  std::function<std::string()> json_format_;
  std::vector<std::pair<std::string, std::function<std::string()>>> json_parts_;
  std::function<void()> print_summary_;
  std::function<std::string()> format_rates_;
  std::function<bool()> is_over_;
  std::function<void()> tell_drain_;
  PortOptions port_options_;
  // Pipelines that the RX queues of all ports want.
  uint64_t pipelines_ = 0;
  uint64_t stage_mbufs_ = 0;
  uint64_t stage_packets_ = 0;
  bool is_sender_ = false;
  // Every lcore that this process may use.
  std::vector<LcoreInfo> usable_lcores_;
  // How the size of the pool came about.
  std::string pool_arithmetic_;
  std::unique_ptr<MbufPool> pool_;
  std::vector<Port> ports_;
  GroupsOfPorts groups_;
  // From RunUntilSignal on.
  std::unique_ptr<PortWatch> watch_;
  std::unique_ptr<Runtime> runtime_;
  // Of a run, after the ports and pipelines that it looks at.
  std::unique_ptr<Outside> outside_;
  RateLines rates_;
  bool stop_requested_ = false;
  uint64_t warnings_ = 0;
};

}  // namespace weir

#endif  // WEIR_APP_APP_H_
