// The verbs objects that checks work with, made and destroyed as a program
// would. Everything that has to work is expected to.

#ifndef WEIR_TEST_CONFORMANCE_RIG_H_
#define WEIR_TEST_CONFORMANCE_RIG_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "test/conformance/flow_request.h"
#include "test/conformance/lab.h"

namespace weir::conformance {

// An open device with a PD and registered buffers.
class Rig {
 public:
  static constexpr size_t kBufferBytes = 2048;
  static constexpr size_t kBuffers = 128;

  explicit Rig(Lab& lab, int access = IBV_ACCESS_LOCAL_WRITE)
      : Rig(lab, {}, access) {}
  // With `frames` on their way: they arrive at Deliver.
  Rig(Lab& lab, const std::vector<Bytes>& frames,
      int access = IBV_ACCESS_LOCAL_WRITE);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig();

  bool ok() const { return mr != nullptr; }
  Lab& lab() const { return lab_; }
  void Deliver() { lab_.Deliver(); }

  // One SGE of `bytes` at buffer `index`.
  ibv_sge Sge(size_t index, uint32_t bytes = kBufferBytes) const;
  std::span<std::byte> Buffer(size_t index);
  // Puts `bytes` at the start of a buffer and returns their SGE.
  ibv_sge Put(size_t index, const Bytes& bytes);

  ibv_device_attr Attributes() const;
  // What the device knows by then, without its own types: zeroed before.
  ibv_device_attr_ex ExtendedAttributes() const;

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;

 private:
  Lab& lab_;
  std::vector<std::byte> memory_;
};

// A CQ of that many entries, destroyed at the end.
class TestCq {
 public:
  explicit TestCq(Rig& rig, int entries = 256,
                  ibv_comp_channel* channel = nullptr);
  // Of a CQ that somebody made otherwise.
  TestCq(Rig& rig, ibv_cq* cq) : cq(cq), rig_(&rig) {}
  TestCq(const TestCq&) = delete;
  TestCq& operator=(const TestCq&) = delete;
  ~TestCq();

  // Polls until `count` completions have come or kPatience is over.
  std::vector<ibv_wc> Poll(size_t count);
  // Polls `times` times, for what must not come.
  std::vector<ibv_wc> PollTimes(int times);

  ibv_cq* cq = nullptr;

 private:
  void PollOnce(std::vector<ibv_wc>& all, size_t max);

  Rig* rig_;
};

struct QpOptions {
  uint32_t send_wr = 64;
  uint32_t recv_wr = 64;
  uint32_t send_sge = 1;
  uint32_t recv_sge = 1;
  uint32_t inline_bytes = 0;
  bool signal_all = false;
  ibv_qp_state state = IBV_QPS_RTS;
};

// What ibv_create_qp is asked for.
ibv_qp_init_attr InitAttributes(ibv_cq* send_cq, ibv_cq* recv_cq,
                                const QpOptions& options = {});

// A raw packet QP with a CQ of its own, or one that is shared.
class TestQp {
 public:
  explicit TestQp(Rig& rig, const QpOptions& options = {});
  TestQp(Rig& rig, TestCq& send_cq, TestCq& recv_cq,
         const QpOptions& options = {});
  TestQp(const TestQp&) = delete;
  TestQp& operator=(const TestQp&) = delete;
  ~TestQp();

  bool ok() const { return qp != nullptr; }

  // Through the states up to `state`; a failure if one is refused.
  void MoveTo(ibv_qp_state state);
  // One step, with the mask that it wants. 0 or an errno value.
  int Modify(ibv_qp_state state);
  ibv_qp_state state() const;

  // A rule for the frames that arrive, destroyed with the QP or before.
  ibv_flow* Take();
  ibv_flow* Take(const FlowRequest& request);
  // errno after a request that is refused, 0 (and gone again) if it is not.
  int TryFlow(const FlowRequest& request);
  void DropFlows();

  // The wr_id of a post is the index of its buffer. 0 or an errno value.
  int PostRecv(size_t index, uint32_t bytes = Rig::kBufferBytes);
  int PostRecv(size_t index, std::span<ibv_sge> sges);
  // Receives in buffers first to first + count - 1.
  void PostRecvs(size_t first, size_t count);
  int PostSend(size_t index, const Bytes& frame,
               unsigned flags = IBV_SEND_SIGNALED);
  int PostSend(size_t index, std::span<ibv_sge> sges,
               unsigned flags = IBV_SEND_SIGNALED);

  std::vector<ibv_wc> Poll(size_t count) { return send_cq().Poll(count); }
  // The frames of the next `count` receives, which must be successful.
  std::vector<Bytes> Receive(size_t count);
  Bytes Frame(const ibv_wc& wc);

  TestCq& send_cq() { return *send_cq_; }
  TestCq& recv_cq() { return *recv_cq_; }

  ibv_qp* qp = nullptr;
  ibv_qp_cap cap{};

 private:
  TestQp(Rig& rig, TestCq* own, TestCq* send_cq, TestCq* recv_cq,
         const QpOptions& options);

  Rig& rig_;
  std::unique_ptr<TestCq> own_cq_;
  TestCq* send_cq_;
  TestCq* recv_cq_;
  std::vector<ibv_flow*> flows_;
};

// A send request of `sges`.
ibv_send_wr SendRequest(uint64_t wr_id, std::span<ibv_sge> sges,
                        unsigned flags = IBV_SEND_SIGNALED);
ibv_recv_wr RecvRequest(uint64_t wr_id, std::span<ibv_sge> sges);

// Moves `qp` one step; 0 or an errno value.
int ModifyQp(ibv_qp* qp, ibv_qp_state state);

// The gid by which ibv_attach_mcast names a MAC: zeros and the MAC last.
union ibv_gid GroupGid(const net::MacAddress& mac);

// A frame of `bytes` from kTestMacA to kTestMacB with an EtherType for
// experiments (IEEE 802-2014 §9.2.4); others by `number` differ everywhere.
Bytes PlainFrame(size_t bytes, int number = 0);
// `count` of them.
std::vector<Bytes> PlainFrames(size_t count, size_t bytes = 60);
// The same for labs that send what a check chooses, none for those whose frames
// come anyway.
std::vector<Bytes> AnyFrames(const Lab& lab, size_t count);
// IPv4 and UDP from kTestMacA to kTestMacB, 10.0.0.1 to 10.0.0.2.
Bytes UdpFrame(uint16_t source_port, uint16_t destination_port,
               size_t payload_bytes = 32);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_RIG_H_
