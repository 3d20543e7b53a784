#include "test/hca/rss_rig.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gtest/gtest.h"

namespace weir::hca {

const std::array<uint8_t, 40> kPublishedKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

RssRig::RssRig(const std::string& key, size_t queues, uint64_t fields)
    : sender({.key = "wire:" + key}), receiver({.key = "wire:" + key}) {
  sender.MoveTo(IBV_QPS_RTS);
  for (size_t i = 0; i < queues; ++i) {
    ibv_wq* wq = CreateWq();
    EXPECT_NE(wq, nullptr);
    EXPECT_EQ(Modify(wq, IBV_WQS_RDY), 0);
    for (size_t j = 0; j < 8; ++j) EXPECT_EQ(PostReceive(wq, j), 0);
    wqs.push_back(wq);
  }
  table = CreateTable(wqs);
  EXPECT_NE(table, nullptr);
  qp = CreateRssQp(table, fields);
  EXPECT_NE(qp, nullptr);
  ibv_flow_attr all{};
  all.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  all.port = 1;
  flow = ibv_create_flow(qp, &all);
  EXPECT_NE(flow, nullptr);
}

RssRig::~RssRig() {
  if (flow != nullptr) {
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }
  if (qp != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  if (table != nullptr) {
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  }
  for (ibv_wq* wq : wqs) EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

ibv_wq* RssRig::CreateWq(uint32_t max_wr, uint32_t max_sge) {
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = max_wr;
  attr.max_sge = max_sge;
  attr.pd = receiver.pd;
  attr.cq = receiver.cq;
  return ibv_create_wq(receiver.context, &attr);
}

ibv_rwq_ind_table* RssRig::CreateTable(std::vector<ibv_wq*> entries) {
  ibv_rwq_ind_table_init_attr attr{};
  attr.log_ind_tbl_size =
      static_cast<uint32_t>(std::bit_width(entries.size()) - 1);
  attr.ind_tbl = entries.data();
  return ibv_create_rwq_ind_table(receiver.context, &attr);
}

ibv_qp* RssRig::CreateRssQp(ibv_rwq_ind_table* of, uint64_t fields,
                            uint8_t key_bytes) {
  std::array<uint8_t, 40> key = kPublishedKey;
  ibv_qp_init_attr_ex attr{};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                   IBV_QP_INIT_ATTR_RX_HASH;
  attr.pd = receiver.pd;
  attr.rwq_ind_tbl = of;
  attr.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                       .rx_hash_key_len = key_bytes,
                       .rx_hash_key = key.data(),
                       .rx_hash_fields_mask = fields};
  return ibv_create_qp_ex(receiver.context, &attr);
}

int RssRig::Modify(ibv_wq* wq, ibv_wq_state state) {
  ibv_wq_attr attr{};
  attr.attr_mask = IBV_WQ_ATTR_STATE;
  attr.wq_state = state;
  return ibv_modify_wq(wq, &attr);
}

int RssRig::PostReceive(ibv_wq* wq, size_t index, uint32_t bytes) {
  ibv_sge sge = receiver.Sge(index, bytes);
  ibv_recv_wr wr{};
  wr.wr_id = index;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_wq_recv(wq, &wr, &bad);
}

void RssRig::Send(const Bytes& frame) {
  std::copy(frame.begin(), frame.end(), sender.Buffer(0).begin());
  ASSERT_EQ(sender.PostSend(0, static_cast<uint32_t>(frame.size()),
                            IBV_SEND_SIGNALED),
            0);
  ASSERT_EQ(sender.Poll(1).size(), 1u);
}

std::optional<size_t> RssRig::QueueOf(const Bytes& frame) {
  Send(frame);
  const auto done = receiver.Poll(1);
  if (done.size() != 1 || done[0].status != IBV_WC_SUCCESS) return std::nullopt;
  EXPECT_EQ(done[0].byte_len, frame.size());
  EXPECT_TRUE(std::ranges::equal(
      receiver.Buffer(done[0].wr_id).first(frame.size()), frame));
  for (size_t i = 0; i < wqs.size(); ++i) {
    if (wqs[i]->wq_num == done[0].qp_num) return i;
  }
  return std::nullopt;
}

}  // namespace weir::hca
