#include "test/conformance/labs/verbs_peer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "gtest/gtest.h"
#include "test/conformance/flow_request.h"
#include "test/conformance/lab.h"
#include "test/conformance/labs/soft_device.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr uint64_t kSendMark = uint64_t{1} << 32;

bool IsFromTestAddress(const Bytes& frame) {
  return frame.size() >= 14 &&
         std::ranges::any_of(
             std::array{kTestMacA, kTestMacB}, [&](const auto& mac) {
               return std::memcmp(frame.data() + 6, mac.octets.data(), 6) == 0;
             });
}

}  // namespace

std::string VerbsPeer::Open(ibv_device* device) {
  const std::string error = Build(device);
  if (!error.empty()) Close();
  return error;
}

std::string VerbsPeer::Build(ibv_device* device) {
  const auto failed = [](const char* call) {
    return std::string(call) + ": " + std::strerror(errno);
  };
  context_ = ibv_open_device(device);
  if (context_ == nullptr) return "ibv_open_device: " + OpenError(device);
  memory_.assign(size_t{2} * kDepth * kBufferBytes, std::byte{0});
  pd_ = ibv_alloc_pd(context_);
  if (pd_ == nullptr) return failed("ibv_alloc_pd");
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
  if (mr_ == nullptr) return failed("ibv_reg_mr");
  cq_ = ibv_create_cq(context_, 2 * kDepth, nullptr, nullptr, 0);
  if (cq_ == nullptr) return failed("ibv_create_cq");
  ibv_qp_init_attr attr =
      InitAttributes(cq_, cq_, {.send_wr = kDepth, .recv_wr = kDepth});
  qp_ = ibv_create_qp(pd_, &attr);
  if (qp_ == nullptr) return failed("ibv_create_qp");
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    errno = ModifyQp(qp_, state);
    if (errno != 0) return failed("ibv_modify_qp");
  }
  for (size_t i = 0; i < kDepth; ++i) PostReceive(i);
  // Behind whatever rules checks have, should they be on the same device.
  flow_ = TakeAll().Priority(15).Create(qp_);
  return flow_ == nullptr ? failed("ibv_create_flow") : std::string();
}

void VerbsPeer::Close() {
  if (flow_ != nullptr) ibv_destroy_flow(std::exchange(flow_, nullptr));
  if (qp_ != nullptr) ibv_destroy_qp(std::exchange(qp_, nullptr));
  if (cq_ != nullptr) ibv_destroy_cq(std::exchange(cq_, nullptr));
  if (mr_ != nullptr) ibv_dereg_mr(std::exchange(mr_, nullptr));
  if (pd_ != nullptr) ibv_dealloc_pd(std::exchange(pd_, nullptr));
  if (context_ != nullptr) ibv_close_device(std::exchange(context_, nullptr));
  next_send_ = sends_in_flight_ = 0;
  early_.clear();
}

ibv_sge VerbsPeer::Sge(size_t index, size_t bytes) const {
  return {
      .addr = std::bit_cast<uint64_t>(memory_.data()) + index * kBufferBytes,
      .length = static_cast<uint32_t>(bytes),
      .lkey = mr_->lkey};
}

void VerbsPeer::PostReceive(size_t index) {
  std::array<ibv_sge, 1> sge = {Sge(index, kBufferBytes)};
  ibv_recv_wr wr = RecvRequest(index, sge);
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
}

void VerbsPeer::Send(const Bytes& frame) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (sends_in_flight_ == kDepth - 1 &&
         std::chrono::steady_clock::now() < deadline) {
    Poll(&early_);
  }
  const size_t index = kDepth + next_send_++ % kDepth;
  ASSERT_LE(frame.size(), kBufferBytes);
  std::ranges::copy(frame, memory_.begin() + index * kBufferBytes);
  std::array<ibv_sge, 1> sge = {Sge(index, frame.size())};
  ibv_send_wr wr = SendRequest(kSendMark | index, sge);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp_, &wr, &bad), 0);
  ++sends_in_flight_;
}

void VerbsPeer::Collect(std::vector<Bytes>& to) {
  for (Bytes& frame : early_) to.push_back(std::move(frame));
  early_.clear();
  Poll(&to);
}

void VerbsPeer::Poll(std::vector<Bytes>* to) {
  std::array<ibv_wc, 32> some;
  const int got = ibv_poll_cq(cq_, static_cast<int>(some.size()), some.data());
  for (int i = 0; i < got; ++i) Handle(some[static_cast<size_t>(i)], to);
}

void VerbsPeer::Handle(const ibv_wc& wc, std::vector<Bytes>* to) {
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << "at the other end";
  if ((wc.wr_id & kSendMark) != 0) {
    --sends_in_flight_;
    return;
  }
  if (wc.status != IBV_WC_SUCCESS) return;
  const auto* const at = memory_.data() + wc.wr_id * kBufferBytes;
  Bytes frame(at, at + std::min<size_t>(wc.byte_len, kBufferBytes));
  if (sees_ == Sees::kEverything || IsFromTestAddress(frame)) {
    to->push_back(std::move(frame));
  }
  PostReceive(wc.wr_id);
}

}  // namespace weir::conformance
