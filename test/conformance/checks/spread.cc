#include "test/conformance/checks/spread.h"

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"

namespace weir::conformance {

std::array<uint8_t, 40> RssKey() {
  return {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
          0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
          0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
          0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
}

ibv_wq_init_attr WqAttributes(Rig& rig, ibv_cq* cq) {
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = 64;
  attr.max_sge = 1;
  attr.pd = rig.pd;
  attr.cq = cq;
  return attr;
}

int ModifyWq(ibv_wq* wq, ibv_wq_state to) {
  ibv_wq_attr attr{};
  attr.attr_mask = IBV_WQ_ATTR_STATE;
  attr.wq_state = to;
  return ibv_modify_wq(wq, &attr);
}

TestWq::TestWq(Rig& rig, ibv_wq_state state) : cq(rig), rig_(rig) {
  ibv_wq_init_attr attr = WqAttributes(rig, cq.cq);
  wq = ibv_create_wq(rig.context, &attr);
  EXPECT_NE(wq, nullptr) << std::strerror(errno);
  max_wr = attr.max_wr;
  if (wq == nullptr || state == IBV_WQS_RESET) return;
  EXPECT_EQ(ModifyWq(wq, state), 0);
}

TestWq::~TestWq() {
  if (wq != nullptr) {
    EXPECT_EQ(ibv_destroy_wq(wq), 0);
  }
}

int TestWq::PostRecv(size_t index) {
  ibv_sge sge = rig_.Sge(index);
  ibv_recv_wr wr = RecvRequest(index, std::span(&sge, 1));
  ibv_recv_wr* bad = nullptr;
  return ibv_post_wq_recv(wq, &wr, &bad);
}

ibv_qp_init_attr_ex RssAttributes(Rig& rig, ibv_rwq_ind_table* table,
                                  uint64_t fields,
                                  std::array<uint8_t, 40>& key) {
  ibv_qp_init_attr_ex attr{};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                   IBV_QP_INIT_ATTR_RX_HASH;
  attr.pd = rig.pd;
  attr.rwq_ind_tbl = table;
  attr.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                       .rx_hash_key_len = static_cast<uint8_t>(key.size()),
                       .rx_hash_key = key.data(),
                       .rx_hash_fields_mask = fields};
  return attr;
}

Spread::Spread(Rig& rig, unsigned log_size, uint64_t fields) {
  std::vector<ibv_wq*> entries;
  for (size_t i = 0; i < size_t{1} << log_size; ++i) {
    wqs.push_back(std::make_unique<TestWq>(rig));
    entries.push_back(wqs.back()->wq);
  }
  ibv_rwq_ind_table_init_attr attr{};
  attr.log_ind_tbl_size = log_size;
  attr.ind_tbl = entries.data();
  table = ibv_create_rwq_ind_table(rig.context, &attr);
  EXPECT_NE(table, nullptr) << std::strerror(errno);
  if (table == nullptr) return;
  auto key = RssKey();
  ibv_qp_init_attr_ex qp_attr = RssAttributes(rig, table, fields, key);
  qp = ibv_create_qp_ex(rig.context, &qp_attr);
  EXPECT_NE(qp, nullptr) << std::strerror(errno);
}

Spread::~Spread() {
  if (flow != nullptr) {
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }
  if (qp != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  if (table != nullptr) {
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  }
}

void Spread::Take(size_t count) {
  flow = TakeTo(kTestMacB).Create(qp);
  EXPECT_NE(flow, nullptr) << std::strerror(errno);
  for (size_t i = 0; i < wqs.size(); ++i) {
    for (size_t k = 0; k < count; ++k) {
      EXPECT_EQ(wqs[i]->PostRecv(i * count + k), 0);
    }
  }
}

}  // namespace weir::conformance
