#include "weir/stage/fragment.h"

#include <algorithm>
#include <random>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/base/tsc_clock.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ipv4.h"

namespace weir {
namespace {

using Outcome = net::FragmentHeaders::Outcome;

// RFC 791 §3.2: every link takes 68 bytes; 65535 are the longest IPv4 packet.
constexpr uint32_t kMinMtuBytes = 68;
constexpr uint32_t kMaxMtuBytes = 65535;
// RFC 8200 §5.
constexpr uint32_t kMinIpv6MtuBytes = 1280;

uint64_t SeedOf(const FragmentOptions& options) {
  if (options.id_seed != 0) return options.id_seed;
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

Fragment::Drop DropOf(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kHeadersTooLong:
      return Fragment::Drop::kHeadersTooLong;
    case Outcome::kTooFar:
      return Fragment::Drop::kTooFar;
    default:
      return Fragment::Drop::kMalformed;
  }
}

}  // namespace

absl::StatusOr<Fragment> Fragment::Create(const FragmentOptions& options) {
  if (options.mtu_bytes < kMinMtuBytes || options.mtu_bytes > kMaxMtuBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("want an MTU from ", kMinMtuBytes, " to ", kMaxMtuBytes,
                     " bytes, got ", options.mtu_bytes));
  }
  if (options.max_segments < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fragments have 2 segments at least, and the outlet takes ",
        options.max_segments));
  }
  return Fragment(options);
}

Fragment::Fragment(const FragmentOptions& options)
    : mtu_bytes_(options.mtu_bytes),
      role_(options.role),
      cut_(options.mtu_bytes, options.max_segments),
      ids_(SeedOf(options)),
      answers_(options.answers_per_second == 0 ? 0 : options.answers_at_once,
               TscHz() / std::max(options.answers_per_second, 1U)),
      router_(options.router) {}

void Fragment::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  if (!more()) {
    const std::span<Mbuf* const> packets = burst.mbufs();
    const auto is_long = [this](const Mbuf* packet) { return !Fits(*packet); };
    if (std::none_of(packets.begin(), packets.end(), is_long)) return;
    TakeAll(burst);
  }
  while (more() && Advance(burst, lcore)) {
  }
  counts_.held.Set(count_ - next_);
}

bool Fragment::Fits(const Mbuf& packet) const noexcept {
  const PacketInfo& info = packet.info();
  const uint32_t packet_bytes =
      packet.frame_bytes() - info.l3_offset - info.trailer_bytes;
  return packet_bytes <= mtu_bytes_ || !info.is_ip();
}

void Fragment::TakeAll(Burst& burst) noexcept {
  const std::span<Mbuf* const> packets = burst.mbufs();
  std::copy(packets.begin(), packets.end(), pending_.begin());
  next_ = 0;
  count_ = burst.size();
  burst.ReleaseAll();
}

// Works on the first packet that waits. False if it has to wait longer.
bool Fragment::Advance(Burst& burst, Lcore& lcore) noexcept {
  if (cut_.is_active()) return Continue(burst, lcore);
  if (burst.room() == 0) return false;
  Mbuf& packet = *pending_[next_];
  if (Fits(packet)) {
    burst.Adopt(packet);
    ++next_;
    return true;
  }
  return !Begin(packet, burst, lcore) || Continue(burst, lcore);
}

// False if `packet` was dropped.
bool Fragment::Begin(Mbuf& packet, Burst& burst, Lcore& lcore) noexcept {
  const PacketInfo& info = packet.info();
  if (info.l3 == L3::kIpv6) {
    if (mtu_bytes_ < kMinIpv6MtuBytes) {
      DropPacket(packet, Drop::kMtuBelowIpv6, lcore);
      return false;
    }
    if (role_ == FragmentRole::kRouter) {
      Answer(packet, burst, lcore);
      DropPacket(packet, Drop::kRouterIpv6, lcore);
      return false;
    }
  } else {
    const auto* ip = packet.Header<net::Ipv4Header>(info.l3_offset);
    if (ip != nullptr && ip->dont_fragment()) {
      if (role_ == FragmentRole::kRouter) Answer(packet, burst, lcore);
      DropPacket(packet, Drop::kDontFragment, lcore);
      return false;
    }
  }
  if (info.l4_checksum() == ChecksumState::kPartial) {
    DropPacket(packet, Drop::kPartialChecksum, lcore);
    return false;
  }
  const Outcome outcome = cut_.Start(packet, ids_, lcore.cache());
  if (outcome == Outcome::kStarted) return true;
  DropPacket(packet, DropOf(outcome), lcore);
  return false;
}

// Appends fragments of the packet in cut_. False if more are to come.
bool Fragment::Continue(Burst& burst, Lcore& lcore) noexcept {
  const uint32_t before = burst.size();
  const FragmentCut::Progress progress = cut_.Emit(burst);
  counts_.made.Add(burst.size() - before);
  switch (progress) {
    case FragmentCut::Progress::kDone:
      counts_.taken.Add(1);
      ++next_;
      return true;
    case FragmentCut::Progress::kBurstFull:
      return false;
    case FragmentCut::Progress::kNoMbufs:
      // What is in the burst gives mbufs back once it is sent.
      if (!burst.empty()) return false;
      Count(Drop::kNoMbufs);
      break;
    case FragmentCut::Progress::kTooManySegments:
      Count(Drop::kTooManySegments);
      break;
  }
  cut_.Abandon(lcore.cache());
  ++next_;
  return true;
}

void Fragment::Answer(const Mbuf& packet, Burst& burst, Lcore& lcore) noexcept {
  if (!MayAnswerTooBig(packet, router_) || !answers_.Take(lcore.now_tsc())) {
    return;
  }
  Mbuf* const answer = MakeTooBig(packet, mtu_bytes_, router_, lcore.cache());
  if (answer == nullptr) return;
  burst.Adopt(*answer);
  counts_.made.Add(1);
}

void Fragment::DropPacket(Mbuf& packet, Drop reason, Lcore& lcore) noexcept {
  Count(reason);
  const std::array<Mbuf*, 1> one{&packet};
  lcore.cache().FreePackets(one);
  ++next_;
}

void Fragment::Close(Lcore& lcore) noexcept {
  if (cut_.is_active()) {
    cut_.Abandon(lcore.cache());
    Count(Drop::kStopped);
    ++next_;
  }
  while (more()) DropPacket(*pending_[next_], Drop::kStopped, lcore);
  counts_.held.Set(0);
}

}  // namespace weir
