// Whoever is at the other end of the cable, when that is a verbs device too: a
// second port of the wire, another port of the NIC, or the NIC's own loopback.

#ifndef WEIR_TEST_CONFORMANCE_LABS_VERBS_PEER_H_
#define WEIR_TEST_CONFORMANCE_LABS_VERBS_PEER_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "test/support/frame.h"

namespace weir::conformance {

class VerbsPeer {
 public:
  // Which frames it tells of: on a cable with other traffic, those from the
  // addresses that checks use.
  enum class Sees : bool { kEverything, kTestAddresses };

  explicit VerbsPeer(Sees sees) : sees_(sees) {}
  VerbsPeer(const VerbsPeer&) = delete;
  VerbsPeer& operator=(const VerbsPeer&) = delete;
  ~VerbsPeer() { Close(); }

  // Empty, or what did not work.
  std::string Open(ibv_device* device);
  void Close();

  // A failure of the test if it cannot be sent.
  void Send(const Bytes& frame);
  // Appends what came to `to`, without waiting.
  void Collect(std::vector<Bytes>& to);

 private:
  static constexpr uint32_t kDepth = 256;
  static constexpr size_t kBufferBytes = 2048;

  std::string Build(ibv_device* device);
  void PostReceive(size_t index);
  ibv_sge Sge(size_t index, size_t bytes) const;
  void Handle(const ibv_wc& wc, std::vector<Bytes>* to);
  void Poll(std::vector<Bytes>* to);

  Sees sees_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_flow* flow_ = nullptr;
  // Buffers of receives, and behind them those of sends.
  std::vector<std::byte> memory_;
  uint32_t next_send_ = 0;
  uint32_t sends_in_flight_ = 0;
  std::vector<Bytes> early_;
};

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_VERBS_PEER_H_
