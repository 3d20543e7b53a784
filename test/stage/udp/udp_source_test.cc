#include "weir/stage/udp/udp_source.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/expect_conserved.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "weir/base/tsc_clock.h"
#include "weir/net/ip_text.h"
#include "weir/pipeline/pipeline.h"
#include "weir/stage/fill_checksums.h"
#include "weir/stage/fragment.h"
#include "weir/stage/udp/memory_payload.h"
#include "weir/stage/udp/payload_ring.h"

namespace weir::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Source = UdpSource<MemoryPayload>;

constexpr net::MacAddress kGroupMac{{0x01, 0, 0x5e, 0x7c, 0, 5}};

UdpAddresses Addresses(const char* source, const char* destination) {
  return {.source_mac = kTestMacA,
          .source = *net::ParseIpAddress(source),
          .destination = *net::ParseIpAddress(destination),
          .source_port = 30001,
          .destination_port = 5001,
          .hops = 4};
}
UdpAddresses Ipv4() { return Addresses("192.0.2.1", "233.252.0.5"); }
UdpAddresses Ipv6() { return Addresses("2001:db8::1", "ff3e::8000:5"); }

Bytes PayloadOf(size_t bytes) {
  Bytes payload(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  return payload;
}

Bytes Part(const Bytes& bytes, size_t from) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()};
}

// A source and what finishes its packets, in front of plain memory.
class Rig {
 public:
  Rig(const UdpSourceOptions& options, MemoryPayload payload,
      uint32_t mbufs = 512, uint32_t mtu_bytes = 65535)
      : lab_(mbufs),
        pipeline_(*Source::Create(options, std::move(payload)), FillChecksums(),
                  *Fragment::Create({.mtu_bytes = mtu_bytes, .id_seed = 1}),
                  FakeOutlet(sink_)) {}
  ~Rig() { ExpectConserved(pipeline_.Snapshot()); }

  // All that comes until nothing does.
  std::vector<Bytes> Run() {
    while (Poll() != 0) {
    }
    return std::exchange(sink_.frames, {});
  }
  uint32_t Poll() {
    lab_.lcore.UpdateClock();
    return pipeline_.Poll(lab_.lcore);
  }
  bool Finish() { return pipeline_.Finish(lab_.lcore); }
  size_t sent() const { return sink_.frames.size(); }
  Lab& lab() { return lab_; }

 private:
  Lab lab_;
  FakeSink sink_;
  Pipeline<Source, FillChecksums, Fragment, FakeOutlet> pipeline_;
};

// What a frame over IPv4 is when its identification is taken for `like`'s.
Bytes Expected4(const Bytes& like, const Bytes& payload) {
  const auto id = static_cast<uint16_t>(static_cast<unsigned>(like[18]) << 8 |
                                        static_cast<unsigned>(like[19]));
  return Frame()
      .Eth(kGroupMac, kTestMacA)
      .Ipv4("192.0.2.1", "233.252.0.5", {.ttl = 4, .id = id})
      .Udp(30001, 5001)
      .Raw(payload)
      .PadTo(60)
      .Build();
}

TEST(UdpSourceTest, MakesDatagramsOfAnyLength) {
  for (const size_t bytes : {0, 1, 5, 1472, 1879, 1880, 9000, 65507}) {
    const Bytes payload = PayloadOf(bytes);
    Rig rig({.addresses = Ipv4()}, MemoryPayload(payload, bytes, 1));
    const auto out = rig.Run();
    ASSERT_THAT(out, SizeIs(1)) << bytes;
    EXPECT_TRUE(out[0] == Expected4(out[0], payload)) << bytes;
  }
}

TEST(UdpSourceTest, MakesDatagramsOverIpv6) {
  for (const size_t bytes : {0, 5, 9000, 65487}) {
    const Bytes payload = PayloadOf(bytes);
    Rig rig({.addresses = Ipv6()}, MemoryPayload(payload, bytes, 1));
    const auto out = rig.Run();
    const Bytes expected =
        Frame()
            .Eth({{0x33, 0x33, 0x80, 0, 0, 5}}, kTestMacA)
            .Ipv6("2001:db8::1", "ff3e::8000:5", {.hop_limit = 4})
            .Udp(30001, 5001)
            .Raw(payload)
            .PadTo(60)
            .Build();
    ASSERT_THAT(out, SizeIs(1)) << bytes;
    EXPECT_TRUE(out[0] == expected) << bytes;
  }
}

TEST(UdpSourceTest, TagsFrames) {
  UdpAddresses addresses = Ipv4();
  addresses.vlan = 7;
  Rig rig({.addresses = addresses}, MemoryPayload(PayloadOf(99), 99, 1));
  auto out = rig.Run();
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(Bytes(out[0].begin() + 12, out[0].begin() + 18),
            (Bytes{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7},
                   std::byte{8}, std::byte{0}}));
  out[0].erase(out[0].begin() + 12, out[0].begin() + 16);
  EXPECT_EQ(out[0], Expected4(out[0], PayloadOf(99)));
}

TEST(UdpSourceTest, GivesEachDatagramAnIdOfItsOwn) {
  Rig rig({.addresses = Ipv4()}, MemoryPayload(PayloadOf(4), 4, 300));
  const auto out = rig.Run();
  ASSERT_THAT(out, SizeIs(300));
  std::set<Bytes> ids;
  for (const Bytes& frame : out) {
    ids.insert(Bytes(frame.begin() + 18, frame.begin() + 20));
  }
  EXPECT_THAT(ids, SizeIs(300));
}

TEST(UdpSourceTest, IsCutToTheMtu) {
  Rig rig({.addresses = Ipv4()}, MemoryPayload(PayloadOf(2000), 2000, 1), 512,
          1500);
  const auto out = rig.Run();
  ASSERT_THAT(out, SizeIs(2));
  EXPECT_EQ(out[0].size(), 14U + 1500);
  EXPECT_EQ(out[1].size(), 14U + 20 + 528);
  // The parts of one datagram (RFC 791 §3.2).
  EXPECT_EQ(Bytes(out[0].begin() + 18, out[0].begin() + 20),
            Bytes(out[1].begin() + 18, out[1].begin() + 20));
}

TEST(UdpSourceTest, EndsWithItsPayload) {
  Rig rig({.addresses = Ipv4()}, MemoryPayload(PayloadOf(25), 10, 7));
  EXPECT_FALSE(rig.Finish());
  const auto out = rig.Run();
  ASSERT_THAT(out, SizeIs(7));
  const std::array<size_t, 7> sizes = {10, 10, 5, 10, 10, 5, 10};
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i][39], static_cast<std::byte>(8 + sizes[i])) << i;
    EXPECT_EQ(out[i].size(), 60U) << i;
  }
  EXPECT_TRUE(rig.Finish());
}

TEST(UdpSourceTest, StampsPayload) {
  Rig rig({.addresses = Ipv4(), .stamps = true},
          MemoryPayload(PayloadOf(100), 100, 3));
  const auto out = rig.Run();
  ASSERT_THAT(out, SizeIs(3));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto stamp = ReadSequenceStamp(std::span(out[i]).subspan(42));
    ASSERT_TRUE(stamp.has_value());
    EXPECT_EQ(stamp->number.host(), i);
    // After the year 2020.
    EXPECT_GT(stamp->sent_ns.host(), 1'577'836'800'000'000'000);
    EXPECT_EQ(Part(out[i], 66), PayloadOf(100));
  }
}

TEST(UdpSourceTest, StampsDatagramsOfAnyLength) {
  for (const size_t bytes : {0, 1, 1900, 65483}) {
    Rig rig({.addresses = Ipv4(), .stamps = true},
            MemoryPayload(PayloadOf(bytes), bytes, 1));
    const auto out = rig.Run();
    ASSERT_THAT(out, SizeIs(1));
    Bytes payload = Part(out[0], 42);
    payload.resize(24 + bytes);
    EXPECT_TRUE(out[0] == Expected4(out[0], payload)) << bytes;
    EXPECT_TRUE(Part(payload, 24) == PayloadOf(bytes)) << bytes;
  }
}

// One at once, and one a millisecond from then on.
TEST(UdpSourceTest, KeepsItsRate) {
  Rig rig({.addresses = Ipv4(), .datagrams_per_second = 1000},
          MemoryPayload(PayloadOf(4), 4, MemoryPayload::kEndless));
  rig.Poll();
  const uint64_t begin_tsc = rig.lab().lcore.now_tsc();
  const size_t at_once = rig.sent();
  EXPECT_EQ(at_once, 1U);
  while (rig.sent() < at_once + 50) rig.Poll();
  const double took_s =
      static_cast<double>(rig.lab().lcore.now_tsc() - begin_tsc) /
      static_cast<double>(TscHz());
  EXPECT_GE(took_s, 0.049);
}

// What `source` gives now, which nobody wants.
template <typename T>
void Receive(T& source, Lab& lab) {
  lab.lcore.UpdateClock();
  Burst burst(lab.lcore.cache());
  source.Receive(burst, lab.lcore);
  burst.Clear();
}

void WaitTsc(uint64_t ticks) {
  for (const uint64_t begin = ReadTsc(); ReadTsc() - begin < ticks;) {
  }
}

TEST(UdpSourceTest, CountsTheTimeThatItCannotMakeUpFor) {
  Lab lab;
  Source source =
      *Source::Create({.addresses = Ipv4(), .datagrams_per_second = 1'000'000},
                      MemoryPayload(PayloadOf(4), 4, MemoryPayload::kEndless));
  const auto pace = source.pace();
  Receive(source, lab);
  EXPECT_EQ(pace->made.value(), 1U);
  EXPECT_EQ(pace->lost_tsc.value(), 0U);
  // A burst is made up for.
  const uint64_t ms_tsc = TscHz() / 1000;
  WaitTsc(ms_tsc);
  Receive(source, lab);
  EXPECT_EQ(pace->made.value(), 1U + kDefaultBurst);
  EXPECT_GE(pace->lost_tsc.value(), ms_tsc * 95 / 100);
}

// Of 5 ms a datagram, 160 ms are made up for.
TEST(UdpSourceTest, LosesNoTimeWhileThereIsNothingToSend) {
  Lab lab;
  PayloadRing ring = MakePayloadRing(4096, 100, RingPayload::kEndless);
  auto source = *UdpSource<RingPayload>::Create(
      {.addresses = Ipv4(), .datagrams_per_second = 200},
      std::move(ring.payload));
  const Bytes payload = PayloadOf(4);
  ASSERT_TRUE(ring.writer.Put(payload));
  Receive(source, lab);
  WaitTsc(TscHz() / 200);
  Receive(source, lab);
  WaitTsc(TscHz() / 5);
  ASSERT_TRUE(ring.writer.Put(payload));
  Receive(source, lab);
  EXPECT_EQ(source.pace()->made.value(), 2U);
  EXPECT_EQ(source.pace()->lost_tsc.value(), 0U);
}

TEST(UdpSourceTest, WaitsForMbufs) {
  Rig rig({.addresses = Ipv4()}, MemoryPayload(PayloadOf(9000), 9000, 2), 64);
  std::vector<Mbuf*> all;
  std::array<Mbuf*, 1> one{};
  while (rig.lab().lcore.cache().Alloc(one) != 0) all.push_back(one[0]);
  EXPECT_THAT(rig.Run(), IsEmpty());
  // Too few for one datagram: those it took it gives back.
  rig.lab().lcore.cache().FreePackets(std::span(all).first(3));
  EXPECT_THAT(rig.Run(), IsEmpty());
  rig.lab().lcore.cache().FreePackets(std::span(all).subspan(3));
  EXPECT_THAT(rig.Run(), SizeIs(2));
}

TEST(UdpSourceTest, RefusesAddressesThatDoNotFit) {
  const auto error = [](UdpAddresses addresses) {
    return std::string(UdpHeaders::Create(addresses).status().message());
  };
  EXPECT_EQ(error(Ipv4()), "");
  EXPECT_THAT(error(Addresses("192.0.2.1", "ff3e::1")),
              ::testing::HasSubstr("other family"));
  EXPECT_THAT(error(Addresses("192.0.2.1", "192.0.2.2")),
              ::testing::HasSubstr("no multicast group"));
  EXPECT_THAT(error(Addresses("224.0.0.1", "233.252.0.5")),
              ::testing::HasSubstr("is a group"));
  UdpAddresses to_host = Addresses("192.0.2.1", "192.0.2.2");
  to_host.destination_mac = kTestMacB;
  EXPECT_EQ(error(to_host), "");
  UdpAddresses wrong = Ipv4();
  wrong.destination_port = 0;
  EXPECT_THAT(error(wrong), ::testing::HasSubstr("port 0"));
  wrong = Ipv4();
  wrong.vlan = 4095;
  EXPECT_THAT(error(wrong), ::testing::HasSubstr("4095"));
}

TEST(UdpSourceTest, RefusesPayloadThatIsTooLong) {
  const auto code = [](const UdpAddresses& addresses, size_t bytes,
                       bool stamps = false) {
    return Source::Create({.addresses = addresses, .stamps = stamps},
                          MemoryPayload(PayloadOf(bytes), bytes, 1))
        .status()
        .code();
  };
  EXPECT_EQ(code(Ipv4(), 65507), absl::StatusCode::kOk);
  EXPECT_EQ(code(Ipv4(), 65508), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Ipv6(), 65527), absl::StatusCode::kOk);
  EXPECT_EQ(code(Ipv6(), 65528), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Ipv4(), 65484, true), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::testing
