// Queue pairs of ibv_create_qp_ex, and sending with ibv_wr_*.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"

namespace weir::hca {
namespace {

constexpr uint64_t kSend = IBV_QP_EX_WITH_SEND;
constexpr uint64_t kTso = IBV_QP_EX_WITH_TSO;

ibv_qp_init_attr_ex AttrOf(const VerbsRig& rig) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = rig.cq;
  attr.cap = {.max_send_wr = 8,
              .max_recv_wr = 8,
              .max_send_sge = 3,
              .max_recv_sge = 1,
              .max_inline_data = 128};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = rig.pd;
  attr.send_ops_flags = kSend;
  return attr;
}

// A sender whose queue pair has ibv_wr_*, and who receives at the other end.
class QueuePairExTest : public ::testing::Test {
 protected:
  QueuePairExTest() : sender_({.key = KeyOf()}), receiver_({.key = KeyOf()}) {
    EXPECT_EQ(ibv_destroy_qp(sender_.qp), 0);
    ibv_qp_init_attr_ex attr = AttrOf(sender_);
    attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    attr.max_tso_header = 64;
    attr.send_ops_flags = kSend | kTso;
    sender_.qp = ibv_create_qp_ex(sender_.context, &attr);
    EXPECT_NE(sender_.qp, nullptr);
    qpx_ = ibv_qp_to_qp_ex(sender_.qp);
    EXPECT_NE(qpx_, nullptr);
    sender_.MoveTo(IBV_QPS_RTS);
    receiver_.MoveTo(IBV_QPS_RTS);
    receiver_.TakeEverything();
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(receiver_.PostReceive(i), 0);
  }

  static std::string KeyOf() {
    return std::string("wire:") +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void Begin(uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED) {
    qpx_->wr_id = wr_id;
    qpx_->wr_flags = flags;
    ibv_wr_send(qpx_);
  }
  void Put(size_t index, const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), sender_.Buffer(index).begin());
  }
  void SetSge(size_t index, size_t bytes) {
    const ibv_sge sge = sender_.Sge(index, static_cast<uint32_t>(bytes));
    ibv_wr_set_sge(qpx_, sge.lkey, sge.addr, sge.length);
  }
  // The frame that the receiver gets next, empty if none comes.
  Bytes Receive() {
    if (received_.empty()) received_ = receiver_.Poll(1);
    if (received_.empty()) return {};
    const ibv_wc wc = received_.front();
    received_.erase(received_.begin());
    const auto buffer = receiver_.Buffer(wc.wr_id).first(wc.byte_len);
    return {buffer.begin(), buffer.end()};
  }

  VerbsRig sender_;
  VerbsRig receiver_;
  std::vector<ibv_wc> received_;
  ibv_qp_ex* qpx_ = nullptr;
};

TEST_F(QueuePairExTest, SendsABatchInOrder) {
  const Bytes first = RandomBytes(60, 1);
  const Bytes second = RandomBytes(1000, 2);
  Put(0, first);
  Put(1, second);
  ibv_wr_start(qpx_);
  Begin(7);
  SetSge(0, first.size());
  Begin(8);
  SetSge(1, second.size());
  EXPECT_TRUE(receiver_.Poll(1).empty());
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  const auto done = sender_.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 7u);
  EXPECT_EQ(done[1].wr_id, 8u);
  EXPECT_EQ(done[1].opcode, IBV_WC_SEND);
  EXPECT_EQ(Receive(), first);
  EXPECT_EQ(Receive(), second);
}

TEST_F(QueuePairExTest, CompletesOnlyWhatIsSignaled) {
  ibv_wr_start(qpx_);
  Begin(1, 0);
  SetSge(0, 60);
  Begin(2);
  SetSge(0, 60);
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  const auto done = sender_.Poll(2);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].wr_id, 2u);
}

TEST_F(QueuePairExTest, GathersAListOfSges) {
  const Bytes frame = RandomBytes(90, 3);
  Put(0, Bytes(frame.begin(), frame.begin() + 14));
  Put(1, Bytes(frame.begin() + 14, frame.begin() + 40));
  Put(2, Bytes(frame.begin() + 40, frame.end()));
  const std::array<ibv_sge, 3> sges = {sender_.Sge(0, 14), sender_.Sge(1, 26),
                                       sender_.Sge(2, 50)};
  ibv_wr_start(qpx_);
  Begin(0);
  ibv_wr_set_sge_list(qpx_, sges.size(), sges.data());
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  EXPECT_EQ(Receive(), frame);
}

TEST_F(QueuePairExTest, CopiesInlineDataAtTheCall) {
  const Bytes frame = RandomBytes(80, 4);
  Bytes gone = frame;
  ibv_wr_start(qpx_);
  Begin(0);
  ibv_wr_set_inline_data(qpx_, gone.data(), gone.size());
  std::fill(gone.begin(), gone.end(), std::byte{0});
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  EXPECT_EQ(Receive(), frame);
}

TEST_F(QueuePairExTest, JoinsAListOfInlineData) {
  Bytes frame = RandomBytes(128, 5);
  const std::array<ibv_data_buf, 3> parts = {
      ibv_data_buf{.addr = frame.data(), .length = 20},
      ibv_data_buf{.addr = nullptr, .length = 0},
      ibv_data_buf{.addr = frame.data() + 20, .length = 108}};
  ibv_wr_start(qpx_);
  Begin(0);
  ibv_wr_set_inline_data_list(qpx_, parts.size(), parts.data());
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  EXPECT_EQ(Receive(), frame);
}

TEST_F(QueuePairExTest, CutsTso) {
  Bytes header = Frame().Ipv4("10.0.0.1", "10.0.0.2").Tcp(1, 2).Build();
  ASSERT_EQ(header.size(), 54u);
  Put(0, RandomBytes(250, 6));
  ibv_wr_start(qpx_);
  qpx_->wr_id = 9;
  qpx_->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_tso(qpx_, header.data(), 54, 100);
  std::fill(header.begin(), header.end(), std::byte{0});
  SetSge(0, 250);
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  const auto done = receiver_.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].byte_len, 154u);
  EXPECT_EQ(done[1].byte_len, 154u);
  EXPECT_EQ(done[2].byte_len, 104u);
  EXPECT_EQ(sender_.Poll(1).size(), 1u);
}

TEST_F(QueuePairExTest, SendsNothingOfABatchThatIsAborted) {
  ibv_wr_start(qpx_);
  Begin(1);
  SetSge(0, 60);
  ibv_wr_abort(qpx_);
  EXPECT_TRUE(sender_.Poll(1).empty());
  ibv_wr_start(qpx_);
  EXPECT_EQ(ibv_wr_complete(qpx_), 0);
  EXPECT_EQ(sender_.Counter("tx_frames"), 0u);
}

TEST_F(QueuePairExTest, SendsNothingOfABatchWithAnError) {
  ibv_wr_start(qpx_);
  Begin(1);
  SetSge(0, 60);
  Begin(2);
  SetSge(0, 0);
  Begin(3);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  EXPECT_TRUE(sender_.Poll(1).empty());
  EXPECT_EQ(sender_.Counter("tx_frames"), 0u);
  ibv_wr_start(qpx_);
  Begin(4);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), 0);
  EXPECT_EQ(sender_.Poll(1).size(), 1u);
}

TEST_F(QueuePairExTest, RefusesARequestWithoutDataAndDataWithoutARequest) {
  ibv_wr_start(qpx_);
  Begin(1);
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  ibv_wr_start(qpx_);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
}

TEST_F(QueuePairExTest, HoldsAsManyRequestsAsTheQueue) {
  ibv_wr_start(qpx_);
  for (uint64_t i = 0; i < 8; ++i) {
    Begin(i);
    SetSge(0, 60);
  }
  EXPECT_EQ(ibv_wr_complete(qpx_), 0);
  // Full until completions are polled.
  ibv_wr_start(qpx_);
  Begin(8);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), ENOMEM);
  EXPECT_EQ(sender_.Poll(8).size(), 8u);
  ibv_wr_start(qpx_);
  for (uint64_t i = 0; i < 9; ++i) {
    Begin(i);
    SetSge(0, 60);
  }
  EXPECT_EQ(ibv_wr_complete(qpx_), ENOMEM);
  EXPECT_EQ(sender_.Counter("tx_frames"), 8u);
}

TEST_F(QueuePairExTest, RefusesTooMuchData) {
  std::array<std::byte, 129> data{};
  ibv_wr_start(qpx_);
  Begin(0);
  ibv_wr_set_inline_data(qpx_, data.data(), data.size());
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  const std::vector<ibv_sge> sges(4, sender_.Sge(0, 20));
  ibv_wr_start(qpx_);
  Begin(0);
  ibv_wr_set_sge_list(qpx_, sges.size(), sges.data());
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  ibv_wr_start(qpx_);
  ibv_wr_send_tso(qpx_, data.data(), 65, 100);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
}

TEST_F(QueuePairExTest, RefusesOperationsOfOtherKindsOfQueuePairs) {
  const std::array<void (*)(ibv_qp_ex*), 10> operations = {
      [](ibv_qp_ex* qp) { ibv_wr_atomic_cmp_swp(qp, 0, 0, 0, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_atomic_fetch_add(qp, 0, 0, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_bind_mw(qp, nullptr, 0, nullptr); },
      [](ibv_qp_ex* qp) { ibv_wr_local_inv(qp, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_rdma_read(qp, 0, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_rdma_write(qp, 0, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_rdma_write_imm(qp, 0, 0, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_send_imm(qp, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_send_inv(qp, 0); },
      [](ibv_qp_ex* qp) { ibv_wr_set_ud_addr(qp, nullptr, 0, 0); }};
  for (const auto operation : operations) {
    ibv_wr_start(qpx_);
    operation(qpx_);
    SetSge(0, 60);
    EXPECT_EQ(ibv_wr_complete(qpx_), EOPNOTSUPP);
  }
  EXPECT_EQ(sender_.Counter("tx_frames"), 0u);
}

TEST_F(QueuePairExTest, WantsTheStateThatSendingWants) {
  ASSERT_EQ(sender_.Modify(IBV_QPS_RESET), 0);
  ibv_wr_start(qpx_);
  Begin(1);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  sender_.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(sender_.Modify(IBV_QPS_ERR), 0);
  ibv_wr_start(qpx_);
  Begin(2);
  SetSge(0, 60);
  EXPECT_EQ(ibv_wr_complete(qpx_), 0);
  const auto done = sender_.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(QueuePairExTest, KeepsThreadsOutOfEachOthersBatches) {
  constexpr int kRounds = 200;
  const auto send = [this](uint64_t wr_id) {
    for (int i = 0; i < kRounds;) {
      ibv_wr_start(qpx_);
      Begin(wr_id);
      SetSge(0, 60);
      Begin(wr_id);
      SetSge(0, 60);
      if (ibv_wr_complete(qpx_) == 0) ++i;
    }
  };
  std::thread first(send, 1);
  std::thread second(send, 2);
  // Batches have two requests each, so equal numbers come in pairs.
  std::vector<uint64_t> seen;
  while (seen.size() < 4 * kRounds) {
    for (const ibv_wc& wc : sender_.Poll(1)) seen.push_back(wc.wr_id);
    for (const ibv_wc& wc : receiver_.Poll(1)) {
      EXPECT_EQ(receiver_.PostReceive(wc.wr_id), 0);
    }
  }
  first.join();
  second.join();
  for (size_t i = 0; i < seen.size(); i += 2) EXPECT_EQ(seen[i], seen[i + 1]);
}

class CreateQpExTest : public ::testing::Test {
 protected:
  int RefusalOf(ibv_qp_init_attr_ex attr) {
    errno = 0;
    ibv_qp* const qp = ibv_create_qp_ex(rig_.context, &attr);
    EXPECT_EQ(qp, nullptr);
    return errno;
  }

  VerbsRig rig_;
};

TEST_F(CreateQpExTest, GivesOperationsOnlyToThoseWhoAsk) {
  EXPECT_EQ(ibv_qp_to_qp_ex(rig_.qp), nullptr);
  ibv_qp_init_attr_ex attr = AttrOf(rig_);
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  ibv_qp* const qp = ibv_create_qp_ex(rig_.context, &attr);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(CreateQpExTest, RefusesWhatRawPacketsDoNotHave) {
  ibv_qp_init_attr_ex attr = AttrOf(rig_);
  attr.send_ops_flags = kSend | IBV_QP_EX_WITH_SEND_WITH_IMM;
  EXPECT_EQ(RefusalOf(attr), EOPNOTSUPP);
  attr = AttrOf(rig_);
  attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  EXPECT_EQ(RefusalOf(attr), EOPNOTSUPP);
  attr = AttrOf(rig_);
  attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
  EXPECT_EQ(RefusalOf(attr), EOPNOTSUPP);
  attr.create_flags = IBV_QP_CREATE_PCI_WRITE_END_PADDING;
  EXPECT_EQ(RefusalOf(attr), EOPNOTSUPP);
  attr = AttrOf(rig_);
  attr.qp_type = IBV_QPT_UD;
  EXPECT_EQ(RefusalOf(attr), EOPNOTSUPP);
}

TEST_F(CreateQpExTest, RefusesWhatIsMissingOrTooLarge) {
  ibv_qp_init_attr_ex attr = AttrOf(rig_);
  attr.pd = nullptr;
  EXPECT_EQ(RefusalOf(attr), EINVAL);
  attr = AttrOf(rig_);
  attr.send_cq = nullptr;
  EXPECT_EQ(RefusalOf(attr), EINVAL);
  attr = AttrOf(rig_);
  attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  attr.max_tso_header = 257;
  EXPECT_EQ(RefusalOf(attr), EINVAL);
}

}  // namespace
}  // namespace weir::hca
