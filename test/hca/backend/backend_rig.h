// What the tests of all backends do: send frames, take frames, read a counter.

#ifndef WEIR_TEST_HCA_BACKEND_BACKEND_RIG_H_
#define WEIR_TEST_HCA_BACKEND_BACKEND_RIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "weir/hca/backend/backend.h"

namespace weir::hca {

using FrameBytes = std::vector<std::byte>;

// A broadcast frame of `size` bytes with an EtherType for experiments (IEEE
// 802-2014 §9.2.4) and bytes that depend on `number` and place.
FrameBytes PatternFrame(uint64_t number, size_t size);

// Offers `frames` in one Transmit; how many were taken.
size_t Send(Backend& backend, const std::vector<FrameBytes>& frames);

// Copies of up to `max` frames that wait, consumed.
std::vector<FrameBytes> TakeFrames(Backend& backend, size_t max);

// The value of the counter called `name`, which must exist.
uint64_t CounterValue(const Backend& backend, absl::string_view name);

// True if the descriptor that wakes the receiver is readable now.
bool IsReadable(const Backend& backend);

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_BACKEND_BACKEND_RIG_H_
