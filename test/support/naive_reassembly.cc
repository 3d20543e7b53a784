#include "test/support/naive_reassembly.h"

#include <algorithm>

namespace weir {

using Answer = NaiveReassembly::Answer;

size_t NaiveReassembly::fragments() const {
  size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.pieces.size();
  return sum;
}

size_t NaiveReassembly::bytes() const {
  size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.bytes;
  return sum;
}

// One that is remembered counts as a fragment.
size_t NaiveReassembly::FragmentsOf(uint32_t source) const {
  size_t sum = 0;
  for (const Entry& entry : entries_) {
    if (entry.source != source) continue;
    sum += entry.given_up ? 1 : entry.pieces.size();
  }
  return sum;
}

Answer NaiveReassembly::Add(const Piece& piece, uint64_t now) {
  std::erase_if(entries_,
                [&](const Entry& entry) { return entry.deadline <= now; });
  auto entry =
      std::find_if(entries_.begin(), entries_.end(),
                   [&](const Entry& other) { return other.key == piece.key; });
  if (entry != entries_.end() && entry->given_up) return *entry->given_up;
  if (entry == entries_.end()) {
    if (entries_.size() == limits_.datagrams) entries_.pop_front();
    entries_.push_back({piece.key, piece.source, now + limits_.timeout});
    entry = std::prev(entries_.end());
  }
  const std::optional<Answer> full = MakeRoom(entry, piece);
  return full ? *full : Insert(entry, piece);
}

// The oldest go until there is room; an answer if `entry` itself was one.
std::optional<Answer> NaiveReassembly::MakeRoom(Entries::iterator entry,
                                                const Piece& piece) {
  for (;;) {
    Answer why;
    Entries::iterator victim = entries_.begin();
    if (FragmentsOf(piece.source) >= limits_.fragments_per_source) {
      why = Answer::kSourceShare;
      while (victim->source != piece.source) ++victim;
    } else if (fragments() >= limits_.fragments) {
      why = Answer::kNoFragments;
    } else if (bytes() + piece.data.size() > limits_.bytes) {
      why = Answer::kNoBytes;
    } else {
      return std::nullopt;
    }
    const bool own = victim == entry;
    entries_.erase(victim);
    if (own) return why;
  }
}

Answer NaiveReassembly::Insert(Entries::iterator entry, const Piece& piece) {
  const size_t end = piece.begin + piece.data.size();
  const auto give_up = [&](Answer why) {
    entry->pieces.clear();
    entry->bytes = 0;
    entry->given_up = why;
    return why;
  };
  size_t highest = 0;
  for (const Piece& old : entry->pieces) {
    const size_t old_end = old.begin + old.data.size();
    highest = std::max(highest, old_end);
    if (old_end <= piece.begin || end <= old.begin) continue;
    if (old.begin == piece.begin && old.data == piece.data) {
      return Answer::kDuplicate;
    }
    return give_up(Answer::kOverlap);
  }
  if (entry->total ? end > *entry->total || (piece.last && end != *entry->total)
                   : piece.last && end < highest) {
    return give_up(Answer::kEndsDisagree);
  }
  entry->pieces.push_back(piece);
  entry->bytes += piece.data.size();
  if (entry->pieces.size() > limits_.fragments_per_datagram) {
    return give_up(Answer::kTooMany);
  }
  if (piece.last) entry->total = end;
  if (!entry->total || entry->bytes != *entry->total) {
    return Answer::kPending;
  }
  std::vector<uint8_t> data(*entry->total);
  for (const Piece& part : entry->pieces) {
    std::copy(part.data.begin(), part.data.end(),
              data.begin() + static_cast<std::ptrdiff_t>(part.begin));
  }
  data_ = std::move(data);
  entries_.erase(entry);
  return Answer::kComplete;
}

}  // namespace weir
