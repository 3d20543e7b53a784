// Entry points that have no meaning for raw packets: EOPNOTSUPP for soft
// objects, the real library's business otherwise. All have to be here: one that
// is missing would take a soft context into the real library, which looks for
// its private part there.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>

#include "weir/hca/abi/owner.h"
#include "weir/hca/abi/real_library.h"

using weir::hca::OwnContext;
using weir::hca::RealFunction;

namespace {

template <typename T>
T* NotSupported() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  static constinit RealFunction<ibv_ah*(ibv_pd*, ibv_ah_attr*)> real{
      "ibv_create_ah", "IBVERBS_1.1"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_ah>();
  return real(pd, attr);
}

int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc,
                        ibv_grh* grh, ibv_ah_attr* attr) {
  static constinit RealFunction<int(ibv_context*, uint8_t, ibv_wc*, ibv_grh*,
                                    ibv_ah_attr*)>
      real{"ibv_init_ah_from_wc", "IBVERBS_1.1"};
  if (OwnContext(context) == nullptr) return real(context, port, wc, grh, attr);
  errno = EOPNOTSUPP;
  return -1;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh,
                              uint8_t port) {
  static constinit RealFunction<ibv_ah*(ibv_pd*, ibv_wc*, ibv_grh*, uint8_t)>
      real{"ibv_create_ah_from_wc", "IBVERBS_1.1"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_ah>();
  return real(pd, wc, grh, port);
}

int ibv_destroy_ah(ibv_ah* ah) {
  static constinit RealFunction<int(ibv_ah*)> real{"ibv_destroy_ah",
                                                   "IBVERBS_1.1"};
  return OwnContext(ah->context) != nullptr ? EOPNOTSUPP : real(ah);
}

int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr,
                                uint8_t mac[ETHERNET_LL_SIZE], uint16_t* vid) {
  static constinit RealFunction<int(ibv_context*, ibv_ah_attr*, uint8_t*,
                                    uint16_t*)>
      real{"ibv_resolve_eth_l2_from_gid", "IBVERBS_1.1"};
  return OwnContext(context) != nullptr ? EOPNOTSUPP
                                        : real(context, attr, mac, vid);
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  static constinit RealFunction<ibv_srq*(ibv_pd*, ibv_srq_init_attr*)> real{
      "ibv_create_srq", "IBVERBS_1.1"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_srq>();
  return real(pd, attr);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  static constinit RealFunction<int(ibv_srq*, ibv_srq_attr*, int)> real{
      "ibv_modify_srq", "IBVERBS_1.1"};
  return OwnContext(srq->context) != nullptr ? EOPNOTSUPP
                                             : real(srq, attr, mask);
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  static constinit RealFunction<int(ibv_srq*, ibv_srq_attr*)> real{
      "ibv_query_srq", "IBVERBS_1.1"};
  return OwnContext(srq->context) != nullptr ? EOPNOTSUPP : real(srq, attr);
}

int ibv_destroy_srq(ibv_srq* srq) {
  static constinit RealFunction<int(ibv_srq*)> real{"ibv_destroy_srq",
                                                    "IBVERBS_1.1"};
  return OwnContext(srq->context) != nullptr ? EOPNOTSUPP : real(srq);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length,
                          uint64_t iova, int fd, int access) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, uint64_t, size_t, uint64_t,
                                        int, int)>
      real{"ibv_reg_dmabuf_mr", "IBVERBS_1.12"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_mr>();
  return real(pd, offset, length, iova, fd, access);
}

int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode,
                               uint32_t flags) {
  static constinit RealFunction<int(ibv_qp*, ibv_wr_opcode, uint32_t)> real{
      "ibv_query_qp_data_in_order", "IBVERBS_1.14"};
  if (OwnContext(qp->context) != nullptr || !real.exists()) return 0;
  return real(qp, opcode, flags);
}

int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  static constinit RealFunction<int(ibv_qp*, ibv_ece*)> real{"ibv_query_ece",
                                                             "IBVERBS_1.10"};
  return OwnContext(qp->context) != nullptr ? EOPNOTSUPP : real(qp, ece);
}

int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  static constinit RealFunction<int(ibv_qp*, ibv_ece*)> real{"ibv_set_ece",
                                                             "IBVERBS_1.10"};
  return OwnContext(qp->context) != nullptr ? EOPNOTSUPP : real(qp, ece);
}

// A command descriptor is always of a real device.
ibv_context* ibv_import_device(int cmd_fd) {
  static constinit RealFunction<ibv_context*(int)> real{"ibv_import_device",
                                                        "IBVERBS_1.10"};
  return real(cmd_fd);
}

ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  static constinit RealFunction<ibv_pd*(ibv_context*, uint32_t)> real{
      "ibv_import_pd", "IBVERBS_1.10"};
  if (OwnContext(context) != nullptr) return NotSupported<ibv_pd>();
  return real(context, handle);
}

void ibv_unimport_pd(ibv_pd* pd) {
  static constinit RealFunction<void(ibv_pd*)> real{"ibv_unimport_pd",
                                                    "IBVERBS_1.10"};
  if (OwnContext(pd->context) == nullptr) real(pd);
}

ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  static constinit RealFunction<ibv_mr*(ibv_pd*, uint32_t)> real{
      "ibv_import_mr", "IBVERBS_1.10"};
  if (OwnContext(pd->context) != nullptr) return NotSupported<ibv_mr>();
  return real(pd, handle);
}

void ibv_unimport_mr(ibv_mr* mr) {
  static constinit RealFunction<void(ibv_mr*)> real{"ibv_unimport_mr",
                                                    "IBVERBS_1.10"};
  if (OwnContext(mr->context) == nullptr) real(mr);
}

ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  static constinit RealFunction<ibv_dm*(ibv_context*, uint32_t)> real{
      "ibv_import_dm", "IBVERBS_1.13"};
  if (OwnContext(context) != nullptr) return NotSupported<ibv_dm>();
  return real(context, handle);
}

void ibv_unimport_dm(ibv_dm* dm) {
  static constinit RealFunction<void(ibv_dm*)> real{"ibv_unimport_dm",
                                                    "IBVERBS_1.13"};
  if (OwnContext(dm->context) == nullptr) real(dm);
}

}  // extern "C"
