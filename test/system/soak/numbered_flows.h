// Packets of many flows with numbers in them: what a soak sends, and what it
// makes of what comes back.

#ifndef WEIR_TEST_SYSTEM_SOAK_NUMBERED_FLOWS_H_
#define WEIR_TEST_SYSTEM_SOAK_NUMBERED_FLOWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::testing {

// Of a frame: an IPv4 datagram of UDP of 64 bytes in all.
inline constexpr size_t kNumberedBytes = 64;
using NumberedFrame = std::array<std::byte, kNumberedBytes>;

// Packets 0, 1, ... of each of `flows` flows, in turn. Flows differ in source
// address and port. One more flow is that of probes, whose numbers say nothing.
class NumberedFlows {
 public:
  explicit NumberedFlows(uint32_t flows);

  // Writes the next packet, or a probe.
  void WriteNext(std::span<std::byte, kNumberedBytes> frame);
  void WriteProbe(std::span<std::byte, kNumberedBytes> frame) const;

 private:
  void Write(uint32_t flow, uint64_t number,
             std::span<std::byte, kNumberedBytes> frame) const;

  std::vector<NumberedFrame> templates_;
  std::vector<uint64_t> next_;
  uint32_t flow_ = 0;
};

// What came, in the order in which it came.
class NumberedCheck {
 public:
  explicit NumberedCheck(uint32_t flows) : next_(flows) {}

  void Add(std::span<const std::byte> frame);

  // Packets of flows, each of which is none of the others; those that a number
  // before them was missing of, so many numbers in all; those whose number had
  // come already or was to come before one that had.
  uint64_t received() const { return received_; }
  uint64_t missing() const { return missing_; }
  uint64_t late() const { return late_; }
  uint64_t probes() const { return probes_; }
  // Frames that are not ours, or not as they were sent.
  uint64_t foreign() const { return foreign_; }

 private:
  std::vector<uint64_t> next_;
  uint64_t received_ = 0;
  uint64_t missing_ = 0;
  uint64_t late_ = 0;
  uint64_t probes_ = 0;
  uint64_t foreign_ = 0;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SYSTEM_SOAK_NUMBERED_FLOWS_H_
