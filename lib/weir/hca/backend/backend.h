// What the verbs objects of the software HCA need from the medium below them:
// frames in, frames out. One implementation a port kind; the only place where
// the HCA makes system calls for I/O.
//
// Calls are per burst, so a virtual call is cheap enough. The port of the HCA
// serialises them: at most one thread is in Transmit, and at most one in
// Receive/Consume, but those two may run at the same time.

#ifndef WEIR_HCA_BACKEND_BACKEND_H_
#define WEIR_HCA_BACKEND_BACKEND_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/hca/flow/flow_rule.h"
#include "weir/net/mac_address.h"

namespace weir::hca {

// What a medium knows about a frame besides its bytes.
enum FrameFlag : uint32_t {
  // TCP or UDP in a whole IPv4 packet, and the checksums of both are known to
  // be right. The value is that of IBV_WC_IP_CSUM_OK.
  kFrameChecksumGood = 1u << 2,
  // A copy of a frame that stays with the kernel: for rules that only copy.
  kFrameSniffed = 1u << 3,
  // The medium verified: without kFrameChecksumGood a checksum is wrong, or
  // there is none.
  kFrameChecksumKnown = 1u << 4,
};

// A received frame: contiguous bytes that stay valid until Consume covers them
// or the backend is destroyed. No FCS.
struct RxFrame {
  const std::byte* data;
  uint32_t length_bytes;
  // Of FrameFlag.
  uint32_t flags = 0;
  // Nanoseconds since the Unix epoch, 0 where the medium has no timestamp.
  uint64_t timestamp_ns = 0;
};

// A frame to send: its bytes are those of the segments, one after the other.
struct TxFrame {
  std::span<const iovec> segments;
  uint32_t length_bytes;
  // Of FrameFlag.
  uint32_t flags = 0;
};

// `kLost` is for good: the netdev below was deleted.
enum class LinkState : uint8_t { kDown, kUp, kLost };

// What does not change while a backend is open.
struct BackendInfo {
  net::MacAddress mac{};
  // The netdev below, empty if there is none.
  std::string netdev;
  // How the medium works, for the user ("native XDP, copy, 1 queue"); empty if
  // there is only one way.
  std::string mode{};
  // The largest L3 packet in bytes; frames may be net::kL2OverheadBytes longer.
  uint32_t mtu_bytes = 1500;
  // Of the device, -1 if unknown or without meaning.
  int numa_node = -1;
  // True: the port leaves frames here until a receive is posted for them, so
  // that nothing is lost above. False: a frame without a posted receive is
  // dropped by the port and counted, as by a NIC without flow control.
  bool flow_control = true;
  // True: kFrameChecksumGood is missing only where a checksum is wrong or there
  // is none, so that nobody needs to verify again.
  bool verifies_checksums = false;
  // True: frames that Transmit took may wait for Flush.
  bool holds_sends = false;
};

// A count that a backend keeps; `name` is a literal such as "rx_dropped".
struct BackendCounter {
  absl::string_view name;
  Counter value;
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual const BackendInfo& info() const noexcept = 0;

  // Sends frames from the front of `frames` and returns how many it took; their
  // bytes may be reused at return. Fewer than all means that the medium is
  // full: the caller offers the rest again later. A frame that can never be
  // sent is taken, dropped and counted.
  virtual size_t Transmit(std::span<const TxFrame> frames) noexcept = 0;

  // Sends what Transmit took and what is due by now; true while there is more
  // to come. Serialised with Transmit.
  virtual bool Flush() noexcept { return false; }

  // The oldest unconsumed frames, `max` at most, in order of arrival. Does not
  // consume: the same frames come back until Consume.
  virtual std::span<const RxFrame> Receive(size_t max) noexcept = 0;

  // Gives back the first `count` frames that the last Receive returned.
  virtual void Consume(size_t count) noexcept = 0;

  // Tells the medium that frames which fulfil `rule` are wanted from now on,
  // and no longer. A medium that hands over all it gets needs neither; one that
  // shares its frames with the kernel takes these and leaves it the rest. Once
  // for each distinct rule, serialised with Receive. AddFlow returns 0 or an
  // errno value: EOPNOTSUPP for a rule that the medium cannot express, ENOMEM
  // when it can hold no more; it does nothing if it runs out of memory.
  virtual int AddFlow(const FlowRule& /*rule*/) { return 0; }
  virtual void RemoveFlow(const FlowRule& /*rule*/) noexcept {}

  // Whether the medium carries frames now; serialised with Receive. link_fd()
  // becomes readable when the answer would differ from the last one; -1 if it
  // never does.
  virtual LinkState ReadLink() noexcept { return LinkState::kUp; }
  virtual int link_fd() const noexcept { return -1; }

  // True once no frame will ever arrive again (a capture file at its end, with
  // all of it consumed). Any thread.
  virtual bool finished() const noexcept { return false; }

  // Wake-ups. A file descriptor that becomes readable when frames arrive after
  // ArmReceive, -1 if frames never arrive by themselves. ArmReceive returns
  // true when frames wait already, in which case the descriptor may stay quiet.
  // ClearWake takes back what made it readable.
  virtual int wake_fd() const noexcept { return -1; }
  virtual bool ArmReceive() noexcept { return false; }
  virtual void ClearWake() noexcept {}

  // The backend's own counts as of now: a fixed list for its lifetime.
  // Serialised with Receive.
  virtual std::span<const BackendCounter> counters() const noexcept {
    return {};
  }

  // One sentence for the user that arose while running (a truncated capture),
  // each returned once; empty when there is none. Control thread.
  virtual std::string TakeWarning() { return {}; }
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_BACKEND_H_
