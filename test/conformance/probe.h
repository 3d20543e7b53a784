// What a device can do, asked in the way that programs ask.

#ifndef WEIR_TEST_CONFORMANCE_PROBE_H_
#define WEIR_TEST_CONFORMANCE_PROBE_H_

#include <cstdint>
#include <string>

#include "test/conformance/lab.h"

namespace weir::conformance {

// The capabilities, of Need, of the lab's device. One line in `error` if it
// cannot do raw packets at all, or not for this user.
uint32_t Probe(Lab& lab, std::string& error);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_PROBE_H_
