#include "test/hca/backend/backend_rig.h"

#include <poll.h>

#include <algorithm>
#include <span>

#include "gtest/gtest.h"

namespace weir::hca {

FrameBytes PatternFrame(uint64_t number, size_t size) {
  FrameBytes frame(size);
  for (size_t i = 0; i < size; ++i) {
    frame[i] = static_cast<std::byte>(number * 131 + i * 7);
  }
  const std::vector<int> header = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
                                   0,    0,    0,    0,    1,    0x88, 0xb5};
  for (size_t i = 0; i < std::min(size, header.size()); ++i) {
    frame[i] = static_cast<std::byte>(header[i]);
  }
  return frame;
}

size_t Send(Backend& backend, const std::vector<FrameBytes>& frames) {
  // iovec has no const form; nobody writes through it.
  std::vector<FrameBytes> copies = frames;
  std::vector<iovec> segments;
  for (FrameBytes& copy : copies) {
    segments.push_back({copy.data(), copy.size()});
  }
  std::vector<TxFrame> sent;
  for (const iovec& segment : segments) {
    sent.push_back({.segments = std::span(&segment, 1),
                    .length_bytes = static_cast<uint32_t>(segment.iov_len)});
  }
  return backend.Transmit(sent);
}

std::vector<FrameBytes> TakeFrames(Backend& backend, size_t max) {
  std::vector<FrameBytes> taken;
  while (taken.size() < max) {
    const std::span<const RxFrame> frames = backend.Receive(max - taken.size());
    if (frames.empty()) break;
    for (const RxFrame& frame : frames) {
      taken.emplace_back(frame.data, frame.data + frame.length_bytes);
    }
    backend.Consume(frames.size());
  }
  return taken;
}

uint64_t CounterValue(const Backend& backend, absl::string_view name) {
  for (const BackendCounter& counter : backend.counters()) {
    if (counter.name == name) return counter.value.value();
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

bool IsReadable(const Backend& backend) {
  pollfd waiting = {.fd = backend.wake_fd(), .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) == 1;
}

}  // namespace weir::hca
