// What the query verbs answer about a soft device.

#ifndef WEIR_HCA_ATTRIBUTES_H_
#define WEIR_HCA_ATTRIBUTES_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace weir::hca {

class Context;

// The part of ibv_port_attr that libibverbs had before it got a length.
inline constexpr size_t kOldPortAttrBytes =
    offsetof(ibv_port_attr, port_cap_flags2);

// Each returns 0 or an errno value. Those with a size fill as much of the
// caller's struct as both sides know and zero the rest. Any thread.
void QueryDevice(Context& context, ibv_device_attr& attr);
int QueryDeviceEx(Context& context, ibv_device_attr_ex* attr, size_t bytes);
int QueryRtValues(ibv_values_ex& values);
int QueryPort(Context& context, uint8_t number, void* attr, size_t bytes);

// The only entry is 0, link-local from the MAC (RFC 4291 §2.5.6).
int QueryGid(Context& context, uint32_t port, uint32_t index,
             union ibv_gid* gid);
int QueryGidEntry(Context& context, uint32_t port, uint32_t index,
                  ibv_gid_entry* entry, size_t bytes);

// The only key is the default one, at index 0.
int QueryPkey(uint32_t port, int index, __be16* pkey);

}  // namespace weir::hca

#endif  // WEIR_HCA_ATTRIBUTES_H_
