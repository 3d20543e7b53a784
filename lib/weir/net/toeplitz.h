// The Toeplitz hash of receive side scaling: which queue a flow goes to
// (Microsoft, "RSS Hashing Functions"). Every bit of the input that is set adds
// the 32 bits of the key that begin at its place.

#ifndef WEIR_NET_TOEPLITZ_H_
#define WEIR_NET_TOEPLITZ_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::net {

inline constexpr size_t kToeplitzKeyBytes = 40;
// Two IPv6 addresses and two ports: as much as a key of 40 bytes covers.
inline constexpr size_t kMaxToeplitzInputBytes = 36;

// The hash under one key. Immutable: any thread.
class Toeplitz {
 public:
  explicit Toeplitz(std::span<const std::byte, kToeplitzKeyBytes> key) noexcept;

  // The hash of the first kMaxToeplitzInputBytes of `input`, which is in
  // network order: source address, destination address, source port,
  // destination port, as far as they take part.
  uint32_t Hash(std::span<const std::byte> input) const noexcept;

 private:
  // What half a byte adds, by its place and its value: 4.5 KiB, which stays in
  // L1 where a table by byte (36 KiB) would not.
  std::array<std::array<uint32_t, 16>, 2 * kMaxToeplitzInputBytes> halves_;
};

}  // namespace weir::net

#endif  // WEIR_NET_TOEPLITZ_H_
