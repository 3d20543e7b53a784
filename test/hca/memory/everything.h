// All kinds of objects of a soft device, each made while memory runs out.

#ifndef WEIR_TEST_HCA_MEMORY_EVERYTHING_H_
#define WEIR_TEST_HCA_MEMORY_EVERYTHING_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::hca {

// The test fails where a call does not say that memory ran out, or cannot be
// made again.
class Everything {
 public:
  explicit Everything(ibv_device* device);
  Everything(const Everything&) = delete;
  Everything& operator=(const Everything&) = delete;
  // Destroys all, which the test fails for if something counts as used.
  ~Everything();

  // From RESET to `last`.
  static void Move(ibv_qp* qp, ibv_qp_state last);

  // A rule on the bits of the last octet of the destination MAC that `mask`
  // has; `counts` says whether it names the counters.
  enum class Counts : bool { kNo, kYes };
  void AddFlow(ibv_qp* to, uint8_t octet, uint8_t mask,
               Counts counts = Counts::kNo);
  void ResizeCq();
  // Back and forth between halves of the memory and protection domains.
  void ReregisterMr();
  // To `qp`, with a buffer of `lkey`.
  int PostReceive(uint32_t lkey);

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_pd* other_pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_cq_ex* cq_ex = nullptr;
  ibv_qp* qp = nullptr;
  ibv_qp* wr_qp = nullptr;
  ibv_qp* rss_qp = nullptr;
  ibv_wq* wq = nullptr;
  ibv_rwq_ind_table* table = nullptr;
  ibv_counters* counters = nullptr;

 private:
  static constexpr size_t kHalf = 8192;

  void MakeCqs();
  void MakeQueuePairs();
  void MakeRss();
  void MakeCounters();

  std::vector<std::byte> memory_;
  std::vector<ibv_flow*> flows_;
};

// The device of `key`, added while memory runs out; null if there is none.
ibv_device* AddDevice(const std::string& key);

// Makes and destroys all that a device can have, and flows, while memory runs
// out; the test fails if any of it is left.
void ExpectNothingLeftBehind(const std::string& key);

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_MEMORY_EVERYTHING_H_
