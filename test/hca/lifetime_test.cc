// The lives of objects as programs treat them: leaked, destroyed in odd orders
// and by many threads, left behind by fork, exec and exit.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr unsigned kPatienceSeconds = 30;

// Moves any queue pair; 0 or what went wrong.
int Move(ibv_qp* qp, std::initializer_list<ibv_qp_state> states) {
  for (const ibv_qp_state state : states) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = 1;
    const int port = state == IBV_QPS_INIT ? IBV_QP_PORT : 0;
    if (const int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE | port);
        error != 0) {
      return error;
    }
  }
  return 0;
}

ibv_flow* Sniff(ibv_qp* qp) {
  ibv_flow_attr attr{};
  attr.type = IBV_FLOW_ATTR_SNIFFER;
  attr.size = sizeof(attr);
  attr.port = 1;
  return ibv_create_flow(qp, &attr);
}

ibv_mr* Register(ibv_pd* pd, std::vector<std::byte>& memory) {
  // Not a constant: the macro would compare enums of different types.
  int access = IBV_ACCESS_LOCAL_WRITE;
  return ibv_reg_mr(pd, memory.data(), memory.size(), access);
}

int Post(ibv_qp* qp, const ibv_mr* mr) {
  ibv_sge sge = {.addr = reinterpret_cast<uint64_t>(mr->addr),
                 .length = 2048,
                 .lkey = mr->lkey};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

ibv_qp* MakeReceiver(ibv_pd* pd, ibv_cq* cq) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap.max_recv_wr = 64;
  init.cap.max_recv_sge = 1;
  init.qp_type = IBV_QPT_RAW_PACKET;
  return ibv_create_qp(pd, &init);
}

// What libpcap's rdmasniff does, in its order: it arms the completion queue
// before there is a queue pair, has no send queue, waits in select, and takes
// the memory away first.
TEST(LifetimeTest, ServesAPacketSniffer) {
  ibv_context* const context = OpenSoftDevice("null:");
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  ibv_cq* const cq = ibv_create_cq(context, 64, nullptr, channel, 0);
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  ibv_qp* const qp = MakeReceiver(pd, cq);
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(Move(qp, {IBV_QPS_INIT, IBV_QPS_RTR}), 0);
  ibv_flow* const flow = Sniff(qp);
  ASSERT_NE(flow, nullptr);
  std::vector<std::byte> memory(4096);
  ibv_mr* const mr = Register(pd, memory);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(Post(qp, mr), 0);

  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(channel->fd, &readable);
  timeval patience = {.tv_sec = kPatienceSeconds, .tv_usec = 0};
  ASSERT_EQ(select(channel->fd + 1, &readable, nullptr, nullptr, &patience), 1);
  ibv_cq* of = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &of, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  ibv_wc wc{};
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, 64u);

  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_GE(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(LifetimeTest, LetsObjectsOutliveTheirContext) {
  ibv_context* const context = OpenSoftDevice("loopback:");
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  ibv_cq* const cq = ibv_create_cq(context, 64, nullptr, channel, 0);
  ibv_qp* const qp = MakeReceiver(pd, cq);
  ASSERT_EQ(Move(qp, {IBV_QPS_INIT, IBV_QPS_RTR}), 0);
  ibv_flow* const flow = Sniff(qp);
  std::vector<std::byte> memory(4096);
  ibv_mr* const mr = Register(pd, memory);
  EXPECT_EQ(Post(qp, mr), 0);
  EXPECT_EQ(ibv_close_device(context), 0);

  EXPECT_EQ(Post(qp, mr), 0);
  std::array<ibv_wc, 3> wcs;
  ASSERT_EQ(ibv_poll_cq(cq, 3, wcs.data()), 2);
  EXPECT_EQ(wcs[0].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(wcs[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(LifetimeTest, MakesNothingInAContextThatIsClosed) {
  ibv_context* const context = OpenSoftDevice("loopback:");
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
  ibv_qp* const qp = MakeReceiver(pd, cq);
  EXPECT_EQ(ibv_close_device(context), 0);

  std::vector<std::byte> memory(4096);
  errno = 0;
  EXPECT_EQ(MakeReceiver(pd, cq), nullptr);
  EXPECT_EQ(errno, EIO);
  errno = 0;
  EXPECT_EQ(Register(pd, memory), nullptr);
  EXPECT_EQ(errno, EIO);
  errno = 0;
  EXPECT_EQ(Sniff(qp), nullptr);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(Move(qp, {IBV_QPS_INIT}), EIO);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

// All objects of a program, made, used and destroyed; 0 or where it failed.
int UseEverything(ibv_context* context) {
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  ibv_cq* const cq = ibv_create_cq(context, 64, nullptr, channel, 0);
  ibv_qp* const qp = MakeReceiver(pd, cq);
  std::vector<std::byte> memory(4096);
  ibv_mr* const mr = Register(pd, memory);
  if (qp == nullptr || mr == nullptr) return 1;
  if (Move(qp, {IBV_QPS_INIT, IBV_QPS_RTR}) != 0) return 2;
  ibv_flow* const flow = Sniff(qp);
  if (flow == nullptr || Post(qp, mr) != 0) return 3;
  ibv_req_notify_cq(cq, 0);
  std::array<ibv_wc, 8> some;
  for (int i = 0; i < 10; ++i) {
    if (ibv_poll_cq(cq, 8, some.data()) < 0) return 4;
  }
  if (ibv_destroy_flow(flow) != 0 || ibv_destroy_qp(qp) != 0) return 5;
  if (ibv_destroy_cq(cq) != 0 || ibv_dereg_mr(mr) != 0) return 6;
  return ibv_destroy_comp_channel(channel) + ibv_dealloc_pd(pd);
}

TEST(LifetimeTest, LetsManyThreadsMakeUseAndDestroy) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ibv_device* const device = rig.context->device;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&rig, device] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(UseEverything(rig.context), 0);
        ibv_context* const own = ibv_open_device(device);
        ASSERT_NE(own, nullptr);
        EXPECT_EQ(UseEverything(own), 0);
        EXPECT_EQ(ibv_close_device(own), 0);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    rig.PostReceive(static_cast<size_t>(i) % VerbsRig::kBuffers);
    rig.Poll(1);
  }
}

// Polls, posts and arms until the end.
class Poller {
 public:
  explicit Poller(VerbsRig& rig)
      : thread_([this, &rig] {
          while (!stop_) {
            rig.PostReceive(0);
            ibv_wc wc;
            if (ibv_poll_cq(rig.cq, 1, &wc) == 1) ++polled_;
          }
        }) {
    while (polled_ == 0) std::this_thread::yield();
  }
  ~Poller() { stop_ = true; }
  size_t polled() const { return polled_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> polled_ = 0;
  std::jthread thread_;
};

void ExitWhileAThreadPolls() {
  // Alive, and therefore not what a leak checker looks for.
  static auto* const rig = new VerbsRig({.with_channel = true});
  rig->MoveTo(IBV_QPS_RTS);
  rig->TakeEverything();
  static auto* const poller = new Poller(*rig);
  static_cast<void>(poller);
  std::exit(0);
}

TEST(LifetimeDeathTest, ExitsWithAllAliveAndAThreadThatPolls) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(ExitWhileAThreadPolls(), testing::ExitedWithCode(0), "");
  }
}

// Forks and returns how the child ended: its exit code, or -1 if it was killed,
// as it is when it hangs.
int InChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatienceSeconds);
    _exit(work());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, IsNothingToPrepareFor) {
  EXPECT_EQ(ibv_fork_init(), 0);
  VerbsRig rig;
  EXPECT_EQ(InChild([] { return 0; }), 0);
}

// Whatever lock the thread has when the child comes to be.
TEST(ForkTest, LeavesAChildThatDestroysAndMakesAnew) {
  VerbsRig rig({.with_channel = true});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  const Poller poller(rig);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(InChild([&rig] {
                ibv_device* const device = rig.context->device;
                if (ibv_destroy_qp(rig.qp) != 0) return 101;
                if (ibv_destroy_cq(rig.cq) != 0) return 102;
                if (ibv_destroy_comp_channel(rig.channel) != 0) return 103;
                if (ibv_dereg_mr(rig.mr) != 0) return 104;
                if (ibv_close_device(rig.context) != 0) return 105;
                ibv_context* const own = ibv_open_device(device);
                if (own == nullptr) return 106;
                const int used = UseEverything(own);
                return used != 0 ? used : ibv_close_device(own);
              }),
              0);
  }
  const size_t before = poller.polled();
  while (poller.polled() < before + 10) std::this_thread::yield();
}

// Opens and closes a device, and registers and deregisters memory, until the
// end: whatever lock of the process there is, some thread has it now and then.
class Churner {
 public:
  explicit Churner(VerbsRig& rig)
      : opener_([this, &rig] {
          while (!stop_) {
            ibv_context* const own = ibv_open_device(rig.context->device);
            EXPECT_NE(own, nullptr);
            EXPECT_EQ(ibv_close_device(own), 0);
            ++rounds_;
          }
        }),
        registrar_([this, &rig] {
          std::vector<std::byte> memory(64);
          while (!stop_) EXPECT_EQ(ibv_dereg_mr(Register(rig.pd, memory)), 0);
        }) {
    while (rounds_ == 0) std::this_thread::yield();
  }
  ~Churner() { stop_ = true; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> rounds_ = 0;
  std::jthread opener_;
  std::jthread registrar_;
};

TEST(ForkTest, LeavesAChildNoLockOfOtherThreads) {
  VerbsRig rig;
  const Churner churner(rig);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(InChild([&rig] {
                ibv_context* const own = ibv_open_device(rig.context->device);
                return own == nullptr ? 1 : UseEverything(own);
              }),
              0);
  }
}

TEST(ForkTest, LetsAChildOpenWhatItsParentHasOpen) {
  VerbsRig rig({.key = "loopback:"});
  rig.MoveTo(IBV_QPS_RTS);
  rig.TakeEverything();
  ASSERT_EQ(rig.PostReceive(1), 0);
  ASSERT_EQ(InChild([&rig] {
              ibv_context* const own = ibv_open_device(rig.context->device);
              return own == nullptr ? 1 : UseEverything(own);
            }),
            0);
  // The child had a plug of its own.
  ASSERT_EQ(rig.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig.Poll(2).size(), 2u);
}

// Else what the program prints would get into them.
TEST(LifetimeTest, LeavesClosedStandardStreamsClosed) {
  EXPECT_EQ(InChild([] {
              for (const int fd : {0, 1, 2}) close(fd);
              const VerbsRig rig(
                  {.key = OwnWire("closed_streams"), .with_channel = true});
              int closed = 0;
              for (const int fd : {0, 1, 2}) {
                closed += fcntl(fd, F_GETFD) == -1 ? 1 : 0;
              }
              return closed;
            }),
            3);
}

TEST(ForkTest, LeavesNoDescriptorToAnotherProgram) {
  VerbsRig rig({.key = "loopback:", .with_channel = true});
  const auto highest = [] {
    return InChild([] {
      execl("/bin/sh", "sh", "-c",
            "n=0; for f in /proc/self/fd/*; do n=$((n+1)); done; exit $n",
            nullptr);
      return 255;
    });
  };
  const int with_device = highest();
  const auto open =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                    std::filesystem::directory_iterator{});
  EXPECT_LT(with_device, open);
  VerbsRig second({.key = "loopback:", .with_channel = true});
  EXPECT_EQ(highest(), with_device);
}

}  // namespace
}  // namespace weir::hca
