// Where datagrams are delivered to: what calls the system, once a burst.

#ifndef APPS_MCAST_SINK_H_
#define APPS_MCAST_SINK_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "weir/mbuf/mbuf.h"

namespace weir::mcast {

// Owner lcore only, save as said.
class Sink {
 public:
  // What became of packets from the front of what was given: those that were
  // delivered, and behind them, one that never can be, or bytes of one that is
  // not delivered whole so far.
  struct Outcome {
    uint32_t delivered = 0;
    bool refused = false;
    uint64_t partial_bytes = 0;
    // Of those delivered now or earlier, how many are known since to have come
    // back.
    uint32_t returned = 0;
  };

  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  // Delivers as many of `packets` as there is room for now, never waits. Each
  // is a UDP datagram that FindUdpPayload knows; one that was not delivered
  // whole is the first of the next call. With none it only looks what came
  // back.
  virtual Outcome Deliver(std::span<Mbuf* const> packets) noexcept = 0;

  // The errno of what ended delivery for good, 0 so far.
  virtual int failure() const noexcept = 0;

  // The error that `failure` is, for the user. Any thread.
  virtual absl::Status FailureStatus(int failure) const = 0;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_SINK_H_
