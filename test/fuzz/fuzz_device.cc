#include "test/fuzz/fuzz_device.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>

#include "test/fuzz/input.h"
#include "weir/hca_control/hca_control.h"

namespace weir::fuzz {
namespace {

ibv_context* Open(const char* key) {
  char name[64] = "";
  char text[256] = "";
  Require(weir_hca_add_device(key, name, text, sizeof(text)) == 0, text);
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* context = nullptr;
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::strcmp(ibv_get_device_name(*at), name) == 0) {
      context = ibv_open_device(*at);
    }
  }
  ibv_free_device_list(list);
  Require(context != nullptr, "the device opens");
  return context;
}

}  // namespace

std::string FuzzWire(const char* name) {
  return std::string("wire:") + name + "_" + std::to_string(getpid());
}

FuzzDevice::FuzzDevice(const char* key)
    : context(Open(key)),
      pd(ibv_alloc_pd(context)),
      cq(ibv_create_cq(context, 1024, nullptr, nullptr, 0)),
      memory_(kBuffers * kBufferBytes) {
  // Not a constant: clang warns of the macro's comparisons of constants.
  int access = IBV_ACCESS_LOCAL_WRITE;
  mr = ibv_reg_mr(pd, memory_.data(), memory_.size(), access);
  Require(pd != nullptr && cq != nullptr && mr != nullptr, "objects are made");
}

FuzzDevice::~FuzzDevice() {
  for (ibv_qp* qp : qps_) Require(ibv_destroy_qp(qp) == 0, "QPs are unused");
  Require(ibv_dereg_mr(mr) == 0, "the MR is unused");
  Require(ibv_destroy_cq(cq) == 0, "the CQ is unused");
  Require(ibv_dealloc_pd(pd) == 0, "the PD is unused");
  Require(ibv_close_device(context) == 0, "the device closes");
}

ibv_qp* FuzzDevice::AddQueuePair(uint32_t max_sge, uint32_t max_inline_bytes) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = kBuffers,
              .max_recv_wr = kBuffers,
              .max_send_sge = max_sge,
              .max_recv_sge = max_sge,
              .max_inline_data = max_inline_bytes};
  init.qp_type = IBV_QPT_RAW_PACKET;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  Require(qp != nullptr, "a QP is made");
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_state = IBV_QPS_INIT;
  Require(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT) == 0, "INIT");
  attr.qp_state = IBV_QPS_RTR;
  Require(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "RTR");
  attr.qp_state = IBV_QPS_RTS;
  Require(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "RTS");
  qps_.push_back(qp);
  return qp;
}

ibv_sge FuzzDevice::Sge(size_t index, uint32_t bytes) const {
  return {
      .addr = std::bit_cast<uint64_t>(memory_.data()) + index * kBufferBytes,
      .length = bytes,
      .lkey = mr->lkey};
}

void FuzzDevice::PostReceive(ibv_qp* qp, size_t index) {
  ibv_sge sge = Sge(index, kBufferBytes);
  ibv_recv_wr wr{};
  wr.wr_id = index;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  Require(ibv_post_recv(qp, &wr, &bad) == 0, "a receive is posted");
}

void FuzzDevice::Send(ibv_qp* qp, std::span<const uint8_t> bytes) {
  Require(!bytes.empty() && bytes.size() <= kBufferBytes, "a frame fits");
  std::memcpy(memory_.data(), bytes.data(), bytes.size());
  ibv_sge sge = Sge(0, static_cast<uint32_t>(bytes.size()));
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  Require(ibv_post_send(qp, &wr, &bad) == 0, "a frame is sent");
  // More polls than any medium needs to find room.
  constexpr int kMaxPolls = 1 << 20;
  ibv_wc wc;
  int got = 0;
  for (int i = 0; i < kMaxPolls && got == 0; ++i) {
    got = ibv_poll_cq(cq, 1, &wc);
  }
  Require(got == 1 && wc.status == IBV_WC_SUCCESS, "a frame is sent well");
}

std::vector<ibv_wc> FuzzDevice::Drain() {
  std::vector<ibv_wc> all;
  std::array<ibv_wc, 16> some;
  for (;;) {
    const int got = ibv_poll_cq(cq, static_cast<int>(some.size()), some.data());
    Require(got >= 0, "the CQ can be polled");
    if (got == 0) return all;
    all.insert(all.end(), some.begin(), some.begin() + got);
  }
}

uint64_t FuzzDevice::Counter(const char* name) {
  const char* each = nullptr;
  uint64_t value = 0;
  for (unsigned i = 0; weir_hca_read_counter(context, i, &each, &value) == 0;
       ++i) {
    if (std::strcmp(name, each) == 0) return value;
  }
  Require(false, name);
  return 0;
}

}  // namespace weir::fuzz
