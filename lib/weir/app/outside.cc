#include "weir/app/outside.h"

#include <poll.h>

#include <cstdio>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "weir/app/capture_commands.h"
#include "weir/app/group_commands.h"
#include "weir/metrics/segment_list.h"

namespace weir {

Outside::~Outside() {
  CloseControl();
  EndCaptures();
}

absl::Status Outside::Open(RunHooks hooks, std::vector<TapPlace> taps,
                           SteeringOfPorts ports, GroupsOfPorts groups) {
  RemoveDeadSegments(kSegmentFolder);
  auto segment = SegmentWriter::Create(app_);
  if (!segment.ok()) return segment.status();
  segment_ = *std::move(segment);
  auto captures =
      CaptureHub::Create(absl::StrCat("weir ", app_), std::move(taps));
  if (!captures.ok()) return captures.status();
  captures_ = *std::move(captures);
  handlers_.Add(captures_->failure_fd(), POLLIN,
                [this](short) { PrintFailures(); });
  // Beside the segment, where those look who have found that.
  auto control = ControlService::Open(ControlSocketOf(segment_->path()));
  if (!control.ok()) return control.status();
  control_ = *std::move(control);
  AddRunCommands(*control_, std::move(hooks));
  AddCaptureCommands(*control_, *captures_);
  AddFlowCommands(*control_, ports);
  AddGroupCommands(*control_, std::move(ports), std::move(groups));
  handlers_.Add(control_->fd(), POLLIN, [this](short) { control_->Serve(); });
  return absl::OkStatus();
}

void Outside::CloseControl() {
  if (control_ == nullptr) return;
  handlers_.Remove(control_->fd());
  control_.reset();
}

void Outside::EndCaptures() {
  if (captures_ == nullptr) return;
  captures_->StopAll();
  PrintFailures();
  handlers_.Remove(captures_->failure_fd());
  captures_.reset();
}

// The run is as good without the rest of a capture.
void Outside::PrintFailures() {
  for (const std::string& failure : captures_->TakeFailures()) {
    std::fprintf(stderr, "%s: warning: %s\n", app_.c_str(), failure.c_str());
  }
}

}  // namespace weir
