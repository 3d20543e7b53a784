// Fragments of one datagram that come one right behind the other, as hosts send
// them and links deliver them: a run. Those that are a whole datagram need no
// place in any table.

#ifndef WEIR_STAGE_FRAGMENT_RUN_H_
#define WEIR_STAGE_FRAGMENT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weir/mbuf/mbuf.h"
#include "weir/stage/fragment_data.h"
#include "weir/stage/reassembly_fragment.h"

namespace weir {

// Finds runs among fragments that come in turn.
class RunFinder {
 public:
  // A fragment of another datagram than that of the one before.
  void Begin(ReassemblyFragment& first) noexcept {
    first_ = &first;
    if (first.run == 0) [[unlikely]]
      return End();
    begin_ = first.begin;
    end_ = first.is_last ? kNowhere : first.end;
  }
  void Continue(const ReassemblyFragment& next) noexcept {
    if (next.begin == end_) {
      end_ = next.is_last ? kNowhere : next.end;
      begin_ = kNowhere;
    } else if (next.end == begin_ && !next.is_last) {
      begin_ = next.begin;
      end_ = kNowhere;
    } else {
      return End();
    }
    first_->run += next.run;
    if (next.run == 0) [[unlikely]]
      End();
  }

 private:
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  void End() noexcept {
    begin_ = kNowhere;
    end_ = kNowhere;
  }

  ReassemblyFragment* first_ = nullptr;
  // Where the next one has to end, or to begin.
  uint32_t begin_ = kNowhere;
  uint32_t end_ = kNowhere;
};

struct FragmentRun {
  // The frames, and what was read of each.
  std::span<Mbuf* const> frames;
  const ReassemblyFragment* read;
  // Of all data.
  uint32_t bytes;
  // A bit for each value of the ECN field.
  uint8_t ecn_seen;

  // Whether the last comes first.
  bool is_backwards() const noexcept { return read[1].begin < read[0].begin; }
  // Whether the addresses are the same, too, of which keys of IPv6 have a hash.
  bool has_one_key() const noexcept {
    if (!read[0].is_ipv6()) [[likely]]
      return true;
    bool same = true;
    for (size_t i = 1; i < frames.size(); ++i) {
      same &= std::memcmp(read[i].addresses, read[0].addresses,
                          ReassemblyFragment::kAddressBytes) == 0;
    }
    return same;
  }
  // Whether they are a whole datagram.
  bool is_whole() const noexcept {
    const ReassemblyFragment& front = read[0];
    const ReassemblyFragment& back = read[frames.size() - 1];
    return is_backwards() ? front.is_last && back.begin == 0
                          : front.begin == 0 && back.is_last;
  }
};

// What those are that follow the first of `frames` in its run, of which there
// are several.
inline FragmentRun RunOf(std::span<Mbuf* const> frames,
                         const ReassemblyFragment* read) noexcept {
  const uint32_t count = read->run;
  uint32_t ecn_seen = 0;
  for (uint32_t i = 0; i < count; ++i) ecn_seen |= 1U << (read[i].ecn & 3);
  // What lies between both ends.
  const ReassemblyFragment& back = read[count - 1];
  const uint32_t bytes = back.begin < read->begin ? read->end - back.begin
                                                  : back.end - read->begin;
  return {frames.first(count), read, bytes, static_cast<uint8_t>(ecn_seen)};
}

// Makes a frame of a run that is whole, with the headers of the first fragment.
[[gnu::always_inline]] inline Mbuf& ChainRun(const FragmentRun& run) noexcept {
  const auto count = static_cast<ptrdiff_t>(run.frames.size());
  const ptrdiff_t step = run.is_backwards() ? -1 : 1;
  Mbuf* const* at = &run.frames[run.is_backwards() ? run.frames.size() - 1 : 0];
  const ReassemblyFragment* read = run.read + (at - run.frames.data());
  Mbuf& first = **at;
  const uint32_t headers = first.info().l4_offset;
  first.SetLength(headers + read->bytes());
  Mbuf* before = &first;
  for (ptrdiff_t i = 1; i < count; ++i) {
    at += step;
    read += step;
    Mbuf& next = **at;
    TrimPlain(next, read->begin, read->bytes());
    before->SetNext(next);
    before = &next;
  }
  first.SetFrame(headers + run.bytes, static_cast<uint32_t>(count));
  return first;
}

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_RUN_H_
