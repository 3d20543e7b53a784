// Reassembly as slow and simple as it can be: what the rules say, in lists that
// are searched from end to end.

#ifndef WEIR_TEST_SUPPORT_NAIVE_REASSEMBLY_H_
#define WEIR_TEST_SUPPORT_NAIVE_REASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

namespace weir {

class NaiveReassembly {
 public:
  struct Limits {
    uint64_t timeout = 30;
    size_t datagrams = 16;
    size_t fragments_per_datagram = 64;
    size_t fragments = 1024;
    size_t bytes = 1 << 20;
    size_t fragments_per_source = 1024;
  };
  struct Piece {
    // Which datagram, and who sent it.
    uint32_t key = 0;
    uint32_t source = 0;
    size_t begin = 0;
    std::vector<uint8_t> data = {};
    bool last = false;
  };
  enum class Answer {
    kPending,
    kComplete,
    kDuplicate,
    kOverlap,
    kEndsDisagree,
    kTooMany,
    kNoFragments,
    kNoBytes,
    kSourceShare,
  };

  explicit NaiveReassembly(const Limits& limits) : limits_(limits) {}

  // What becomes of `piece`, which came at `now`.
  Answer Add(const Piece& piece, uint64_t now);

  // The data of the datagram that the last kComplete completed.
  const std::vector<uint8_t>& data() const { return data_; }
  size_t fragments() const;
  size_t bytes() const;

 private:
  struct Entry {
    uint32_t key;
    uint32_t source;
    uint64_t deadline;
    std::vector<Piece> pieces = {};
    size_t bytes = 0;
    std::optional<size_t> total = {};
    // Why it was given up.
    std::optional<Answer> given_up = {};
  };
  using Entries = std::list<Entry>;

  size_t FragmentsOf(uint32_t source) const;
  std::optional<Answer> MakeRoom(Entries::iterator entry, const Piece& piece);
  Answer Insert(Entries::iterator entry, const Piece& piece);

  Limits limits_;
  // Oldest first.
  Entries entries_;
  std::vector<uint8_t> data_;
};

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_NAIVE_REASSEMBLY_H_
