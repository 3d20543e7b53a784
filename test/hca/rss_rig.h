// Work queues behind an RSS queue pair, at the far end of a wire from a sender.

#ifndef WEIR_TEST_HCA_RSS_RIG_H_
#define WEIR_TEST_HCA_RSS_RIG_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"

namespace weir::hca {

// The key of the published hash values.
extern const std::array<uint8_t, 40> kPublishedKey;

class RssRig {
 public:
  // `key` names the wire; the table has one entry for each of `queues`, a power
  // of two. Queues are in RDY with 8 receives each, and every frame goes to the
  // RSS queue pair, which hashes over `fields`.
  RssRig(const std::string& key, size_t queues, uint64_t fields);
  RssRig(const RssRig&) = delete;
  RssRig& operator=(const RssRig&) = delete;
  ~RssRig();

  // One more work queue, in RESET; null and errno if it is refused.
  ibv_wq* CreateWq(uint32_t max_wr = 8, uint32_t max_sge = 2);
  ibv_rwq_ind_table* CreateTable(std::vector<ibv_wq*> entries);
  // Null and errno if it is refused.
  ibv_qp* CreateRssQp(ibv_rwq_ind_table* table, uint64_t fields,
                      uint8_t key_bytes = 40);
  static int Modify(ibv_wq* wq, ibv_wq_state state);
  int PostReceive(ibv_wq* wq, size_t index,
                  uint32_t bytes = VerbsRig::kBufferBytes);

  void Send(const Bytes& frame);
  // The index of the queue that got a frame, nothing if none did.
  std::optional<size_t> QueueOf(const Bytes& frame);

  VerbsRig sender;
  VerbsRig receiver;
  std::vector<ibv_wq*> wqs;
  ibv_rwq_ind_table* table = nullptr;
  ibv_qp* qp = nullptr;
  ibv_flow* flow = nullptr;
};

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_RSS_RIG_H_
