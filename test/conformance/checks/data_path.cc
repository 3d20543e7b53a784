// Frames as they go in and come out: whole, unchanged, in order.

#include <infiniband/verbs.h>

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr size_t kLengths[] = {60, 61, 64, 65, 127, 128, 129, 1000, 1513, 1514};

std::vector<Bytes> FramesOfManyLengths() {
  std::vector<Bytes> frames;
  for (const size_t length : kLengths) {
    frames.push_back(PlainFrame(length, static_cast<int>(length)));
  }
  return frames;
}

// Sends `frames` and expects to see just them.
void ExpectSent(Lab& lab, const std::vector<Bytes>& frames) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(qp.PostSend(i % Rig::kBuffers, frames[i]), 0);
    ASSERT_EQ(qp.Poll(1).size(), 1u);
  }
  EXPECT_EQ(lab.Observe(frames.size()), frames);
}

// Lets `frames` arrive and expects to get just them.
void ExpectReceived(Lab& lab, const std::vector<Bytes>& frames) {
  Rig rig(lab, frames);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, frames.size());
  qp.Take();
  rig.Deliver();
  EXPECT_EQ(qp.Receive(frames.size()), frames);
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
}

void SendsFramesOfManyLengths(Lab& lab) {
  ExpectSent(lab, FramesOfManyLengths());
}

void ReceivesFramesOfManyLengths(Lab& lab) {
  ExpectReceived(lab, FramesOfManyLengths());
}

std::vector<Bytes> Runts() {
  return {PlainFrame(20), PlainFrame(42, 1), PlainFrame(59, 2)};
}

// A medium that wants 60 bytes adds zeros.
void SendsRuntsOrPadsThem(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  std::vector<Bytes> frames = Runts();
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(qp.PostSend(i, frames[i]), 0);
  }
  EXPECT_EQ(qp.Poll(frames.size()).size(), frames.size());
  std::vector<Bytes> sent = lab.Observe(frames.size());
  for (Bytes& frame : sent) frame.resize(60);
  for (Bytes& frame : frames) frame.resize(60);
  EXPECT_EQ(sent, frames);
}

void ReceivesRunts(Lab& lab) { ExpectReceived(lab, Runts()); }

std::vector<Bytes> TaggedFrames() {
  const auto tagged = [](uint16_t tci) {
    return Frame().Eth(kTestMacB, kTestMacA).Vlan(tci);
  };
  return {
      tagged(7).Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 2).Payload(40).Build(),
      tagged(0xefff).Ipv6("fc00::1", "fc00::2").Udp(3, 4).Payload(40).Build(),
      Frame()
          .Eth(kTestMacB, kTestMacA)
          .Vlan(100, 0x88a8)
          .Vlan(200)
          .Ipv4("10.0.0.1", "10.0.0.2")
          .Udp(5, 6)
          .Payload(40)
          .Build()};
}

void SendsVlanTagsAsTheyAre(Lab& lab) { ExpectSent(lab, TaggedFrames()); }

void ReceivesVlanTagsAsTheyAre(Lab& lab) {
  ExpectReceived(lab, TaggedFrames());
}

// What no stack would accept is a frame like any other.
std::vector<Bytes> OddFrames() {
  const auto ip = [] { return Frame().Eth(kTestMacB, kTestMacA); };
  return {ip().Ipv4("10.0.0.1", "10.0.0.2", {.checksum = 0x1234})
              .Udp(1, 2)
              .Payload(30)
              .Build(),
          ip().Ipv4("10.0.0.1", "10.0.0.2")
              .Udp(1, 2, {.checksum = 0xbad})
              .Payload(30)
              .Build(),
          ip().Ipv4("10.0.0.1", "10.0.0.2")
              .Udp(1, 2, {.checksum = 0})
              .Payload(30)
              .Build(),
          ip().Ipv4("10.0.0.1", "10.0.0.2", {.ttl = 0})
              .Tcp(1, 2)
              .Payload(30)
              .Build(),
          ip().Ipv4("10.0.0.1", "10.0.0.2")
              .Udp(1, 2)
              .Payload(200)
              .CutTo(70)
              .Build()};
}

void SendsWrongChecksumsAsTheyAre(Lab& lab) { ExpectSent(lab, OddFrames()); }

void ReceivesWrongChecksumsAsTheyAre(Lab& lab) {
  ExpectReceived(lab, OddFrames());
}

void FragmentsStayFragments(Lab& lab) {
  const auto fragment = [](uint16_t offset, bool more) {
    return Frame()
        .Eth(kTestMacB, kTestMacA)
        .Ipv4("10.0.0.1", "10.0.0.2",
              {.id = 9,
               .more_fragments = more,
               .fragment_offset_bytes = offset,
               .protocol = 17})
        .Payload(64, offset + 1u)
        .Build();
  };
  ExpectReceived(lab, {fragment(64, false), fragment(0, true)});
}

void PaddingBelongsToTheFrame(Lab& lab) {
  ExpectReceived(lab, {Frame()
                           .Eth(kTestMacB, kTestMacA)
                           .Ipv4("10.0.0.1", "10.0.0.2")
                           .Udp(1, 2)
                           .Payload(2)
                           .PadTo(60)
                           .Build()});
}

void ReceivesManyInOrder(Lab& lab) {
  const std::vector<Bytes> frames = PlainFrames(200, 100);
  Rig rig(lab, frames);
  TestQp qp(rig, {.recv_wr = 256});
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 100);
  qp.PostRecvs(0, 100);
  qp.Take();
  rig.Deliver();
  // A buffer is used again 100 frames later: look before that.
  std::vector<Bytes> got = qp.Receive(50);
  for (int i = 0; i < 3; ++i) {
    for (Bytes& frame : qp.Receive(50)) got.push_back(std::move(frame));
  }
  EXPECT_EQ(got, frames);
}

void SendsManyInOrder(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig, {.send_wr = 128});
  ASSERT_TRUE(qp.ok());
  const std::vector<Bytes> frames = PlainFrames(400, 200);
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(qp.PostSend(i % 100, frames[i]), 0);
    if (i >= 50) {
      ASSERT_EQ(qp.Poll(1).size(), 1u);
    }
    lab.Collect();
  }
  EXPECT_EQ(lab.Observe(400), frames);
}

void OwnFramesDoNotComeBack(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(8, 4);
  qp.Take(TakeAll());
  ASSERT_EQ(qp.PostSend(0, PlainFrame(60)), 0);
  ASSERT_EQ(
      qp.PostSend(
          1,
          Frame().Eth(net::kBroadcast, kTestMacA, 0x88b5).Payload(60).Build()),
      0);
  ASSERT_EQ(lab.Observe(2).size(), 2u);
  lab.Inject(PlainFrame(90));
  std::vector<ibv_wc> received;
  for (const ibv_wc& wc : qp.Poll(3)) {
    if (wc.opcode == IBV_WC_RECV) received.push_back(wc);
  }
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(qp.Frame(received[0]), PlainFrame(90));
}

void WithoutAReceiveFramesWait(Lab& lab) {
  Rig rig(lab, PlainFrames(5));
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  qp.Take();
  rig.Deliver();
  EXPECT_TRUE(qp.recv_cq().PollTimes(100).empty());
  qp.PostRecvs(0, 5);
  EXPECT_EQ(qp.Receive(5), PlainFrames(5));
}

void WithoutAReceiveFramesAreLost(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  TestQp witness(rig);
  ASSERT_TRUE(qp.ok() && witness.ok());
  qp.Take();
  witness.Take();
  witness.PostRecvs(0, 3);
  lab.Inject(PlainFrame(60, 0));
  lab.Inject(PlainFrame(60, 1));
  // What the witness has, came.
  EXPECT_EQ(witness.Receive(2), PlainFrames(2));
  EXPECT_TRUE(qp.recv_cq().PollTimes(10).empty());
  qp.PostRecvs(8, 1);
  lab.Inject(PlainFrame(60, 2));
  EXPECT_EQ(qp.Receive(1), std::vector<Bytes>{PlainFrame(60, 2)});
}

void DirectionsDoNotDisturbEachOther(Lab& lab) {
  const std::vector<Bytes> in = PlainFrames(40, 300);
  Rig rig(lab, in);
  TestCq sends(rig);
  TestCq receives(rig);
  TestQp qp(rig, sends, receives);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 40);
  qp.Take();
  rig.Deliver();
  const std::vector<Bytes> out = PlainFrames(40, 77);
  std::vector<Bytes> got;
  for (size_t i = 0; i < 40; ++i) {
    ASSERT_EQ(qp.PostSend(64 + i % 32, out[i]), 0);
    for (Bytes& frame : qp.Receive(1)) got.push_back(std::move(frame));
    ASSERT_EQ(sends.Poll(1).size(), 1u);
  }
  EXPECT_EQ(got, in);
  EXPECT_EQ(lab.Observe(40), out);
}

void TwoThreadsShareAQp(Lab& lab) {
  const std::vector<Bytes> in = PlainFrames(60, 100);
  Rig rig(lab, in);
  TestCq sends(rig);
  TestCq receives(rig);
  TestQp qp(rig, sends, receives);
  ASSERT_TRUE(qp.ok());
  qp.PostRecvs(0, 60);
  qp.Take();
  std::thread sender([&] {
    for (size_t i = 0; i < 60; ++i) {
      EXPECT_EQ(qp.PostSend(64 + i % 32, PlainFrame(60, static_cast<int>(i))),
                0);
      EXPECT_EQ(sends.Poll(1).size(), 1u);
    }
  });
  rig.Deliver();
  EXPECT_EQ(qp.Receive(60), in);
  sender.join();
  EXPECT_EQ(lab.Observe(60), PlainFrames(60));
}

}  // namespace

CheckList DataPathChecks() {
  static constexpr Check kChecks[] = {
      {"data.sends_frames_of_many_lengths", kObserve, SendsFramesOfManyLengths},
      {"data.receives_frames_of_many_lengths", kInject,
       ReceivesFramesOfManyLengths},
      {"data.sends_runts_or_pads_them", kObserve, SendsRuntsOrPadsThem},
      {"data.receives_runts", kInject | kRunts, ReceivesRunts},
      {"data.sends_vlan_tags_as_they_are", kObserve, SendsVlanTagsAsTheyAre},
      {"data.receives_vlan_tags_as_they_are", kInject,
       ReceivesVlanTagsAsTheyAre},
      {"data.sends_wrong_checksums_as_they_are", kObserve,
       SendsWrongChecksumsAsTheyAre},
      {"data.receives_wrong_checksums_as_they_are", kInject,
       ReceivesWrongChecksumsAsTheyAre},
      {"data.fragments_stay_fragments", kInject, FragmentsStayFragments},
      {"data.padding_belongs_to_the_frame", kInject, PaddingBelongsToTheFrame},
      {"data.receives_many_in_order", kInject, ReceivesManyInOrder},
      {"data.sends_many_in_order", kObserve, SendsManyInOrder},
      {"data.own_frames_do_not_come_back", kLive | kObserve,
       OwnFramesDoNotComeBack},
      {"data.without_a_receive_frames_wait", kInject | kHolds,
       WithoutAReceiveFramesWait},
      {"data.without_a_receive_frames_are_lost", kLive | kDrops,
       WithoutAReceiveFramesAreLost},
      {"data.directions_do_not_disturb_each_other", kInject | kObserve,
       DirectionsDoNotDisturbEachOther},
      {"data.two_threads_share_a_qp", kInject | kObserve, TwoThreadsShareAQp},
  };
  return kChecks;
}

}  // namespace weir::conformance
