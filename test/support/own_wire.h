// Names of wires that no other process uses: wires are for the whole machine,
// and so may tests be that run at the same time.

#ifndef WEIR_TEST_SUPPORT_OWN_WIRE_H_
#define WEIR_TEST_SUPPORT_OWN_WIRE_H_

#include <unistd.h>

#include <string>

namespace weir {

// The key of the wire that this process calls `name`; options may follow the
// name. Any thread.
inline std::string OwnWire(const std::string& name) {
  return "wire:" + std::to_string(getpid()) + "-" + name;
}

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_OWN_WIRE_H_
