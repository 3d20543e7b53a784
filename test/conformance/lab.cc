#include "test/conformance/lab.h"

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"

namespace weir::conformance {

void Lab::SetLink(bool) { ADD_FAILURE() << facts_.why_not(kLink); }

const std::vector<Bytes>& Lab::Observe(size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    Collect();
  } while (sent_.size() < count && std::chrono::steady_clock::now() < deadline);
  return sent_;
}

DeviceList::DeviceList() : list_(ibv_get_device_list(&count_)) {}

DeviceList::~DeviceList() {
  if (list_ != nullptr) ibv_free_device_list(list_);
}

ibv_device* DeviceList::Find(const std::string& name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (name == ibv_get_device_name(at(i))) return at(i);
  }
  return nullptr;
}

std::string DeviceList::names() const {
  std::string text;
  for (size_t i = 0; i < size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(ibv_get_device_name(at(i)));
  }
  return text.empty() ? "none" : text;
}

ibv_context* OpenDevice(ibv_device* device) {
  if (device == nullptr) {
    ADD_FAILURE() << "there is no device to open";
    return nullptr;
  }
  ibv_context* const context = ibv_open_device(device);
  if (context == nullptr) {
    ADD_FAILURE() << "ibv_open_device: " << std::strerror(errno);
  }
  return context;
}

}  // namespace weir::conformance
