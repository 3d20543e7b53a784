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

using ToeplitzKey = std::array<uint8_t, kToeplitzKeyBytes>;

// The key that Microsoft publishes values for, and NICs come with.
inline constexpr ToeplitzKey kPublishedToeplitzKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

// A key that gives both directions of a flow one hash, as it repeats every 16
// bits and so does not tell where in the input an address or a port is (Woo and
// Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling",
// 2012). The two halves of the hash are the same.
inline constexpr ToeplitzKey kSymmetricToeplitzKey = [] {
  ToeplitzKey key = {};
  for (size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}();

// The hash under one key. Immutable: any thread.
class Toeplitz {
 public:
  explicit Toeplitz(std::span<const std::byte, kToeplitzKeyBytes> key) noexcept;
  explicit Toeplitz(const ToeplitzKey& key) noexcept
      : Toeplitz(std::as_bytes(std::span(key))) {}

  // The hash of the first kMaxToeplitzInputBytes of `input`, which is in
  // network order: source address, destination address, source port,
  // destination port, as far as they take part. Takes the fastest way that this
  // CPU has.
  uint32_t Hash(std::span<const std::byte> input) const noexcept {
    if (way_ == Way::kGfni) return HashByGfni(input);
    return way_ == Way::kClmul ? HashByClmul(input) : HashPortably(input);
  }

  // The same on any CPU.
  uint32_t HashPortably(std::span<const std::byte> input) const noexcept;

  // Whether HashByClmul may be called.
  static bool HasClmul() noexcept;
  // The same by carry-less multiplication (PCLMULQDQ and SSSE3); portably if
  // the size is not that of two addresses, with ports or without.
  uint32_t HashByClmul(std::span<const std::byte> input) const noexcept;

  // Whether HashByGfni may be called.
  static bool HasGfni() noexcept;
  // The same as HashByClmul, with GFNI in place of SSSE3.
  uint32_t HashByGfni(std::span<const std::byte> input) const noexcept;

 private:
  enum class Way : uint8_t { kPortable, kClmul, kGfni };

  // Of those that this CPU has.
  static Way FastestWay() noexcept {
    if (HasGfni()) return Way::kGfni;
    return HasClmul() ? Way::kClmul : Way::kPortable;
  }

  // The key as numbers of 64 bits, and a 0 to multiply the end by.
  alignas(16) std::array<uint64_t, 6> words_;
  Way way_ = FastestWay();
  // What half a byte adds, by its place and its value: 4.5 KiB, which stays in
  // L1 where a table by byte (36 KiB) would not.
  std::array<std::array<uint32_t, 16>, 2 * kMaxToeplitzInputBytes> halves_;
};

}  // namespace weir::net

#endif  // WEIR_NET_TOEPLITZ_H_
