// A port of the software HCA as a program uses it that knows nothing but verbs:
// one queue pair that takes everything, and linked arrays of work requests.

#ifndef WEIR_BENCH_HCA_VERBS_PORT_H_
#define WEIR_BENCH_HCA_VERBS_PORT_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir {

class VerbsPort {
 public:
  static constexpr size_t kMaxBurst = 64;

  // Opens the soft device of `key`; frames that are sent have `frame_bytes`.
  // Ends the process if that fails.
  VerbsPort(const std::string& key, size_t frame_bytes);
  VerbsPort(const VerbsPort&) = delete;
  VerbsPort& operator=(const VerbsPort&) = delete;
  ~VerbsPort();

  // Posts a burst of `count` sends, of which the last is signaled, and polls
  // for completions; how many were posted, none while too many wait.
  size_t Send(size_t count);

  // Polls for `max` frames at most, reads a byte of each, and posts their
  // buffers again; how many there were.
  size_t Receive(size_t max);

  // Like Receive, and sends what was received from where it lies.
  size_t Forward(size_t max);

 private:
  static constexpr size_t kChunkBytes = 2048;
  static constexpr uint32_t kDepth = 512;
  // As few as a pool that hands out the newest first would use.
  static constexpr size_t kChunks = 256;
  static constexpr size_t kMaxBursts = 4;

  void CreateQueuePair();
  void Link();
  uint64_t AddressOf(uint64_t index) const;
  std::span<const ibv_wc> Poll(size_t max);
  void PostSends(size_t count);
  void ReapSends();
  void Refill(size_t count);

  std::vector<std::byte> memory_;
  ibv_context* context_;
  ibv_pd* pd_;
  ibv_mr* mr_;
  ibv_cq* rx_cq_;
  ibv_cq* tx_cq_;
  ibv_qp* qp_ = nullptr;
  ibv_flow* flow_ = nullptr;
  uint64_t next_ = 0;
  size_t bursts_ = 0;
  std::array<ibv_wc, kMaxBurst> done_;
  std::array<ibv_sge, kMaxBurst> receive_sges_{};
  std::array<ibv_sge, kMaxBurst> send_sges_{};
  std::array<ibv_recv_wr, kMaxBurst> receives_{};
  std::array<ibv_send_wr, kMaxBurst> sends_{};
};

}  // namespace weir

#endif  // WEIR_BENCH_HCA_VERBS_PORT_H_
