// Verbs objects of one soft device for tests of the software HCA, through the
// public API only, as a program would make them.

#ifndef WEIR_TEST_HCA_VERBS_RIG_H_
#define WEIR_TEST_HCA_VERBS_RIG_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::hca {

// The open device of `key`, null if it cannot be opened. The test fails if the
// key is refused. Every call adds a device.
ibv_context* OpenSoftDevice(const std::string& key);

// A context with a PD, a CQ, a QP and registered memory.
class VerbsRig {
 public:
  struct Options {
    std::string key = "null:";
    uint32_t send_wr = 64;
    uint32_t recv_wr = 64;
    uint32_t sge = 4;
    uint32_t inline_bytes = 64;
    int cqe = 1024;
    bool signal_all = false;
    int access = IBV_ACCESS_LOCAL_WRITE;
    bool with_channel = false;
    // A completion queue of ibv_create_cq_ex with these, also in cq_ex.
    std::optional<uint64_t> wc_flags = {};
    // For ibv_create_qp_ex.
    uint32_t create_flags = 0;
    uint16_t max_tso_header_bytes = 0;
  };
  static constexpr size_t kBufferBytes = 2048;
  static constexpr size_t kBuffers = 64;

  VerbsRig() : VerbsRig(Options{}) {}
  explicit VerbsRig(const Options& options);
  VerbsRig(const VerbsRig&) = delete;
  VerbsRig& operator=(const VerbsRig&) = delete;
  ~VerbsRig();

  // Through the states up to `state`; fails the test if one is refused.
  void MoveTo(ibv_qp_state state);
  int Modify(ibv_qp_state state);
  ibv_qp_state state();

  // A NORMAL rule without conditions, owned by the rig.
  void TakeEverything();

  // One SGE of `bytes` at buffer `index`. The wr_id of a post is `index`.
  ibv_sge Sge(size_t index, uint32_t bytes = kBufferBytes) const;
  int PostReceive(size_t index, uint32_t bytes = kBufferBytes);
  int PostSend(size_t index, uint32_t bytes, unsigned flags);
  std::span<std::byte> Buffer(size_t index);

  // All completions of polls until `count` have come or 1,000 polls are done.
  std::vector<ibv_wc> Poll(size_t count);

  // The device counter of that name; fails the test if there is none.
  uint64_t Counter(const std::string& name);

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_cq_ex* cq_ex = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp_cap cap{};

 private:
  std::vector<std::byte> memory_;
  std::vector<ibv_flow*> flows_;
};

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_VERBS_RIG_H_
