// A check: one sentence about what the verbs API does with raw packet queue
// pairs, which a device keeps or breaks.

#ifndef WEIR_TEST_CONFORMANCE_CHECK_H_
#define WEIR_TEST_CONFORMANCE_CHECK_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::conformance {

class Lab;

// What a check needs of its surroundings or of the device, one bit each. A lab
// that lacks one cannot make the check: it is "n/a" there, with the reason.
enum Need : uint32_t {
  // Of the lab.
  kNothing = 0,
  // Frames come in while the device is polled; any frames will do.
  kArrivals = 1u << 0,
  // Those frames come in that the check chose, in its order, and no others.
  kInject = 1u << 1,
  // They come in when the check says so, not before.
  kLive = 1u << 2,
  // What the device sends is seen.
  kObserve = 1u << 3,
  // A frame without a posted receive waits for one.
  kHolds = 1u << 4,
  // A frame without a posted receive is dropped.
  kDrops = 1u << 5,
  // What the API leaves to the device and soft devices promise.
  kStrict = 1u << 6,
  // Frames below 60 bytes are carried as they are.
  kRunts = 1u << 7,
  // The link of the port can be cut.
  kLink = 1u << 8,

  // Of the device: capabilities, found out by Probe.
  kChecksumCap = 1u << 16,
  kTsoCap = 1u << 17,
  kCvlanCap = 1u << 18,
  kScatterFcsCap = 1u << 19,
  kExtendedCqCap = 1u << 20,
  kTimestampCap = 1u << 21,
  kFlowTagCap = 1u << 22,
  kExtendedQpCap = 1u << 23,
  kRssCap = 1u << 24,
  kFlowDropCap = 1u << 25,
  kFlowCountCap = 1u << 26,
  kDontTrapCap = 1u << 27,
  kSnifferCap = 1u << 28,
  kMulticastCap = 1u << 29,
};

inline constexpr uint32_t kCapabilities = 0xffff0000u;

// The name of one bit, for tables: "inject", "TSO".
std::string_view NameOf(Need need);

struct Check {
  // "subject.what_holds"; unique.
  const char* name;
  // Of Need.
  uint32_t needs;
  // Reports what does not hold as a failure of GoogleTest.
  void (*run)(Lab& lab);
};

using CheckList = std::span<const Check>;

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_CHECK_H_
