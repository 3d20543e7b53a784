// The text form of a soft device, `kind:argument[,key=value...]`: how apps,
// environment and tests name one.

#ifndef WEIR_HCA_DEVICE_KEY_H_
#define WEIR_HCA_DEVICE_KEY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::hca {

// A parsed key. `text` is what the user wrote: error messages quote it.
struct DeviceKey {
  std::string text;
  std::string kind;
  std::string argument;
  // In the order given; no key twice.
  std::vector<std::pair<std::string, std::string>> options;

  // The value of option `name`, `fallback` if it was not given.
  absl::string_view Option(absl::string_view name,
                           absl::string_view fallback) const;
};

// Splits `text`. InvalidArgument if there is no "kind:" in front, an option has
// no "=", or an option is given twice. Kinds and option names are not judged
// here. Any thread.
absl::StatusOr<DeviceKey> ParseDeviceKey(absl::string_view text);

// InvalidArgument, listing `known`, if `key` has an option that is not among
// them. Any thread.
absl::Status CheckOptions(const DeviceKey& key,
                          const std::vector<absl::string_view>& known);

// The value of a numeric option. InvalidArgument, naming the key, the value and
// the range, unless it is a decimal number from `min` to `max`. Any thread.
struct NumberRange {
  uint64_t min;
  uint64_t max;
  uint64_t fallback;
};
absl::StatusOr<uint64_t> NumberOption(const DeviceKey& key,
                                      absl::string_view name,
                                      const NumberRange& range);

// The value of a switch option, "on" or "off". InvalidArgument otherwise. Any
// thread.
absl::StatusOr<bool> SwitchOption(const DeviceKey& key, absl::string_view name,
                                  bool fallback);

}  // namespace weir::hca

#endif  // WEIR_HCA_DEVICE_KEY_H_
