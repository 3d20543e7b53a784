// What routers and hosts tell each other about groups, whichever protocol and
// version it came in: IGMP and MLD differ in their bytes, not in what they say.

#ifndef WEIR_MEMBERSHIP_GROUP_MESSAGE_H_
#define WEIR_MEMBERSHIP_GROUP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/load_store.h"

namespace weir {

// Of what sources a member of a group wants to hear: of those it names, or of
// all but those (RFC 3376 §2).
enum class FilterMode : uint8_t { kInclude, kExclude };

// Of a record in a report (RFC 3376 §4.2.12, RFC 3810 §5.2.12): what is, in
// answer to a query; what changed.
enum class RecordType : uint8_t {
  kIsInclude = 1,
  kIsExclude = 2,
  kToInclude = 3,
  kToExclude = 4,
  kAllow = 5,
  kBlock = 6,
};

// Addresses as they lie in a message.
template <typename Address>
class AddressList {
 public:
  AddressList() = default;
  // `bytes` holds a whole number of addresses and must outlive this.
  explicit AddressList(std::span<const std::byte> bytes) noexcept
      : bytes_(bytes) {}

  size_t size() const noexcept { return bytes_.size() / sizeof(Address); }
  bool empty() const noexcept { return bytes_.empty(); }
  Address operator[](size_t i) const noexcept {
    return net::LoadHeader<Address>(bytes_, i * sizeof(Address));
  }

 private:
  std::span<const std::byte> bytes_;
};

// A message that was read. Refers to the bytes it was read from.
template <typename Address>
struct GroupMessage {
  enum class Kind : uint8_t {
    kQuery,
    // Of the versions without sources: somebody is a member of `group`.
    kOldReport,
    // Somebody no longer is.
    kLeave,
    // Of the versions with sources: `records`.
    kReport,
  };

  Kind kind;
  // Of the protocol: 1 to 3 of IGMP, 1 or 2 of MLD.
  uint8_t version;
  // All zeros in a query for all groups.
  Address group{};
  // Of a query, as follows.
  uint64_t max_response_ns = 0;
  // Both 0 if it does not say.
  uint8_t robustness = 0;
  uint64_t interval_ns = 0;
  // "Suppress router-side processing".
  bool is_suppressed = false;
  // All if there are none.
  AddressList<Address> sources = {};
  // Of a report: checked, for ForEachRecord.
  std::span<const std::byte> records = {};
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_MESSAGE_H_
