// Datagrams to a socket of the kernel, one each.

#ifndef APPS_MCAST_UDP_SINK_H_
#define APPS_MCAST_UDP_SINK_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "apps/mcast/sink.h"
#include "weir/base/unique_fd.h"
#include "weir/mbuf/burst.h"

namespace weir::mcast {

class UdpSink final : public Sink {
 public:
  // To `host`, an address or a name, and `port`. InvalidArgument, beginning
  // with --to, for what cannot be found; errors of socket(2).
  static absl::StatusOr<std::unique_ptr<Sink>> Open(const std::string& host,
                                                    const std::string& port);

  Outcome Deliver(std::span<Mbuf* const> packets) noexcept override;
  // Never: what a datagram meets need not meet the next.
  int failure() const noexcept override { return 0; }
  absl::Status FailureStatus(int failure) const override;

 private:
  static constexpr size_t kPieces = 1024;

  explicit UdpSink(UniqueFd fd) : fd_(std::move(fd)) {}

  // Reads what the system has to say of earlier datagrams: how many came back.
  uint32_t TakeReturned() noexcept;
  size_t Build(std::span<Mbuf* const> packets) noexcept;

  UniqueFd fd_;
  std::array<mmsghdr, kMaxBurst> messages_;
  std::array<iovec, kPieces> pieces_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_UDP_SINK_H_
