// Fragments of up to eight datagrams of one version of IP, as a fuzzer likes
// them, against a slow reassembly: both have to say the same of each, a
// datagram has to have its own bytes, and in the end nothing may be left.
//
// Input: a byte of choices (0: IPv6, 1: tight limits, 2: long tags, 3: first
// fragments of what is given up are kept, 4 to 6: fragments in a burst, less
// one), then four bytes for each fragment: which datagram (3 bits), the last
// (1), other bytes than usual (1), the offset in units of 512 bytes (1), a step
// of time (2); the offset; the length; the trailer.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "test/fuzz/input.h"
#include "test/support/naive_reassembly.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassembly_add.h"
#include "weir/stage/reassembly_table.h"

namespace weir::fuzz {
namespace {

using Answer = NaiveReassembly::Answer;
using Outcome = ReassemblyTable::Outcome;

constexpr NaiveReassembly::Limits kWide{.timeout = 30,
                                        .datagrams = 16,
                                        .fragments_per_datagram = 200,
                                        .fragments = 800,
                                        .bytes = 600'000,
                                        .fragments_per_source = 700};
constexpr NaiveReassembly::Limits kTight{.timeout = 30,
                                         .datagrams = 5,
                                         .fragments_per_datagram = 9,
                                         .fragments = 20,
                                         .bytes = 66'000,
                                         .fragments_per_source = 12};

// The same each time, and one under which the two sources share nothing.
ReassemblySeed FixedSeed() {
  ReassemblySeed seed;
  uint64_t state = 2;
  for (uint64_t& number : seed) {
    state = state * 0x5851f42d4c957f2d + 0x14057b7ef767814f;
    number = state;
  }
  return seed;
}

ReassemblyTable MakeTable(const NaiveReassembly::Limits& limits,
                          bool keeps_abandoned) {
  return *ReassemblyTable::Create(
      {.ipv4_timeout_ns = limits.timeout,
       .ipv6_timeout_ns = limits.timeout,
       .clock = ReassemblyClock::kFrames,
       .max_datagrams = static_cast<uint32_t>(limits.datagrams),
       .max_fragments_per_datagram =
           static_cast<uint32_t>(limits.fragments_per_datagram),
       .max_fragments = static_cast<uint32_t>(limits.fragments),
       .max_bytes = limits.bytes,
       .max_fragments_per_source =
           static_cast<uint32_t>(limits.fragments_per_source),
       .keeps_abandoned = keeps_abandoned,
       .seed = FixedSeed()});
}

// Made once: what an input leaves behind would be a finding.
struct Lab {
  std::unique_ptr<MbufPool> pool = *MbufPool::Create(
      {.mbufs = 2048, .chunk_bytes = 4096, .best_rung = PageRung::k4KiB});
  Lcore lcore{0, pool->cache(0)};
  Parse parse;
  // By the second and the fourth choice.
  std::array<std::array<ReassemblyTable, 2>, 2> tables = {
      {{MakeTable(kWide, false), MakeTable(kTight, false)},
       {MakeTable(kWide, true), MakeTable(kTight, true)}}};
};

struct Wire {
  bool is_ipv6;
  bool is_tagged;
};

void Put16(std::vector<uint8_t>& out, size_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}

// 253 is a protocol for experiments (RFC 3692 §2.1): nothing is read of it.
std::vector<uint8_t> FrameOf(const Wire& wire,
                             const NaiveReassembly::Piece& piece) {
  std::vector<uint8_t> out(12, 2);
  if (wire.is_tagged) {
    for (int i = 0; i < 3; ++i) {
      Put16(out, 0x8100);
      Put16(out, 7);
    }
  }
  const auto source = static_cast<uint8_t>(piece.source);
  const size_t more = piece.last ? 0 : 1;
  if (wire.is_ipv6) {
    Put16(out, 0x86dd);
    out.insert(out.end(), {0x60, 0, 0, 0});
    Put16(out, 8 + piece.data.size());
    out.insert(out.end(), {44, 64});
    for (int i = 0; i < 32; ++i) out.push_back(i == 15 ? source : 0x20);
    out.insert(out.end(), {253, 0});
    Put16(out, piece.begin | more);
    Put16(out, 0);
    Put16(out, piece.key);
  } else {
    Put16(out, 0x0800);
    const size_t ip = out.size();
    out.insert(out.end(), {0x45, 0});
    Put16(out, 20 + piece.data.size());
    Put16(out, piece.key);
    Put16(out, more << 13 | piece.begin / 8);
    out.insert(out.end(), {64, 253, 0, 0, 10, 0, 0, source, 10, 0, 0, 9});
    uint32_t sum = 0;
    for (size_t i = ip; i < out.size(); i += 2) {
      sum += uint32_t{out[i]} << 8 | out[i + 1];
    }
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    out[ip + 10] = static_cast<uint8_t>(~sum >> 8);
    out[ip + 11] = static_cast<uint8_t>(~sum);
  }
  out.insert(out.end(), piece.data.begin(), piece.data.end());
  return out;
}

NaiveReassembly::Piece PieceFrom(uint8_t head, Input& input) {
  NaiveReassembly::Piece piece;
  piece.key = head & 7;
  piece.source = piece.key & 1;
  piece.last = (head & 8) != 0;
  const size_t variant = head >> 4 & 1;
  // Of 16 bits, the lowest three of which are flags.
  piece.begin = size_t{input.Byte()} * ((head & 0x20) != 0 ? 512 : 8) % 65536;
  const uint8_t length = input.Byte();
  piece.data.resize(piece.last ? size_t{length} + 1
                               : size_t{8} * ((length & 31) + 1));
  // Each eight bytes are their own.
  for (size_t i = 0; i < piece.data.size(); i += 8) {
    const size_t unit = (piece.begin + i) / 8 * 16 + piece.key * 2 + variant;
    std::memcpy(piece.data.data() + i, &unit,
                std::min(sizeof unit, piece.data.size() - i));
  }
  return piece;
}

bool Agree(const ReassemblyTable::Result& got, Answer want) {
  using Drop = ReassemblyDrop;
  const auto dropped = [&](Drop reason) {
    return got.outcome == Outcome::kDropped && got.reason == reason;
  };
  switch (want) {
    case Answer::kPending:
      return got.outcome == Outcome::kPending;
    case Answer::kComplete:
      return got.outcome == Outcome::kComplete;
    case Answer::kDuplicate:
      return dropped(Drop::kDuplicate);
    case Answer::kOverlap:
      return dropped(Drop::kOverlap);
    case Answer::kEndsDisagree:
      return dropped(Drop::kEndsDisagree);
    case Answer::kTooMany:
      return dropped(Drop::kTooManyFragments);
    case Answer::kNoFragments:
      return dropped(Drop::kNoFragments);
    case Answer::kNoBytes:
      return dropped(Drop::kNoBytes);
    case Answer::kSourceShare:
      return dropped(Drop::kSourceShare);
  }
  return false;
}

void CheckDatagram(Mbuf& datagram, const std::vector<uint8_t>& data) {
  std::vector<uint8_t> bytes;
  for (const Mbuf* at = &datagram; at != nullptr; at = at->next()) {
    const auto* first = reinterpret_cast<const uint8_t*>(at->data());
    bytes.insert(bytes.end(), first, first + at->data_bytes());
  }
  Require(bytes.size() == datagram.frame_bytes(), "the frame has its length");
  const size_t headers = datagram.info().l4_offset;
  Require(bytes.size() == headers + data.size() &&
              std::equal(data.begin(), data.end(), bytes.begin() + headers),
          "the datagram has its own bytes");
}

// Fragments that came together, and what they are.
struct Arrived {
  std::vector<Mbuf*> frames;
  std::vector<NaiveReassembly::Piece> pieces;
};

// A frame of `piece` as Parse leaves it; null if it drops it.
Mbuf* MakeFragment(Lab& lab, const Wire& wire,
                   const NaiveReassembly::Piece& piece, size_t trailer) {
  MbufCache& cache = lab.lcore.cache();
  std::vector<uint8_t> frame = FrameOf(wire, piece);
  frame.resize(frame.size() + trailer);
  std::array<Mbuf*, 1> one{};
  Require(cache.Alloc(one) == 1, "there is an mbuf");
  one[0]->Reset(128);
  one[0]->SetLength(static_cast<uint32_t>(frame.size()));
  std::memcpy(one[0]->data(), frame.data(), frame.size());
  if (lab.parse.OnPacket(*one[0], lab.lcore).is_pass() &&
      one[0]->info().is_fragment()) {
    return one[0];
  }
  cache.FreePackets(one);
  return nullptr;
}

// Gives `arrived` to both and compares what they say. Time passes for the slow
// one only when it is given something.
void AddAll(Lab& lab, ReassemblyTable& table, NaiveReassembly& naive,
            const Arrived& arrived, uint64_t now) {
  if (arrived.frames.empty()) return;
  MbufCache& cache = lab.lcore.cache();
  const std::span<Mbuf* const> frames(arrived.frames);
  std::vector<ReassemblyFragment> read(frames.size() + 1);
  const auto room = table.RoomFor(table.Read(frames, read));
  for (size_t i = 0; i < frames.size();) {
    ReassemblyTable::Run run{};
    if (ReassemblyTable::MayRun(read[i], room)) {
      run = table.AddRun(frames.subspan(i), &read[i], now, cache);
    }
    if (run.frames == 0) {
      run = {1, table.Add(*frames[i], read[i], now, room, cache)};
    }
    for (; run.frames > 1; --run.frames, ++i) {
      Require(naive.Add(arrived.pieces[i], now) == Answer::kPending,
              "a run is pending");
    }
    Require(Agree(run.result, naive.Add(arrived.pieces[i], now)),
            "both say the same");
    ++i;
    if (run.result.outcome == Outcome::kComplete) {
      CheckDatagram(*run.result.datagram, naive.data());
      cache.FreePackets({&run.result.datagram, 1});
    }
  }
  table.Publish();
  Require(table.counts().held.value() == naive.fragments() &&
              table.bytes_held() == naive.bytes(),
          "both hold the same");
}

// Frees what was kept of datagrams that are given up.
void TakeAbandoned(Lab& lab, ReassemblyTable& table) {
  while (table.has_abandoned()) {
    Mbuf* const first = &lab.pool->mbuf(table.TakeAbandoned().mbuf);
    Require(first->info().is_fragment() &&
                first->data_bytes() > first->info().l4_offset,
            "it has its headers");
    lab.lcore.cache().FreePackets({&first, 1});
  }
}

void Run(Lab& lab, Input input) {
  const uint8_t choices = input.Byte();
  const Wire wire{(choices & 1) != 0, (choices & 4) != 0};
  const size_t is_tight = choices >> 1 & 1;
  const size_t most = 1 + (choices >> 4 & 7);
  NaiveReassembly naive(is_tight != 0 ? kTight : kWide);
  ReassemblyTable& table = lab.tables[choices >> 3 & 1][is_tight];
  Arrived arrived;
  uint64_t now = 0;
  const auto flush = [&] {
    AddAll(lab, table, naive, arrived, now);
    TakeAbandoned(lab, table);
    arrived = {};
  };
  while (!input.empty()) {
    const uint8_t head = input.Byte();
    NaiveReassembly::Piece piece = PieceFrom(head, input);
    constexpr std::array<uint64_t, 4> kSteps = {0, 1, 7, 29};
    if (kSteps[head >> 6] != 0) {
      flush();
      now += kSteps[head >> 6];
      table.Expire(now, 100, lab.lcore.cache());
      TakeAbandoned(lab, table);
    }
    Mbuf* const frame = MakeFragment(lab, wire, piece, input.Byte() % 60);
    if (frame == nullptr) continue;
    arrived.frames.push_back(frame);
    arrived.pieces.push_back(std::move(piece));
    if (arrived.frames.size() == most) flush();
  }
  flush();
  table.Close(now + 30, lab.lcore.cache());
  TakeAbandoned(lab, table);
  Require(table.counts().held.value() == 0 && table.bytes_held() == 0,
          "nothing is held");
  Require(lab.pool->used_mbufs() == 0, "every mbuf is home");
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static weir::fuzz::Lab& lab = *new weir::fuzz::Lab;
  weir::fuzz::Run(lab, weir::fuzz::Input(data, size));
  return 0;
}
