#include "test/system/soak/numbered_flows.h"

#include <cstring>

namespace weir::testing {
namespace {

// Ethernet, IPv4 (RFC 791 §3.1) from 10.0.0.0 to 10.2.0.1 and UDP to port 53
// without a checksum (RFC 768). The last two bytes of the source and its port
// are the flow's.
constexpr std::array<uint8_t, 42> kHeaders = {
    0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x08, 0x00, 0x45, 0x00, 0x00, 50,   0x00, 0x00, 0x40, 0x00,
    0x40, 0x11, 0x00, 0x00, 10,   0,    0,    0,    10,   2,    0,
    1,    0,    0,    0,    53,   0x00, 30,   0x00, 0x00};
constexpr size_t kIpOffset = 14;
constexpr size_t kIpBytes = 20;
constexpr size_t kIpChecksumOffset = 24;
constexpr size_t kSourceOffset = 28;
constexpr size_t kPortOffset = 34;

// The payload: which flow, which packet of it, and a word that follows from
// both, which other frames do not have.
struct Payload {
  uint64_t number;
  uint64_t mark;
  uint32_t flow;
};
constexpr size_t kPayloadBytes = 20;
static_assert(kHeaders.size() + kPayloadBytes <= kNumberedBytes);

uint64_t MarkOf(uint32_t flow, uint64_t number) {
  return (number + 1) * 0x9e3779b97f4a7c15 ^ uint64_t { flow } << 32 ^
         0x77656972;
}

void Put16(NumberedFrame& frame, size_t offset, uint32_t value) {
  frame[offset] = static_cast<std::byte>(value >> 8);
  frame[offset + 1] = static_cast<std::byte>(value);
}

// RFC 791 §3.1, word by word.
void SetIpChecksum(NumberedFrame& frame) {
  uint32_t sum = 0;
  for (size_t i = kIpOffset; i < kIpOffset + kIpBytes; i += 2) {
    sum += std::to_integer<uint32_t>(frame[i]) << 8 |
           std::to_integer<uint32_t>(frame[i + 1]);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  Put16(frame, kIpChecksumOffset, ~sum);
}

}  // namespace

NumberedFlows::NumberedFlows(uint32_t flows) : next_(flows) {
  for (uint32_t flow = 0; flow <= flows; ++flow) {
    NumberedFrame frame{};
    std::memcpy(frame.data(), kHeaders.data(), kHeaders.size());
    Put16(frame, kSourceOffset, flow);
    Put16(frame, kPortOffset, 1024 + flow * 7919 % 50'000);
    SetIpChecksum(frame);
    templates_.push_back(frame);
  }
}

void NumberedFlows::Write(uint32_t flow, uint64_t number,
                          std::span<std::byte, kNumberedBytes> frame) const {
  std::memcpy(frame.data(), templates_[flow].data(), kNumberedBytes);
  const Payload payload = {number, MarkOf(flow, number), flow};
  std::memcpy(&frame[kHeaders.size()], &payload, kPayloadBytes);
}

void NumberedFlows::WriteNext(std::span<std::byte, kNumberedBytes> frame) {
  Write(flow_, next_[flow_]++, frame);
  if (++flow_ == next_.size()) flow_ = 0;
}

void NumberedFlows::WriteProbe(
    std::span<std::byte, kNumberedBytes> frame) const {
  Write(static_cast<uint32_t>(next_.size()), 0, frame);
}

void NumberedCheck::Add(std::span<const std::byte> frame) {
  Payload payload{};
  if (frame.size() == kNumberedBytes) {
    std::memcpy(&payload, &frame[kHeaders.size()], kPayloadBytes);
  }
  if (payload.mark != MarkOf(payload.flow, payload.number) ||
      payload.flow > next_.size()) {
    ++foreign_;
    return;
  }
  if (payload.flow == next_.size()) {
    ++probes_;
    return;
  }
  ++received_;
  uint64_t& next = next_[payload.flow];
  if (payload.number < next) {
    ++late_;
    return;
  }
  missing_ += payload.number - next;
  next = payload.number + 1;
}

}  // namespace weir::testing
