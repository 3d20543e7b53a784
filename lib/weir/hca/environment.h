// Which devices a program gets that names none itself: under LD_PRELOAD the
// environment is the only place to say so.

#ifndef WEIR_HCA_ENVIRONMENT_H_
#define WEIR_HCA_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir::hca {

// A device to be. An empty name stands for one that the table makes up.
struct NamedKey {
  std::string name;
  std::string key;
};

// Splits "name=kind:argument,...;kind:argument" at its semicolons. Names are
// cut to the 63 bytes that ibv_device has room for. Whether a key is good shows
// when the device is opened. Any thread.
std::vector<NamedKey> SplitDeviceList(absl::string_view text);

// Gives the devices that "name=FAULTS;..." names the option `fault=FAULTS`.
// Returns a line for each part that no device has to do with. Any thread.
std::vector<std::string> AddFaults(absl::string_view text,
                                   std::vector<NamedKey>& devices);

// weir_null0, and weir_<netdev> for each Ethernet netdev that is up. Any
// thread.
std::vector<NamedKey> DefaultDevices();

}  // namespace weir::hca

#endif  // WEIR_HCA_ENVIRONMENT_H_
