// What others see of a run and ask of it while it goes on: its counters in a
// segment of shared memory, a control socket beside that, captures.

#ifndef WEIR_APP_OUTSIDE_H_
#define WEIR_APP_OUTSIDE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "weir/app/control_service.h"
#include "weir/app/fd_handlers.h"
#include "weir/app/flow_commands.h"
#include "weir/app/port_groups.h"
#include "weir/app/run_commands.h"
#include "weir/capture/capture_hub.h"
#include "weir/metrics/metric.h"
#include "weir/metrics/segment_writer.h"
#include "weir/pipeline/tap_point.h"

namespace weir {

// Control thread only.
class Outside {
 public:
  // For a program called `app`, served by `handlers`, which must outlive it.
  Outside(std::string app, FdHandlers& handlers)
      : app_(std::move(app)), handlers_(handlers) {}
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside();

  // Begins; with what each part was before an error, which says what others
  // have to do without. The run is as good.
  absl::Status Open(RunHooks hooks, std::vector<TapPlace> taps,
                    SteeringOfPorts ports, GroupsOfPorts groups);

  // Whether others see counters.
  bool has_segment() const noexcept { return segment_ != nullptr; }
  void Write(std::span<const Metric> metrics) { segment_->Write(metrics); }

  // Nothing more is asked of the run, which ends.
  void CloseControl();
  // Completes the files of captures, when nothing happens any more.
  void EndCaptures();

 private:
  void PrintFailures();

  std::string app_;
  FdHandlers& handlers_;
  std::unique_ptr<SegmentWriter> segment_;
  std::unique_ptr<CaptureHub> captures_;
  std::unique_ptr<ControlService> control_;
};

}  // namespace weir

#endif  // WEIR_APP_OUTSIDE_H_
