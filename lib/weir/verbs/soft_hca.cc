#include "weir/verbs/soft_hca.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/hca_control/hca_control.h"

namespace weir::verbs {
namespace {

// Longer lines are cut by the software HCA.
constexpr size_t kTextBytes = 512;

using Text = std::array<char, kTextBytes>;

}  // namespace

bool IsSoftHcaLoaded() { return weir_hca_add_device != nullptr; }

absl::StatusOr<std::string> AddSoftDevice(absl::string_view key) {
  if (!IsSoftHcaLoaded()) {
    return absl::FailedPreconditionError(
        absl::StrCat(key,
                     ": this program has no software HCA; link //:hca or "
                     "preload libweir_hca.so"));
  }
  std::array<char, 64> name{};
  Text text{};
  const int error = weir_hca_add_device(std::string(key).c_str(), name.data(),
                                        text.data(), text.size());
  if (error != 0) {
    return absl::Status(absl::ErrnoToStatusCode(error), text.data());
  }
  return std::string(name.data());
}

std::optional<SoftDeviceInfo> QuerySoftDevice(ibv_context* context) {
  weir_hca_info info{};
  if (weir_hca_query == nullptr || weir_hca_query(context, &info) != 0) {
    return std::nullopt;
  }
  SoftDeviceInfo result;
  result.netdev = info.netdev;
  result.mode = info.mode;
  result.mtu_bytes = info.mtu_bytes;
  result.numa_node = info.numa_node;
  std::copy(std::begin(info.mac), std::end(info.mac),
            result.mac.octets.begin());
  return result;
}

bool IsSoftDeviceFinished(ibv_context* context) noexcept {
  weir_hca_info info{};
  return weir_hca_query != nullptr && weir_hca_query(context, &info) == 0 &&
         info.finished != 0;
}

std::vector<std::pair<std::string, uint64_t>> SoftDeviceCounters(
    ibv_context* context) {
  std::vector<std::pair<std::string, uint64_t>> counters;
  if (weir_hca_read_counter == nullptr) return counters;
  const char* name = nullptr;
  uint64_t value = 0;
  for (unsigned i = 0; weir_hca_read_counter(context, i, &name, &value) == 0;
       ++i) {
    counters.emplace_back(name, value);
  }
  return counters;
}

std::string TakeSoftDeviceWarning(ibv_context* context) {
  Text text{};
  if (weir_hca_take_warning == nullptr ||
      weir_hca_take_warning(context, text.data(), text.size()) != 0) {
    return {};
  }
  return text.data();
}

bool WaitsForMedium(ibv_qp* qp) noexcept {
  return weir_hca_waits_for_medium != nullptr &&
         weir_hca_waits_for_medium(qp) != 0;
}

std::string SoftDeviceOpenError(ibv_device* device) {
  Text text{};
  if (weir_hca_open_error == nullptr ||
      weir_hca_open_error(device, text.data(), text.size()) != 0) {
    return {};
  }
  return text.data();
}

}  // namespace weir::verbs
