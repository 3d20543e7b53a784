// The value of --to.

#ifndef APPS_MCAST_OPEN_SINK_H_
#define APPS_MCAST_OPEN_SINK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "apps/mcast/sink.h"

namespace weir::mcast {

// Where datagrams are delivered to as `to` says; null for "none". Once:
// standard output is taken over. With `only_plan` files are left alone, neither
// created nor emptied, and what is returned takes nothing. InvalidArgument, and
// errors of the system, beginning with --to.
absl::StatusOr<std::shared_ptr<Sink>> OpenSink(const std::string& to,
                                               bool only_plan);

// The file that `to` names, empty if it names none.
std::string FileOf(const std::string& to);

// Whether they are frames of a capture, so that receive times matter.
bool WantsTimes(const std::string& to);

}  // namespace weir::mcast

#endif  // APPS_MCAST_OPEN_SINK_H_
