// What became of each frame, kept until the end of the run: the memory of
// --json, which grows with the capture.

#ifndef APPS_INSPECT_RECORDER_H_
#define APPS_INSPECT_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "apps/inspect/sha256.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"

namespace weir::inspect {

enum class Fate : uint8_t {
  // Came to the end of the pipeline: an IP packet, or something else.
  kDelivered,
  kPassed,
  // Kept as a part of a datagram.
  kFragment,
  kDropped,
};

// Up to here the start of a frame is kept: what is printed of it stands there.
inline constexpr size_t kHeadBytes = 256;

struct FrameRecord {
  uint64_t timestamp_ns = 0;
  uint32_t frame_bytes = 0;
  Digest digest{};
  std::vector<std::byte> head;
  // As it was when the frame left the pipeline or was kept.
  PacketInfo info;
  // Set if the flow was hashed: over addresses, or over addresses and ports.
  uint32_t hash = 0;
  uint32_t queue = 0;
  // "2-tuple", "4-tuple" or "none"; empty if it was not hashed.
  absl::string_view hash_input;
  Fate fate = Fate::kDelivered;
  // Of a drop.
  absl::string_view reason;
  // The frames of the datagram that this one completed, and what became of it.
  std::vector<uint32_t> completes;
  ChecksumState datagram_checksum = ChecksumState::kUnknown;
  absl::string_view datagram_reason;
};

// A packet that came to the end, whole.
struct DatagramRecord {
  // Of the frame that completed it, and of all its frames.
  uint32_t at = 0;
  std::vector<uint32_t> frames;
  bool reassembled = false;
  std::vector<std::byte> head;
  PacketInfo info;
  // From the transport header to the end of the packet.
  uint32_t l4_bytes = 0;
  Digest l4_digest{};
  // What the length field of UDP says; of other protocols nothing.
  uint32_t payload_bytes = 0;
  Digest payload_digest{};
};

// Knows frames by their mbufs, from Begin on until they are delivered or
// dropped. Owner lcore only while it runs.
class Recorder {
 public:
  // `pool` is where all frames are from; it must outlive this.
  explicit Recorder(const MbufPool& pool)
      : pool_(pool), frame_of_(pool.mbufs()) {}

  // The next frame, as received.
  void Begin(const Mbuf& frame);

  void Hashed(const Mbuf& frame, uint32_t queue, absl::string_view input);

  // The end of a frame or of a datagram made of several.
  void Dropped(const Mbuf& packet, absl::string_view reason);
  void Delivered(const Mbuf& packet);

  // A fragment was kept. Its mbuf may be gone already.
  void Kept(uint32_t number, const PacketInfo& info);
  // A fragment was dropped. As Kept.
  void DroppedFragment(uint32_t number, const PacketInfo& info,
                       absl::string_view reason);
  // Frame `number` completed a datagram that was dropped at once.
  void DroppedDatagram(uint32_t number, absl::string_view reason);
  // Frame `number` completed `datagram`, the chain of its fragments.
  void Completed(uint32_t number, const Mbuf& datagram);

  // The number of the frame that begins in `packet`, from 1.
  uint32_t NumberOf(const Mbuf& packet) const {
    return frame_of_[pool_.IndexOf(packet)];
  }

  const std::vector<FrameRecord>& frames() const { return frames_; }
  const std::vector<DatagramRecord>& datagrams() const { return datagrams_; }

 private:
  FrameRecord& RecordOf(uint32_t number) { return frames_[number - 1]; }
  Digest DigestOf(const Mbuf& packet, uint32_t offset, uint32_t bytes);

  const MbufPool& pool_;
  // By the index of an mbuf: the number of the frame that begins in it; 0 for
  // the other segments of a frame.
  std::vector<uint32_t> frame_of_;
  std::vector<FrameRecord> frames_;
  std::vector<DatagramRecord> datagrams_;
  Sha256 sha256_;
};

}  // namespace weir::inspect

#endif  // APPS_INSPECT_RECORDER_H_
