// Entry points about devices, contexts and what they report.

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "weir/hca/abi/owner.h"
#include "weir/hca/abi/real_library.h"
#include "weir/hca/attributes.h"
#include "weir/hca/context.h"
#include "weir/hca/device_table.h"
#include "weir/hca/refuse.h"

#undef ibv_get_device_list
#undef ibv_query_port

using weir::hca::Context;
using weir::hca::Device;
using weir::hca::DeviceTable;
using weir::hca::IfMemory;
using weir::hca::OwnContext;
using weir::hca::RealFunction;

namespace {

constinit RealFunction<ibv_device**(int*)> real_get_device_list{
    "ibv_get_device_list", "IBVERBS_1.1"};
constinit RealFunction<void(ibv_device**)> real_free_device_list{
    "ibv_free_device_list", "IBVERBS_1.1"};

Device* OwnDevice(const ibv_device* device) {
  return DeviceTable::Get().Find(device);
}

// Null if there is no memory. In front of it is the list of the real library,
// which wants it back.
ibv_device** ListOf(ibv_device** real, size_t real_count,
                    const std::vector<Device*>& own) {
  auto** const block = static_cast<ibv_device**>(
      std::calloc(real_count + own.size() + 2, sizeof(ibv_device*)));
  if (block == nullptr) return nullptr;
  block[0] = reinterpret_cast<ibv_device*>(real);
  ibv_device** const end = std::copy_n(real, real_count, block + 1);
  std::ranges::copy(own, end);
  return block + 1;
}

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* num_devices) {
  int real_count = 0;
  ibv_device** const real = real_get_device_list(&real_count);
  if (real == nullptr) real_count = 0;
  ibv_device** const list = IfMemory<ibv_device**>(
      [=] {
        const DeviceTable::Listing own = DeviceTable::Get().List();
        for (const std::string& warning : own.warnings) {
          std::fprintf(stderr, "weir_hca: %s\n", warning.c_str());
        }
        return ListOf(real, static_cast<size_t>(real_count), own.devices);
      },
      nullptr);
  if (list == nullptr) {
    if (real != nullptr) real_free_device_list(real);
    errno = ENOMEM;
    return nullptr;
  }
  if (num_devices != nullptr) {
    *num_devices = real_count;
    while (list[*num_devices] != nullptr) ++*num_devices;
  }
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  if (list == nullptr) return;
  ibv_device** const block = list - 1;
  auto** const real = reinterpret_cast<ibv_device**>(block[0]);
  if (real != nullptr) real_free_device_list(real);
  std::free(block);
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

int ibv_get_device_index(ibv_device* device) {
  static constinit RealFunction<int(ibv_device*)> real{"ibv_get_device_index",
                                                       "IBVERBS_1.9"};
  if (OwnDevice(device) != nullptr || !real.exists()) return -1;
  return real(device);
}

__be64 ibv_get_device_guid(ibv_device* device) {
  static constinit RealFunction<__be64(ibv_device*)> real{"ibv_get_device_guid",
                                                          "IBVERBS_1.1"};
  if (Device* own = OwnDevice(device)) return own->guid();
  return real.exists() ? real(device) : 0;
}

ibv_context* ibv_open_device(ibv_device* device) {
  static constinit RealFunction<ibv_context*(ibv_device*)> real{
      "ibv_open_device", "IBVERBS_1.1"};
  Device* own = OwnDevice(device);
  if (own == nullptr) return real(device);
  Context* opened = Context::Open(*own);
  if (opened != nullptr) return &opened->context;
  const int error = errno;
  if (own->origin() == Device::Origin::kEnvironment) {
    const auto why = [own] { return own->open_error(); };
    std::fprintf(stderr, "weir_hca: %s: %s\n", device->name,
                 IfMemory<std::string>(why, "out of memory").c_str());
  }
  errno = error;
  return nullptr;
}

int ibv_close_device(ibv_context* context) {
  static constinit RealFunction<int(ibv_context*)> real{"ibv_close_device",
                                                        "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  return own != nullptr ? own->Close() : real(context);
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  static constinit RealFunction<int(ibv_context*, ibv_async_event*)> real{
      "ibv_get_async_event", "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  return own != nullptr ? own->TakeAsyncEvent(*event) : real(context, event);
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  static constinit RealFunction<int(ibv_context*, ibv_device_attr*)> real{
      "ibv_query_device", "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  if (own == nullptr) return real(context, attr);
  weir::hca::QueryDevice(*own, *attr);
  return 0;
}

// The symbol has the struct of old; the macro of the same name goes through
// verbs_context.
int ibv_query_port(ibv_context* context, uint8_t port,
                   _compat_ibv_port_attr* attr) {
  static constinit RealFunction<int(ibv_context*, uint8_t,
                                    _compat_ibv_port_attr*)>
      real{"ibv_query_port", "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  if (own == nullptr) return real(context, port, attr);
  return weir::hca::QueryPort(*own, port, attr, weir::hca::kOldPortAttrBytes);
}

// ibv_query_gid and ibv_query_pkey return -1, as they always did.
int ibv_query_gid(ibv_context* context, uint8_t port, int index,
                  union ibv_gid* gid) {
  static constinit RealFunction<int(ibv_context*, uint8_t, int, union ibv_gid*)>
      real{"ibv_query_gid", "IBVERBS_1.1"};
  Context* own = OwnContext(context);
  if (own == nullptr) return real(context, port, index, gid);
  errno = index < 0 ? EINVAL
                    : weir::hca::QueryGid(*own, port,
                                          static_cast<uint32_t>(index), gid);
  return errno == 0 ? 0 : -1;
}

int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index,
                      ibv_gid_entry* entry, uint32_t flags, size_t bytes) {
  static constinit RealFunction<int(ibv_context*, uint32_t, uint32_t,
                                    ibv_gid_entry*, uint32_t, size_t)>
      real{"_ibv_query_gid_ex", "IBVERBS_1.11"};
  Context* own = OwnContext(context);
  if (own == nullptr) return real(context, port, index, entry, flags, bytes);
  if (flags != 0) return EOPNOTSUPP;
  return weir::hca::QueryGidEntry(*own, port, index, entry, bytes);
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                             size_t max, uint32_t flags, size_t bytes) {
  static constinit RealFunction<ssize_t(ibv_context*, ibv_gid_entry*, size_t,
                                        uint32_t, size_t)>
      real{"_ibv_query_gid_table", "IBVERBS_1.11"};
  Context* own = OwnContext(context);
  if (own == nullptr) {
    return real.exists() ? real(context, entries, max, flags, bytes)
                         : -EOPNOTSUPP;
  }
  if (flags != 0) return -EOPNOTSUPP;
  if (max < 1) return -EINVAL;
  return weir::hca::QueryGidEntry(*own, 1, 0, entries, bytes) == 0 ? 1
                                                                   : -EINVAL;
}

// Private to libibverbs and its tools: 1 is RoCE v2 here.
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index,
                       unsigned* type) {
  static constinit RealFunction<int(ibv_context*, uint8_t, unsigned, unsigned*)>
      real{"ibv_query_gid_type", nullptr};
  if (OwnContext(context) == nullptr) return real(context, port, index, type);
  errno = index == 0 ? 0 : EINVAL;
  *type = 1;
  return errno == 0 ? 0 : -1;
}

int ibv_query_pkey(ibv_context* context, uint8_t port, int index,
                   __be16* pkey) {
  static constinit RealFunction<int(ibv_context*, uint8_t, int, __be16*)> real{
      "ibv_query_pkey", "IBVERBS_1.1"};
  if (OwnContext(context) == nullptr) return real(context, port, index, pkey);
  errno = weir::hca::QueryPkey(port, index, pkey);
  return errno == 0 ? 0 : -1;
}

int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
  static constinit RealFunction<int(ibv_context*, uint8_t, __be16)> real{
      "ibv_get_pkey_index", "IBVERBS_1.5"};
  if (OwnContext(context) == nullptr) {
    return real.exists() ? real(context, port, pkey) : -1;
  }
  __be16 only = 0;
  return weir::hca::QueryPkey(port, 0, &only) == 0 && only == pkey ? 0 : -1;
}

}  // extern "C"
