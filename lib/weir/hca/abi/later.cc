// Entry points of rdma-core after version 44, whose header we build against. A
// program that was built against a later one may call them with a soft object.
// Those that take only objects which no soft device hands out need no entry.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "weir/hca/abi/owner.h"
#include "weir/hca/abi/real_library.h"

using weir::hca::OwnContext;
using weir::hca::RealFunction;

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;

namespace {

// What ibv_query_port says, 100 Gb/s, in units of 100 Mb/s.
constexpr uint64_t kPortSpeed = 1000;

template <typename T>
T* NotSupported() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

extern "C" {

ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attr);
ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr);
int ibv_query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed);
void* ibv_alloc_buf(ibv_pd* pd, size_t size, ibv_buf** buf);
ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buf, void* address, size_t length,
                       int access);
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context,
                                    ibv_comp_cntr_init_attr* attr);
int ibv_query_comp_cntr_caps(ibv_context* context, ibv_comp_cntr_caps* caps);

ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attr) {
  static constinit RealFunction<ibv_dmah*(ibv_context*, ibv_dmah_init_attr*)>
      real{"ibv_alloc_dmah", "IBVERBS_1.15"};
  if (OwnContext(context) != nullptr) return NotSupported<ibv_dmah>();
  return real(context, attr);
}

ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, ibv_mr_init_attr*)> real{
      "ibv_reg_mr_ex", "IBVERBS_1.15"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_mr>();
  return real(pd, attr);
}

int ibv_query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed) {
  static constinit RealFunction<int(ibv_context*, uint32_t, uint64_t*)> real{
      "ibv_query_port_speed", "IBVERBS_1.16"};
  if (OwnContext(context) == nullptr) return real(context, port, speed);
  if (port != 1) return EINVAL;
  *speed = kPortSpeed;
  return 0;
}

void* ibv_alloc_buf(ibv_pd* pd, size_t size, ibv_buf** buf) {
  static constinit RealFunction<void*(ibv_pd*, size_t, ibv_buf**)> real{
      "ibv_alloc_buf", "IBVERBS_1.17"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<void>();
  return real(pd, size, buf);
}

ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buf, void* address, size_t length,
                       int access) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, ibv_buf*, void*, size_t, int)>
      real{"ibv_reg_buf_mr", "IBVERBS_1.17"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_mr>();
  return real(pd, buf, address, length, access);
}

ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context,
                                    ibv_comp_cntr_init_attr* attr) {
  static constinit RealFunction<ibv_comp_cntr*(ibv_context*,
                                               ibv_comp_cntr_init_attr*)>
      real{"ibv_create_comp_cntr", "IBVERBS_1.18"};
  if (OwnContext(context) != nullptr) return NotSupported<ibv_comp_cntr>();
  return real(context, attr);
}

int ibv_query_comp_cntr_caps(ibv_context* context, ibv_comp_cntr_caps* caps) {
  static constinit RealFunction<int(ibv_context*, ibv_comp_cntr_caps*)> real{
      "ibv_query_comp_cntr_caps", "IBVERBS_1.18"};
  return OwnContext(context) != nullptr ? EOPNOTSUPP : real(context, caps);
}

}  // extern "C"
