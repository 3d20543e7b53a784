// The functions of hca_control.h.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/hca/abi/owner.h"
#include "weir/hca/backend/impair/impairment.h"
#include "weir/hca/context.h"
#include "weir/hca/device_table.h"
#include "weir/hca/fault.h"
#include "weir/hca/queue_pair.h"
#include "weir/hca/refuse.h"
#include "weir/hca_control/hca_control.h"

using weir::hca::Context;
using weir::hca::Device;
using weir::hca::DeviceTable;
using weir::hca::IfMemory;
using weir::hca::OwnContext;
using weir::hca::QueuePair;

namespace {

void PutText(std::span<char> to, absl::string_view text) {
  if (to.empty()) return;
  const size_t size = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), size);
  to[size] = '\0';
}

// What `call` returns, or ENOMEM and a line that says so.
template <typename Call>
int OrNoMemory(char* text, size_t text_bytes, Call call) {
  const int result = IfMemory<int>(call, ENOMEM);
  if (result == ENOMEM) PutText({text, text_bytes}, "out of memory");
  return result;
}

}  // namespace

extern "C" {

int weir_hca_add_device(const char* key, char name[64], char* text,
                        size_t text_bytes) {
  return OrNoMemory(text, text_bytes, [=] {
    const auto device = DeviceTable::Get().AddFromProgram(key);
    if (device.ok()) {
      PutText({name, 64}, (*device)->name);
      return 0;
    }
    PutText({text, text_bytes}, device.status().message());
    return absl::IsResourceExhausted(device.status()) ? ENOSPC : EINVAL;
  });
}

int weir_hca_open_error(ibv_device* device, char* text, size_t text_bytes) {
  Device* own = DeviceTable::Get().Find(device);
  if (own == nullptr) return ENOENT;
  return OrNoMemory(text, text_bytes, [=] {
    const std::string error = own->open_error();
    if (error.empty()) return ENOENT;
    PutText({text, text_bytes}, error);
    return 0;
  });
}

int weir_hca_query(ibv_context* context, weir_hca_info* info) {
  Context* own = OwnContext(context);
  if (own == nullptr) return ENOENT;
  *info = {};
  PutText(info->netdev, own->port().info().netdev);
  PutText(info->mode, own->port().info().mode);
  info->mtu_bytes = own->port().info().mtu_bytes;
  info->numa_node = own->port().info().numa_node;
  std::copy(own->port().mac().octets.begin(), own->port().mac().octets.end(),
            info->mac);
  info->finished = own->port().finished() ? 1 : 0;
  return 0;
}

int weir_hca_read_counter(ibv_context* context, unsigned index,
                          const char** name, uint64_t* value) {
  Context* own = OwnContext(context);
  absl::string_view text;
  if (own == nullptr || !own->port().ReadCounter(index, text, *value)) {
    return ENOENT;
  }
  *name = text.data();
  return 0;
}

int weir_hca_take_warning(ibv_context* context, char* text, size_t text_bytes) {
  Context* own = OwnContext(context);
  if (own == nullptr) return ENOENT;
  return OrNoMemory(text, text_bytes, [=] {
    const std::string warning = own->port().TakeWarning();
    if (warning.empty()) return ENOENT;
    PutText({text, text_bytes}, warning);
    return 0;
  });
}

int weir_hca_inject(ibv_context* context, const char* fault, char* text,
                    size_t text_bytes) {
  Context* own = OwnContext(context);
  if (own == nullptr) return ENOENT;
  return OrNoMemory(text, text_bytes, [=] {
    const auto parsed = weir::hca::ParseFault(fault, "fault");
    if (!parsed.ok()) {
      PutText({text, text_bytes}, parsed.status().message());
      return EINVAL;
    }
    own->port().Inject(*parsed);
    return 0;
  });
}

int weir_hca_waits_for_medium(ibv_qp* qp) {
  if (OwnContext(qp->context) == nullptr) return 0;
  return QueuePair::Of(qp).WaitsForMedium() ? 1 : 0;
}

int weir_hca_impair(ibv_context* context, const char* options, char* text,
                    size_t text_bytes) {
  Context* own = OwnContext(context);
  if (own == nullptr) return ENOENT;
  return OrNoMemory(text, text_bytes, [=] {
    const auto impairment = weir::hca::ParseImpairmentOptions(options);
    if (!impairment.ok()) {
      PutText({text, text_bytes}, impairment.status().message());
      return EINVAL;
    }
    const absl::Status status = own->port().Impair(*impairment);
    if (status.ok()) return 0;
    PutText({text, text_bytes}, status.message());
    return EMFILE;
  });
}

}  // extern "C"
