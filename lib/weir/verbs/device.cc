#include "weir/verbs/device.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

// The array of ibv_get_device_list. Without RDMA in the kernel the call says
// ENOSYS; that is an empty list.
class DeviceList {
 public:
  DeviceList() : devices_(ibv_get_device_list(&count_)) {}

  std::span<ibv_device* const> devices() const {
    if (devices_ == nullptr) return {};
    return {devices_.get(), static_cast<size_t>(count_)};
  }

 private:
  struct Free {
    void operator()(ibv_device** devices) const noexcept {
      ibv_free_device_list(devices);
    }
  };

  int count_ = 0;
  std::unique_ptr<ibv_device*, Free> devices_;
};

std::vector<std::string> Names(const DeviceList& list) {
  std::vector<std::string> names;
  for (ibv_device* device : list.devices()) {
    names.emplace_back(ibv_get_device_name(device));
  }
  return names;
}

// A device node that the user may not open makes the real library say ENOENT.
absl::string_view OpenRemedy(int error_number) {
  switch (error_number) {
    case ENOENT:
    case EACCES:
      return "is /dev/infiniband/uverbs* readable and writable for this user?";
    case EPERM:
      return "needs CAP_NET_RAW";
    default:
      return {};
  }
}

absl::Status OpenError(ibv_device* device, absl::string_view name,
                       int error_number) {
  const std::string text = SoftDeviceOpenError(device);
  if (!text.empty()) {
    return absl::Status(absl::ErrnoToStatusCode(error_number), text);
  }
  return ErrnoStatus(error_number, {.object = name,
                                    .call = "ibv_open_device",
                                    .remedy = OpenRemedy(error_number)});
}

// A device that knows no extended attributes has no RSS.
RssLimits QueryRss(ibv_context* context) {
  ibv_device_attr_ex device{};
  if (ibv_query_device_ex(context, nullptr, &device) != 0) return {};
  const ibv_rss_caps& caps = device.rss_caps;
  if ((caps.supported_qpts & (1U << IBV_QPT_RAW_PACKET)) == 0 ||
      (caps.rx_hash_function & IBV_RX_HASH_FUNC_TOEPLITZ) == 0) {
    return {};
  }
  return {.work_queues = device.max_wq_type_rq,
          .table_entries = caps.max_rwq_indirection_table_size,
          .hash_fields = caps.rx_hash_fields_mask};
}

}  // namespace

std::vector<std::string> DeviceNames() { return Names(DeviceList()); }

absl::StatusOr<Device> Device::Open(absl::string_view name) {
  const DeviceList list;
  const auto devices = list.devices();
  const auto found =
      std::find_if(devices.begin(), devices.end(), [name](ibv_device* device) {
        return name == ibv_get_device_name(device);
      });
  if (found == devices.end()) {
    const std::vector<std::string> names = Names(list);
    return absl::NotFoundError(
        absl::StrCat(name, ": no such verbs device; found ",
                     names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  errno = 0;
  ibv_context* context = ibv_open_device(*found);
  if (context == nullptr) {
    return OpenError(*found, name, errno == 0 ? ENODEV : errno);
  }
  Device device(std::string(name), context);
  const int error = ibv_query_device(context, &device.attributes_);
  if (error != 0) {
    return ErrnoStatus(error, {.object = name, .call = "ibv_query_device"});
  }
  device.rss_ = QueryRss(context);
  return device;
}

absl::StatusOr<ibv_port_attr> Device::QueryPort(uint8_t number) const {
  if (number == 0 || number > attributes_.phys_port_cnt) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ":", static_cast<int>(number),
                     ": no such port; the device has ports 1 to ",
                     static_cast<int>(attributes_.phys_port_cnt)));
  }
  ibv_port_attr attributes{};
  const int error = ibv_query_port(context(), number, &attributes);
  if (error != 0) {
    return ErrnoStatus(error, {.object = name_, .call = "ibv_query_port"});
  }
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ":", static_cast<int>(number),
                     ": not an Ethernet port; set its link type to Ethernet"));
  }
  return attributes;
}

}  // namespace weir::verbs
