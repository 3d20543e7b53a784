// State for each of many streams, in bounded memory: what one lcore writes for
// every datagram and the control thread reads meanwhile.

#ifndef WEIR_STAGE_STREAM_STREAM_TABLE_H_
#define WEIR_STAGE_STREAM_STREAM_TABLE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

#include "weir/base/check.h"
#include "weir/base/counter.h"
#include "weir/net/ip_text.h"

namespace weir {

// What makes a stream one. Addresses of IPv4 are mapped into IPv6 (RFC 4291
// §2.5.5.2).
struct StreamKey {
  std::array<uint64_t, 5> words = {};

  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

// From `source` to `destination`; `id` tells streams of the same addresses
// apart, as the SSRC of RTP does. Any thread.
StreamKey MakeStreamKey(const net::IpAddress& source,
                        const net::IpAddress& destination, uint16_t source_port,
                        uint16_t destination_port, uint32_t id) noexcept;

// What such a key is made of.
struct StreamName {
  net::IpAddress source;
  net::IpAddress destination;
  uint16_t source_port;
  uint16_t destination_port;
  uint32_t id;
};
StreamName NameOfStream(const StreamKey& key) noexcept;

// Value is copied without an exception. A new stream takes the place of one
// that was silent for the idle time, if its places are taken; without such a
// one it has none.
template <typename Value>
class StreamTable {
 public:
  // Places that a stream may have.
  static constexpr size_t kWays = 8;

  // Of `capacity` streams, a power of two from kWays on, that are silent when
  // nothing came for `idle_tsc` ticks; each begins as `fresh`. Which places a
  // stream may have nobody outside knows. Control thread.
  StreamTable(size_t capacity, uint64_t idle_tsc, const Value& fresh = {})
      : entries_(std::make_unique<Entry[]>(capacity)),
        fresh_(fresh),
        capacity_(capacity),
        idle_tsc_(idle_tsc) {
    Check(std::has_single_bit(capacity) && capacity >= kWays,
          "streams: want a power of two, 8 at least");
    std::random_device random;
    for (uint64_t& seed : seeds_) seed = uint64_t{random()} << 32 | random();
  }
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;
  ~StreamTable() = default;

  // The state of the stream `key`, which has a datagram now; null if there is
  // no place for it, and then it is counted. `on_evict` sees the state of a
  // stream that has to go. Owner lcore only.
  template <typename OnEvict>
  Value* Find(const StreamKey& key, uint64_t now_tsc,
              const OnEvict& on_evict) noexcept {
    if (last_ != nullptr && last_->Is(key)) [[likely]] {
      last_->seen_tsc = now_tsc;
      return &last_->value;
    }
    Entry* const places = &entries_[PlacesOf(key)];
    for (size_t i = 0; i < kWays; ++i) {
      if (places[i].in_use.value() != 0 && places[i].Is(key)) {
        last_ = &places[i];
        last_->seen_tsc = now_tsc;
        return &last_->value;
      }
    }
    return Add(places, key, now_tsc, on_evict);
  }

  // Calls visit(const StreamKey&, const Value&) for each stream; one that makes
  // room for another meanwhile may be shown with counts of both. Any thread.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].in_use.value() == 0) continue;
      const StreamKey key = entries_[i].Key();
      visit(key, entries_[i].value);
    }
  }

  // Datagrams without a place; streams that had to go. Any thread.
  uint64_t no_room() const noexcept { return no_room_.value(); }
  uint64_t evicted() const noexcept { return evicted_.value(); }

 private:
  struct Entry {
    bool Is(const StreamKey& key) const noexcept {
      uint64_t differ = 0;
      for (size_t i = 0; i < words.size(); ++i) {
        differ |= words[i].value() ^ key.words[i];
      }
      return differ == 0;
    }
    StreamKey Key() const noexcept {
      StreamKey key;
      for (size_t i = 0; i < words.size(); ++i) {
        key.words[i] = words[i].value();
      }
      return key;
    }

    std::array<Counter, 5> words;
    Counter in_use;
    uint64_t seen_tsc = 0;
    Value value;
  };

  template <typename OnEvict>
  [[gnu::noinline]] Value* Add(Entry* places, const StreamKey& key,
                               uint64_t now_tsc,
                               const OnEvict& on_evict) noexcept {
    Entry* oldest = places;
    for (size_t i = 0; i < kWays; ++i) {
      if (places[i].in_use.value() == 0) {
        oldest = &places[i];
        break;
      }
      if (places[i].seen_tsc < oldest->seen_tsc) oldest = &places[i];
    }
    if (oldest->in_use.value() != 0) {
      if (now_tsc - oldest->seen_tsc < idle_tsc_) {
        no_room_.Add(1);
        return nullptr;
      }
      on_evict(oldest->value);
      evicted_.Add(1);
    }
    oldest->in_use.Set(0);
    oldest->value = fresh_;
    for (size_t i = 0; i < key.words.size(); ++i) {
      oldest->words[i].Set(key.words[i]);
    }
    oldest->seen_tsc = now_tsc;
    oldest->in_use.Set(1);
    last_ = oldest;
    return &oldest->value;
  }

  // The first of them.
  size_t PlacesOf(const StreamKey& key) const noexcept {
    uint64_t hash = seeds_[5];
    for (size_t i = 0; i < key.words.size(); ++i) {
      // The upper half of a product with an unknown odd factor.
      const auto product =
          static_cast<unsigned __int128>((key.words[i] ^ hash)) *
          (seeds_[i] | 1);
      hash =
          static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
    }
    return static_cast<size_t>(hash) & (capacity_ - kWays);
  }

  std::unique_ptr<Entry[]> entries_;
  Value fresh_;
  size_t capacity_;
  uint64_t idle_tsc_;
  Entry* last_ = nullptr;
  std::array<uint64_t, 6> seeds_;
  Counter no_room_;
  Counter evicted_;
};

}  // namespace weir

#endif  // WEIR_STAGE_STREAM_STREAM_TABLE_H_
