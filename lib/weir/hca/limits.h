// What a soft device can do: the numbers that ibv_query_device reports and that
// the creating calls enforce exactly, for programs try "limit + 1".

#ifndef WEIR_HCA_LIMITS_H_
#define WEIR_HCA_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace weir::hca {

inline constexpr uint32_t kMaxQp = 1024;
inline constexpr uint32_t kMaxQpWr = 32768;
// The longest frame, 65,535 bytes of L3 and header, takes 33 chunks of 2 KiB to
// receive, and 37 at most to send.
inline constexpr uint32_t kMaxSge = 64;
inline constexpr uint32_t kMaxInlineBytes = 512;
// Of TSO requests: the payload, as the mlx5 driver has it, and the header.
inline constexpr uint32_t kMaxTsoBytes = 1u << 18;
inline constexpr uint32_t kMaxTsoHeaderBytes = 256;
inline constexpr uint32_t kMaxWq = 4096;
inline constexpr uint32_t kMaxWqWr = kMaxQpWr;
inline constexpr uint32_t kMaxIndirectionTables = kMaxQp;
inline constexpr uint32_t kMaxIndirectionEntries = 2048;
inline constexpr uint32_t kMaxCq = 4096;
inline constexpr uint32_t kMaxCqe = 1u << 20;
inline constexpr uint32_t kMaxMr = 65536;
inline constexpr uint32_t kMaxPd = 65536;
inline constexpr uint32_t kMaxMcastGroups = 4096;
inline constexpr uint32_t kMaxMcastQps = kMaxQp;
// Pairs of a group and a queue pair.
inline constexpr uint32_t kMaxMcastAttachments = kMaxMcastGroups;
// As the mlx5 driver allows.
inline constexpr uint16_t kMaxFlowPriority = 15;
// Flows and multicast attachments of a port together.
inline constexpr uint32_t kMaxFlows = 65536;
inline constexpr uint32_t kMaxCounters = 65536;
// Attach points of a counters object, and bound of their indices.
inline constexpr uint32_t kMaxCounterPoints = 64;
inline constexpr int kCompVectors = 1;
inline constexpr uint8_t kPortNumber = 1;

// Frames in one call of a backend. Enough to make the call cheap, few enough to
// be on the stack.
inline constexpr size_t kBurstFrames = 64;

// The longest frame that a work request may describe: a bound on lengths, not
// on what a medium takes.
inline constexpr uint64_t kMaxFrameBytes = 1u << 17;

}  // namespace weir::hca

#endif  // WEIR_HCA_LIMITS_H_
