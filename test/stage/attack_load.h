// Reassembly of good datagrams while fragments of others flood it, and the time
// that the stage takes for both: shared by a benchmark and a test.

#ifndef WEIR_TEST_STAGE_ATTACK_LOAD_H_
#define WEIR_TEST_STAGE_ATTACK_LOAD_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/reassemble.h"

namespace weir::testing {

// A fragment of IPv4 or IPv6; of addresses the last four bytes as numbers,
// `unit` as in the header.
struct AttackFragment {
  uint32_t source;
  uint32_t destination;
  uint16_t id;
  uint16_t unit;
  uint16_t bytes;
  bool more;
};

// Fragment number `i` of a flood none of whose datagrams becomes whole.
struct AttackFlood {
  const char* name;
  AttackFragment (*fragment)(uint32_t i);
};

inline constexpr uint32_t kAttacker = 203U << 24 | 0x7105;
// A datagram of the attacker for each `i`: identifications alone are 2^16.
constexpr AttackFragment OfAttacker(uint32_t i) {
  return {kAttacker, 0x0a000001 + (i >> 16), static_cast<uint16_t>(i), 0, 64,
          true};
}

// A source for each `i`, none of which is that of a good datagram.
constexpr AttackFragment OfMany(uint32_t i) {
  return {11U << 24 | (i & 0xffffff), 0x0a000001, 1, 0, 64, true};
}
constexpr AttackFragment At(AttackFragment fragment, uint32_t unit,
                            uint16_t bytes) {
  fragment.unit = static_cast<uint16_t>(unit);
  fragment.bytes = bytes;
  return fragment;
}
constexpr AttackFragment LastOf(AttackFragment fragment) {
  fragment.more = false;
  return fragment;
}

inline constexpr std::array<AttackFlood, 9> kAttackFloods = {{
    {"first fragments, one source", OfAttacker},
    {"first fragments, many sources", OfMany},
    {"last fragments, many sources",
     [](uint32_t i) { return LastOf(At(OfMany(i), 8, 64)); }},
    // Out of order and with gaps.
    {"8 bytes, 16 of a datagram, one source",
     [](uint32_t i) { return At(OfAttacker(i / 16), i * 7 % 16 * 2, 8); }},
    {"8 bytes, 60 of a datagram, many sources",
     [](uint32_t i) { return At(OfMany(i / 60), i * 7 % 60 * 2, 8); }},
    {"one datagram again and again",
     [](uint32_t i) { return At(OfAttacker(1), i * 9 % 8000, 64); }},
    {"four identifications in use again",
     [](uint32_t i) { return At(OfAttacker(i % 4), i / 4 * 9 % 8000, 64); }},
    {"overlaps, one source",
     [](uint32_t i) { return At(OfAttacker(i / 2), i % 2, 64); }},
    {"overlaps, many sources",
     [](uint32_t i) { return At(OfMany(i / 2), i % 2, 64); }},
}};

// Of good and of flood fragments in bursts of 32, what the stage took.
struct AttackResult {
  // Of bursts that were not interrupted; what was in them.
  double ns = 0;
  uint64_t timed_good = 0;
  uint64_t timed = 0;
  uint64_t good = 0;
  uint64_t flood = 0;
  // Good datagrams.
  uint64_t sent = 0;
  uint64_t complete = 0;

  // Time of the flood's fragments included.
  double ns_per_good() const { return ns / static_cast<double>(timed_good); }
  double ns_per_fragment() const { return ns / static_cast<double>(timed); }
};

// One stage. Owner lcore only.
class AttackLoad {
 public:
  // Of the good datagrams, `datagrams` are incomplete at once.
  AttackLoad(const ReassemblyOptions& options, uint32_t datagrams,
             const AttackFlood& flood, bool is_ipv6)
      : pool_(*MbufPool::Create(
            {.mbufs = options.max_fragments + 2048, .chunk_bytes = 512})),
        lcore_(0, pool_->cache(0)),
        stage_(*Reassemble::Create(options)),
        burst_(lcore_.cache()),
        datagrams_(datagrams),
        flood_(&flood),
        is_ipv6_(is_ipv6) {}
  AttackLoad(const AttackLoad&) = delete;
  AttackLoad& operator=(const AttackLoad&) = delete;
  ~AttackLoad() { stage_.Close(lcore_); }

  // Sends `count` fragments of the flood alone.
  AttackResult Flood(uint64_t count) {
    result_ = {};
    for (; count > 0; --count) Add(flood_->fragment(flooded_++));
    Flush();
    return result_;
  }

  // Sends `turns` times as many good datagrams as are incomplete at once, their
  // fragments in turn, and among them `flood_per_good` of the flood for each.
  AttackResult Run(uint32_t turns, double flood_per_good) {
    result_ = {};
    flood_per_good_ = flood_per_good;
    due_ = 0;
    for (; turns > 0; --turns, ++turn_) {
      for (uint16_t k = 0; k < kFragments; ++k) {
        for (uint32_t d = 0; d < datagrams_; ++d) AddGood(d, k);
      }
      result_.sent += datagrams_;
    }
    Flush();
    return result_;
  }

 private:
  static constexpr uint16_t kFragments = 6;
  static constexpr uint16_t kBytes = 64;
  static constexpr uint32_t kBurst = 32;
  // A burst that took longer says nothing about the code.
  static constexpr double kInterruptedNs = 400'000;

  void AddGood(uint32_t datagram, uint16_t number) {
    for (; due_ >= 1; --due_) {
      ++result_.flood;
      Add(flood_->fragment(flooded_++));
    }
    due_ += flood_per_good_;
    ++result_.good;
    ++good_in_burst_;
    Add({10U << 24 | datagram, 0x0a000001, static_cast<uint16_t>(turn_),
         static_cast<uint16_t>(number * (kBytes / 8)), kBytes,
         number + 1 != kFragments});
  }

  // As Parse leaves it; no byte of the data is read.
  void Add(const AttackFragment& fragment) {
    std::array<Mbuf*, 1> one{};
    lcore_.cache().Alloc(one);
    Mbuf& frame = *one[0];
    frame.Reset(128);
    const uint16_t data_at = kIpAt + (is_ipv6_ ? 40 + 8 : 20);
    frame.SetLength(data_at + fragment.bytes);
    std::memset(frame.data(), 2, data_at);
    is_ipv6_ ? WriteIpv6(frame.data(), fragment)
             : WriteIpv4(frame.data(), fragment);
    PacketInfo& info = frame.info();
    info.l3_offset = kIpAt;
    info.l4_offset = data_at;
    info.protocol = 253;
    info.l3 = is_ipv6_ ? L3::kIpv6 : L3::kIpv4;
    info.flags = PacketInfo::kFragment;
    info.set_ip_checksum(ChecksumState::kGood);
    burst_.Adopt(frame);
    if (burst_.size() == kBurst) Flush();
  }

  void Flush() {
    const uint32_t fragments = burst_.size();
    asm volatile("" ::: "memory");
    const auto begin = std::chrono::steady_clock::now();
    stage_.OnBurst(burst_, lcore_);
    const std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - begin;
    if (spent.count() < kInterruptedNs) {
      result_.ns += spent.count();
      result_.timed_good += good_in_burst_;
      result_.timed += fragments;
    }
    good_in_burst_ = 0;
    result_.complete += burst_.size();
    burst_.Clear();
  }

  // `bytes` bytes of `value`, in network byte order.
  static void Put(std::byte* at, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
      at[i] = static_cast<std::byte>(value >> 8 * (bytes - 1 - i));
    }
  }
  // Ethernet and IP, of protocol 253 (RFC 3692 §2.1).
  static void WriteIpv4(std::byte* frame, const AttackFragment& fragment) {
    Put(frame + 12, 0x08004500, 4);
    Put(frame + 16, 20U + fragment.bytes, 2);
    Put(frame + 18, fragment.id, 2);
    Put(frame + 20, fragment.unit | (fragment.more ? 0x2000U : 0U), 2);
    Put(frame + 22, (64U << 8 | 253) << 16, 4);
    Put(frame + 26, fragment.source, 4);
    Put(frame + 30, fragment.destination, 4);
  }
  static void WriteIpv6(std::byte* frame, const AttackFragment& fragment) {
    Put(frame + 12, 0x86dd6000, 4);
    Put(frame + 16, 0, 2);
    Put(frame + 18, (8U + fragment.bytes) << 16 | 44 << 8 | 64, 4);
    Put(frame + 34, fragment.source, 4);
    Put(frame + 50, fragment.destination, 4);
    Put(frame + 54, 253 << 8, 2);
    Put(frame + 56, fragment.unit * 8U | (fragment.more ? 1U : 0U), 2);
    Put(frame + 58, fragment.id, 4);
  }

  static constexpr uint16_t kIpAt = 14;

  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_;
  Reassemble stage_;
  Burst burst_;
  uint32_t datagrams_;
  const AttackFlood* flood_;
  bool is_ipv6_;
  double flood_per_good_ = 0;
  AttackResult result_;
  // Fragments of the flood that should have come by now.
  double due_ = 0;
  uint32_t flooded_ = 0;
  uint32_t turn_ = 0;
  uint32_t good_in_burst_ = 0;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_STAGE_ATTACK_LOAD_H_
