// A frame through Parse and Fragment: whatever it says, fragments fit, parse,
// and carry the bytes that came, once and in order; every mbuf comes home.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "test/fuzz/input.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/fragment.h"
#include "weir/stage/parse.h"

namespace weir {
namespace {

using fuzz::Require;
using Bytes = std::vector<std::byte>;

// One for all runs: it is empty whenever a run ends.
struct Lab {
  std::unique_ptr<MbufPool> pool =
      *MbufPool::Create({.mbufs = 1024, .best_rung = PageRung::k4KiB});
  Lcore lcore{0, pool->cache(0)};
};

// How the packet is cut; how its segments are, and how many bytes follow.
struct Setup {
  FragmentOptions options;
  size_t first_bytes;
  size_t segment_bytes;
  size_t more_bytes;
  bool fixes_length;
};

Setup ReadSetup(fuzz::Input& input) {
  Setup setup;
  const uint8_t flags = input.Byte();
  setup.options.mtu_bytes = ((flags & 1) != 0 ? 1280 : 68) + input.Byte() * 2U;
  setup.options.role =
      (flags & 2) != 0 ? FragmentRole::kRouter : FragmentRole::kHost;
  setup.options.max_segments = 2 + (flags >> 2 & 7U) * 9;
  setup.options.id_seed = 1;
  setup.fixes_length = (flags & 32) != 0;
  setup.first_bytes = size_t{20} + 7 * input.Byte();
  setup.segment_bytes = size_t{1} + 7 * input.Byte();
  setup.more_bytes = size_t{40} * input.Byte();
  return setup;
}

// As many as any input asks for. Made once: it was most of a run.
Bytes MakeMoreBytes() {
  Bytes more(size_t{40} * UINT8_MAX);
  for (size_t i = 0; i < more.size(); ++i) {
    more[i] = std::byte(static_cast<uint8_t>(i + i / 251));
  }
  return more;
}

Bytes ReadFrame(fuzz::Input& input, const Setup& setup) {
  Bytes frame;
  while (!input.empty()) frame.push_back(std::byte{input.Byte()});
  const size_t given = frame.size();
  static const Bytes& more = *new Bytes(MakeMoreBytes());
  frame.insert(frame.end(), more.begin(),
               more.begin() + static_cast<ptrdiff_t>(setup.more_bytes));
  if (given < 54 || !setup.fixes_length) return frame;
  // Behind Ethernet II, the length that the packet has.
  const bool ipv6 = frame[12] == std::byte{0x86};
  const size_t bytes = frame.size() - 14 - (ipv6 ? 40 : 0);
  const size_t at = ipv6 ? 18 : 16;
  frame[at] = std::byte(static_cast<uint8_t>(bytes >> 8));
  frame[at + 1] = std::byte(static_cast<uint8_t>(bytes));
  return frame;
}

Mbuf* MakePacket(MbufCache& cache, const Bytes& frame, const Setup& setup) {
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  for (size_t done = 0; done < frame.size() || first == nullptr;) {
    std::array<Mbuf*, 1> one{};
    Require(cache.Alloc(one) == 1, "there are mbufs for a packet");
    one[0]->Reset(cache.pool().headroom_bytes());
    // Not more segments than the pool has mbufs for, fragments included.
    const size_t least = std::max(setup.segment_bytes, frame.size() / 100);
    const size_t size = std::min({first == nullptr ? setup.first_bytes : least,
                                  frame.size() - done, size_t{1800}});
    one[0]->SetLength(static_cast<uint32_t>(size));
    std::copy_n(frame.begin() + static_cast<ptrdiff_t>(done), size,
                one[0]->data());
    done += size;
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  return first;
}

Bytes BytesOf(const Mbuf& packet) {
  Bytes bytes;
  for (const Mbuf* at = &packet; at != nullptr; at = at->next()) {
    bytes.insert(bytes.end(), at->bytes().begin(), at->bytes().end());
  }
  Require(bytes.size() == packet.frame_bytes(), "segments add up to the frame");
  return bytes;
}

// Adds the data of a fragment to `data`.
void TakeFragment(Mbuf& packet, const Setup& setup, Lcore& lcore, Bytes& data) {
  const PacketInfo said = packet.info();
  const Bytes bytes = BytesOf(packet);
  Require(packet.segments() <= setup.options.max_segments, "segments");
  Require(bytes.size() <= said.l3_offset + setup.options.mtu_bytes,
          "fragments fit");
  data.insert(data.end(), bytes.begin() + said.l4_offset, bytes.end());
  Parse parse;
  Require(parse.OnPacket(packet, lcore).is_pass(), "fragments parse");
  Require(packet.info().l3_offset == said.l3_offset &&
              packet.info().trailer_bytes == 0 && packet.info().is_fragment(),
          "fragments are what is said of them");
}

void Run(Lab& lab, fuzz::Input input) {
  const Setup setup = ReadSetup(input);
  const Bytes frame = ReadFrame(input, setup);
  MbufCache& cache = lab.lcore.cache();
  Mbuf* const packet = MakePacket(cache, frame, setup);
  Burst burst(cache);
  burst.Adopt(*packet);
  Parse parse;
  if (!parse.OnPacket(*packet, lab.lcore).is_pass()) return;
  // What Parse has moved is the same frame.
  const PacketInfo info = packet->info();
  Fragment stage = *Fragment::Create(setup.options);
  Bytes data;
  uint64_t out = 0;
  do {
    stage.OnBurst(burst, lab.lcore);
    for (Mbuf* made : burst.mbufs()) {
      ++out;
      const bool is_answer = (made->info().flags & PacketInfo::kAnswer) != 0;
      if (is_answer) {
        Require(parse.OnPacket(*made, lab.lcore).is_pass(), "answers parse");
      } else if (stage.counts().made.value() == 0) {
        Require(BytesOf(*made) == frame, "what fits is not touched");
      } else {
        TakeFragment(*made, setup, lab.lcore, data);
      }
    }
    burst.Clear();
  } while (stage.more());
  uint64_t drops = 0;
  for (const Counter& drop : stage.counts().drops) drops += drop.value();
  Require(1 + stage.counts().made.value() ==
              out + drops + stage.counts().taken.value(),
          "nothing is lost unseen");
  if (stage.counts().taken.value() != 0) {
    const auto end = frame.end() - info.trailer_bytes;
    Require(data.size() <= frame.size() - info.trailer_bytes &&
                std::equal(data.begin(), data.end(),
                           end - static_cast<ptrdiff_t>(data.size())),
            "data is what came");
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static weir::Lab lab;
  weir::Run(lab, weir::fuzz::Input(data, size));
  weir::fuzz::Require(lab.pool->used_mbufs() == 0, "every mbuf is home");
  return 0;
}
