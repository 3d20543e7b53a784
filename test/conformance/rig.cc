#include "test/conformance/rig.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace weir::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint16_t kExperimentalType = 0x88b5;

}  // namespace

Rig::Rig(Lab& lab, const std::vector<Bytes>& frames, int access)
    : lab_(lab), memory_(kBuffers * kBufferBytes) {
  lab.Prepare(frames);
  context = OpenDevice(lab.device());
  if (context == nullptr) return;
  pd = ibv_alloc_pd(context);
  EXPECT_NE(pd, nullptr) << std::strerror(errno);
  if (pd == nullptr) return;
  mr = ibv_reg_mr(pd, memory_.data(), memory_.size(), access);
  EXPECT_NE(mr, nullptr) << std::strerror(errno);
}

Rig::~Rig() {
  if (mr != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  if (pd != nullptr) {
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  }
  if (context != nullptr) {
    EXPECT_EQ(ibv_close_device(context), 0);
  }
}

ibv_sge Rig::Sge(size_t index, uint32_t bytes) const {
  return {
      .addr = std::bit_cast<uint64_t>(memory_.data()) + index * kBufferBytes,
      .length = bytes,
      .lkey = mr->lkey};
}

std::span<std::byte> Rig::Buffer(size_t index) {
  return std::span(memory_).subspan(index * kBufferBytes, kBufferBytes);
}

ibv_sge Rig::Put(size_t index, const Bytes& bytes) {
  std::ranges::copy(bytes, Buffer(index).begin());
  return Sge(index, static_cast<uint32_t>(bytes.size()));
}

ibv_device_attr Rig::Attributes() const {
  ibv_device_attr attr{};
  EXPECT_EQ(ibv_query_device(context, &attr), 0);
  return attr;
}

ibv_device_attr_ex Rig::ExtendedAttributes() const {
  ibv_device_attr_ex attr{};
  EXPECT_EQ(ibv_query_device_ex(context, nullptr, &attr), 0);
  return attr;
}

TestCq::TestCq(Rig& rig, int entries, ibv_comp_channel* channel)
    : cq(ibv_create_cq(rig.context, entries, nullptr, channel, 0)), rig_(&rig) {
  EXPECT_NE(cq, nullptr) << std::strerror(errno);
}

TestCq::~TestCq() {
  if (cq != nullptr) {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
  }
}

void TestCq::PollOnce(std::vector<ibv_wc>& all, size_t max) {
  std::array<ibv_wc, 32> some;
  const int room = static_cast<int>(std::min(max, some.size()));
  const int got = ibv_poll_cq(cq, room, some.data());
  EXPECT_GE(got, 0);
  if (got > 0) all.insert(all.end(), some.begin(), some.begin() + got);
}

std::vector<ibv_wc> TestCq::Poll(size_t count) {
  std::vector<ibv_wc> all;
  const auto deadline = Clock::now() + kPatience;
  while (all.size() < count && Clock::now() < deadline) {
    PollOnce(all, count - all.size());
    if (::testing::Test::HasFatalFailure()) break;
  }
  return all;
}

std::vector<ibv_wc> TestCq::PollTimes(int times) {
  std::vector<ibv_wc> all;
  for (int i = 0; i < times; ++i) PollOnce(all, 32);
  return all;
}

ibv_qp_init_attr InitAttributes(ibv_cq* send_cq, ibv_cq* recv_cq,
                                const QpOptions& options) {
  ibv_qp_init_attr attr{};
  attr.send_cq = send_cq;
  attr.recv_cq = recv_cq;
  attr.cap = {.max_send_wr = options.send_wr,
              .max_recv_wr = options.recv_wr,
              .max_send_sge = options.send_wr == 0 ? 0 : options.send_sge,
              .max_recv_sge = options.recv_wr == 0 ? 0 : options.recv_sge,
              .max_inline_data = options.inline_bytes};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.sq_sig_all = options.signal_all ? 1 : 0;
  return attr;
}

TestQp::TestQp(Rig& rig, const QpOptions& options)
    : TestQp(rig, new TestCq(rig), nullptr, nullptr, options) {}

TestQp::TestQp(Rig& rig, TestCq& send_cq, TestCq& recv_cq,
               const QpOptions& options)
    : TestQp(rig, nullptr, &send_cq, &recv_cq, options) {}

TestQp::TestQp(Rig& rig, TestCq* own, TestCq* send_cq, TestCq* recv_cq,
               const QpOptions& options)
    : rig_(rig),
      own_cq_(own),
      send_cq_(own == nullptr ? send_cq : own),
      recv_cq_(own == nullptr ? recv_cq : own) {
  if (send_cq_->cq == nullptr || recv_cq_->cq == nullptr) return;
  ibv_qp_init_attr attr = InitAttributes(send_cq_->cq, recv_cq_->cq, options);
  qp = ibv_create_qp(rig.pd, &attr);
  EXPECT_NE(qp, nullptr) << std::strerror(errno);
  if (qp == nullptr) return;
  cap = attr.cap;
  MoveTo(options.state);
}

TestQp::~TestQp() {
  DropFlows();
  if (qp != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
}

int ModifyQp(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.port_num = 1;
  const bool from_reset = state == IBV_QPS_INIT;
  return ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | (from_reset ? IBV_QP_PORT : 0));
}

int TestQp::Modify(ibv_qp_state to) { return ModifyQp(qp, to); }

void TestQp::MoveTo(ibv_qp_state to) {
  for (const ibv_qp_state next :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (next == IBV_QPS_RESET && state() == IBV_QPS_RESET) {
      if (to == IBV_QPS_RESET) return;
      continue;
    }
    EXPECT_EQ(Modify(next), 0) << "to state " << next;
    if (next == to) return;
  }
}

ibv_qp_state TestQp::state() const {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  return attr.qp_state;
}

ibv_flow* TestQp::Take() {
  return Take(TakeTo(rig_.lab().facts().arrivals_to));
}

ibv_flow* TestQp::Take(const FlowRequest& request) {
  ibv_flow* const flow = request.Create(qp);
  EXPECT_NE(flow, nullptr) << std::strerror(errno);
  if (flow != nullptr) flows_.push_back(flow);
  return flow;
}

int TestQp::TryFlow(const FlowRequest& request) {
  errno = 0;
  ibv_flow* const flow = request.Create(qp);
  if (flow == nullptr) return errno;
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  return 0;
}

void TestQp::DropFlows() {
  for (ibv_flow* flow : std::exchange(flows_, {})) {
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }
}

int TestQp::PostRecv(size_t index, uint32_t bytes) {
  std::array<ibv_sge, 1> sge = {rig_.Sge(index, bytes)};
  return PostRecv(index, sge);
}

int TestQp::PostRecv(size_t index, std::span<ibv_sge> sges) {
  ibv_recv_wr wr = RecvRequest(index, sges);
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

void TestQp::PostRecvs(size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) EXPECT_EQ(PostRecv(i), 0);
}

int TestQp::PostSend(size_t index, const Bytes& frame, unsigned flags) {
  std::array<ibv_sge, 1> sge = {rig_.Put(index, frame)};
  return PostSend(index, sge, flags);
}

int TestQp::PostSend(size_t index, std::span<ibv_sge> sges, unsigned flags) {
  ibv_send_wr wr = SendRequest(index, sges, flags);
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad);
}

std::vector<Bytes> TestQp::Receive(size_t count) {
  std::vector<Bytes> frames;
  for (const ibv_wc& wc : recv_cq().Poll(count)) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    if (wc.status == IBV_WC_SUCCESS) frames.push_back(Frame(wc));
  }
  EXPECT_EQ(frames.size(), count);
  return frames;
}

Bytes TestQp::Frame(const ibv_wc& wc) {
  EXPECT_LE(wc.byte_len, Rig::kBufferBytes);
  const auto buffer = rig_.Buffer(wc.wr_id);
  return {buffer.begin(),
          buffer.begin() + std::min<size_t>(wc.byte_len, buffer.size())};
}

ibv_send_wr SendRequest(uint64_t wr_id, std::span<ibv_sge> sges,
                        unsigned flags) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  return wr;
}

ibv_recv_wr RecvRequest(uint64_t wr_id, std::span<ibv_sge> sges) {
  ibv_recv_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  return wr;
}

union ibv_gid GroupGid(const net::MacAddress& mac) {
  union ibv_gid gid {};
  std::ranges::copy(mac.octets, gid.raw + 10);
  return gid;
}

Bytes PlainFrame(size_t bytes, int number) {
  return Frame()
      .Eth(kTestMacB, kTestMacA, kExperimentalType)
      .Payload(bytes - 14, static_cast<uint64_t>(number) + 1)
      .Build();
}

std::vector<Bytes> PlainFrames(size_t count, size_t bytes) {
  std::vector<Bytes> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(PlainFrame(bytes, static_cast<int>(i)));
  }
  return frames;
}

std::vector<Bytes> AnyFrames(const Lab& lab, size_t count) {
  if ((lab.facts().gives & kInject) == 0) return {};
  return PlainFrames(count);
}

Bytes UdpFrame(uint16_t source_port, uint16_t destination_port,
               size_t payload_bytes) {
  return Frame()
      .Eth(kTestMacB, kTestMacA)
      .Ipv4("10.0.0.1", "10.0.0.2")
      .Udp(source_port, destination_port)
      .Payload(payload_bytes)
      .Build();
}

}  // namespace weir::conformance
