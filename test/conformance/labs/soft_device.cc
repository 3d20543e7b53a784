#include "test/conformance/labs/soft_device.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "test/conformance/lab.h"
#include "weir/hca_control/hca_control.h"

namespace weir::conformance {

ibv_device* AddSoftDevice(const std::string& key, std::string& error) {
  std::array<char, 64> name{};
  std::array<char, 256> text{};
  if (weir_hca_add_device(key.c_str(), name.data(), text.data(), text.size()) !=
      0) {
    error = text.data();
    return nullptr;
  }
  return DeviceList().Find(name.data());
}

std::string OpenError(ibv_device* device) {
  const std::string reason = std::strerror(errno);
  std::array<char, 256> text{};
  return weir_hca_open_error(device, text.data(), text.size()) == 0
             ? std::string(text.data())
             : reason;
}

}  // namespace weir::conformance
