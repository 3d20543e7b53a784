// Inline data, and frames in several pieces.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <numeric>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr unsigned kInline = IBV_SEND_SIGNALED | IBV_SEND_INLINE;

// An SGE of memory that was never registered.
ibv_sge Unregistered(Bytes& bytes) {
  return {.addr = std::bit_cast<uint64_t>(bytes.data()),
          .length = static_cast<uint32_t>(bytes.size()),
          .lkey = 0};
}

// Cuts `frame` into pieces of these sizes, each in a buffer of its own.
std::vector<ibv_sge> Cut(Rig& rig, const Bytes& frame,
                         std::initializer_list<size_t> sizes) {
  std::vector<ibv_sge> sges;
  auto at = frame.begin();
  for (const size_t size : sizes) {
    const auto end = at + static_cast<ptrdiff_t>(size);
    sges.push_back(rig.Put(sges.size(), Bytes(at, end)));
    at = end;
  }
  EXPECT_EQ(at, frame.end());
  return sges;
}

// The first bytes of buffers, one after the other.
Bytes Gathered(Rig& rig, std::initializer_list<size_t> sizes) {
  Bytes bytes;
  size_t index = 0;
  for (const size_t size : sizes) {
    const auto buffer = rig.Buffer(index++).first(size);
    bytes.insert(bytes.end(), buffer.begin(), buffer.end());
  }
  return bytes;
}

void InlineUpToItsLimit(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.inline_bytes = 64});
  ASSERT_TRUE(qp.ok());
  const size_t most = qp.cap.max_inline_data;
  EXPECT_EQ(qp.PostSend(0, PlainFrame(most), kInline), 0);
  EXPECT_EQ(qp.Poll(1).size(), 1u);
  EXPECT_NE(qp.PostSend(0, PlainFrame(most + 1), kInline), 0);
}

void InlineWantsNoKey(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.inline_bytes = 64});
  ASSERT_TRUE(qp.ok());
  Bytes frame = PlainFrame(60);
  std::array<ibv_sge, 1> sge = {Unregistered(frame)};
  ASSERT_EQ(qp.PostSend(0, sge, kInline), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
}

void InlineIsCopiedAtOnce(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.inline_bytes = 64});
  ASSERT_TRUE(qp.ok());
  Bytes memory;
  for (int i = 0; i < 8; ++i) {
    memory = PlainFrame(60, i);
    std::array<ibv_sge, 1> sge = {Unregistered(memory)};
    ASSERT_EQ(qp.PostSend(0, sge, kInline), 0);
    std::ranges::fill(memory, std::byte{0});
  }
  EXPECT_EQ(lab.Observe(8), PlainFrames(8));
}

void InlineGathers(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 3, .inline_bytes = 64});
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(64);
  auto sges = Cut(rig, frame, {14, 1, 49});
  ASSERT_EQ(qp.PostSend(0, sges, kInline), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void GathersInOrder(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 4});
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(1000);
  auto sges = Cut(rig, frame, {14, 3, 500, 483});
  ASSERT_EQ(qp.PostSend(0, sges), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void GathersAsManyAsItSaid(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 16});
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(160);
  auto sges =
      Cut(rig, frame,
          {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
  ASSERT_EQ(qp.PostSend(0, sges), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void EmptySgeAddsNothing(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_sge = 3});
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(60);
  const auto pieces = Cut(rig, frame, {20, 40});
  // Without bytes, neither address nor key mean anything.
  std::array<ibv_sge, 3> sges = {pieces[0], ibv_sge{}, pieces[1]};
  ASSERT_EQ(qp.PostSend(0, sges), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void SendsFromAnyAddress(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::vector<Bytes> frames;
  for (size_t offset = 0; offset < 8; ++offset) {
    const Bytes frame = PlainFrame(61, static_cast<int>(offset));
    const auto at = rig.Buffer(offset).subspan(offset);
    std::ranges::copy(frame, at.begin());
    ibv_sge sge = rig.Sge(offset, 61);
    sge.addr += offset;
    ASSERT_EQ(qp.PostSend(offset, std::span(&sge, 1)), 0);
    frames.push_back(frame);
  }
  EXPECT_EQ(lab.Observe(8), frames);
}

void SendsTheLastBytesOfItsRegion(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  constexpr size_t kLast = Rig::kBuffers - 1;
  const Bytes frame = PlainFrame(100);
  std::ranges::copy(frame, rig.Buffer(kLast).last(100).begin());
  ibv_sge sge = rig.Sge(kLast, 100);
  sge.addr += Rig::kBufferBytes - 100;
  ASSERT_EQ(qp.PostSend(0, std::span(&sge, 1)), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
}

void ScattersInOrder(Lab& lab) {
  const Bytes frame = PlainFrame(300);
  Rig rig(lab, {frame});
  TestQp qp(rig, {.recv_sge = 3});
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 3> sges = {rig.Sge(0, 14), rig.Sge(1, 100),
                                 rig.Sge(2, 1000)};
  ASSERT_EQ(qp.PostRecv(0, sges), 0);
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(done[0].byte_len, 300u);
  EXPECT_EQ(Gathered(rig, {14, 100, 186}), frame);
}

void ScattersOverEmptySges(Lab& lab) {
  const Bytes frame = PlainFrame(60);
  Rig rig(lab, {frame});
  TestQp qp(rig, {.recv_sge = 3});
  ASSERT_TRUE(qp.ok());
  std::array<ibv_sge, 3> sges = {ibv_sge{}, rig.Sge(0, 20), rig.Sge(1, 40)};
  ASSERT_EQ(qp.PostRecv(0, sges), 0);
  qp.Take();
  rig.Deliver();
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(Gathered(rig, {20, 40}), frame);
}

void LeavesTheRestOfABufferAlone(Lab& lab) {
  const Bytes frame = PlainFrame(61);
  Rig rig(lab, {frame});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::ranges::fill(rig.Buffer(0), std::byte{0x5a});
  std::ranges::fill(rig.Buffer(1), std::byte{0x5a});
  ASSERT_EQ(qp.PostRecv(0), 0);
  qp.Take();
  rig.Deliver();
  ASSERT_EQ(qp.Receive(1), std::vector<Bytes>{frame});
  const auto is_untouched = [](std::byte byte) {
    return byte == std::byte{0x5a};
  };
  EXPECT_TRUE(std::ranges::all_of(rig.Buffer(0).subspan(61), is_untouched));
  EXPECT_TRUE(std::ranges::all_of(rig.Buffer(1), is_untouched));
}

void FillsABufferOfExactlyItsSize(Lab& lab) {
  const Bytes frame = PlainFrame(200);
  Rig rig(lab, {frame});
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  ASSERT_EQ(qp.PostRecv(0, 200), 0);
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{frame});
}

}  // namespace

CheckList InlineSgeChecks() {
  static constexpr Check kChecks[] = {
      {"inline.up_to_its_limit", kNothing, InlineUpToItsLimit},
      {"inline.wants_no_key", kNothing, InlineWantsNoKey},
      {"inline.is_copied_at_once", kObserve, InlineIsCopiedAtOnce},
      {"inline.gathers", kObserve, InlineGathers},
      {"sge.gathers_in_order", kObserve, GathersInOrder},
      {"sge.gathers_as_many_as_it_said", kObserve, GathersAsManyAsItSaid},
      {"sge.empty_one_adds_nothing", kObserve, EmptySgeAddsNothing},
      {"sge.sends_from_any_address", kObserve, SendsFromAnyAddress},
      {"sge.sends_the_last_bytes_of_its_region", kObserve,
       SendsTheLastBytesOfItsRegion},
      {"sge.scatters_in_order", kInject, ScattersInOrder},
      {"sge.scatters_over_empty_ones", kInject, ScattersOverEmptySges},
      {"sge.leaves_the_rest_of_a_buffer_alone", kInject,
       LeavesTheRestOfABufferAlone},
      {"sge.fills_a_buffer_of_exactly_its_size", kInject,
       FillsABufferOfExactlyItsSize},
  };
  return kChecks;
}

}  // namespace weir::conformance
