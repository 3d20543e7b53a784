// What may be registered: memory that the process can use itself, and no more
// of it than the limit on locked memory.

#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/capability.h"

namespace weir::hca {
namespace {

// The status of a send of 64 bytes at `address` under the key of the rig's
// region.
ibv_wc_status StatusOfSend(VerbsRig& rig, const std::byte* address) {
  ibv_sge sge = {.addr = std::bit_cast<uint64_t>(address),
                 .length = 64,
                 .lkey = rig.mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(rig.qp, &wr, &bad), 0);
  const std::vector<ibv_wc> done = rig.Poll(1);
  return done.size() == 1 ? done[0].status : IBV_WC_FATAL_ERR;
}

// Two pages, of which the second may be used as `protection` says.
class TwoPages {
 public:
  explicit TwoPages(int protection)
      : base_(mmap(nullptr, 2 * bytes(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(second(), bytes(), protection), 0);
  }
  TwoPages(const TwoPages&) = delete;
  TwoPages& operator=(const TwoPages&) = delete;
  ~TwoPages() { munmap(base_, 2 * bytes()); }

  static size_t bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  std::byte* first() { return static_cast<std::byte*>(base_); }
  std::byte* second() { return first() + bytes(); }

 private:
  void* base_;
};

// 0, or why `bytes` at `address` cannot be registered.
int ErrorOf(const VerbsRig& rig, void* address, size_t bytes, int access) {
  errno = 0;
  ibv_mr* mr = ibv_reg_mr(rig.pd, address, bytes, access);
  if (mr == nullptr) return errno;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

TEST(MemoryRegionTest, DoesNotLetTheDeviceWriteWhereTheProcessMayNot) {
  VerbsRig rig;
  TwoPages pages(PROT_READ);
  const size_t page = TwoPages::bytes();
  EXPECT_EQ(ErrorOf(rig, pages.second(), 1, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  EXPECT_EQ(ErrorOf(rig, pages.first(), 2 * page, IBV_ACCESS_LOCAL_WRITE),
            EFAULT);
  EXPECT_EQ(ErrorOf(rig, pages.first(), page, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(ErrorOf(rig, pages.first(), 2 * page, 0), 0);
}

TEST(MemoryRegionTest, DoesNotLetTheDeviceReadWhereTheProcessMayNot) {
  VerbsRig rig;
  TwoPages pages(PROT_NONE);
  const size_t page = TwoPages::bytes();
  EXPECT_EQ(ErrorOf(rig, pages.first(), page + 1, 0), EFAULT);
  EXPECT_EQ(ErrorOf(rig, pages.first(), page, 0), 0);
}

// Exits with 0 if exactly four pages may be registered.
[[noreturn]] void RegisterUpToTheLimit() {
  const size_t page = TwoPages::bytes();
  const rlimit limit{4 * page, 4 * page};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::cerr << "cannot give up rights\n";
    std::exit(2);
  }
  ibv_pd* pd = ibv_alloc_pd(OpenSoftDevice("null:"));
  void* memory = mmap(nullptr, 5 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* first = static_cast<std::byte*>(memory);
  errno = 0;
  bool good = ibv_reg_mr(pd, first, 4 * page + 1, 0) == nullptr;
  good = good && errno == ENOMEM;
  ibv_mr* all = ibv_reg_mr(pd, first, 4 * page, 0);
  // The pages of a range count once.
  good = good && all != nullptr && ibv_reg_mr(pd, first, 4 * page, 0);
  good = good && ibv_reg_mr(pd, first + 4 * page, 1, 0) == nullptr;
  good = good && errno == ENOMEM;
  std::exit(good ? 0 : 1);
}

// Exits with 0 if what was registered may be registered again elsewhere.
[[noreturn]] void RegisterAfterDeregistering() {
  const size_t page = TwoPages::bytes();
  const rlimit limit{page, page};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      !testing::DropCapability(CAP_IPC_LOCK)) {
    std::cerr << "cannot give up rights\n";
    std::exit(2);
  }
  ibv_pd* pd = ibv_alloc_pd(OpenSoftDevice("null:"));
  TwoPages pages(PROT_READ | PROT_WRITE);
  ibv_mr* first = ibv_reg_mr(pd, pages.first(), page, 0);
  bool good = first != nullptr;
  good = good && ibv_reg_mr(pd, pages.second(), page, 0) == nullptr;
  good = good && ibv_dereg_mr(first) == 0;
  good = good && ibv_reg_mr(pd, pages.second(), page, 0) != nullptr;
  std::exit(good ? 0 : 1);
}

TEST(MemoryRegionDeathTest, KeepsToTheLimitOnLockedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RegisterUpToTheLimit(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(RegisterAfterDeregistering(), ::testing::ExitedWithCode(0), "");
}

TEST(MemoryRegionTest, MovesToOtherMemoryUnderItsKey) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  std::vector<std::byte> other(4096);
  const uint32_t lkey = rig.mr->lkey;
  EXPECT_EQ(StatusOfSend(rig, rig.Buffer(0).data()), IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                         other.data(), other.size(), 0),
            0);
  EXPECT_EQ(rig.mr->lkey, lkey);
  EXPECT_EQ(rig.mr->addr, other.data());
  EXPECT_EQ(rig.mr->length, other.size());
  EXPECT_EQ(StatusOfSend(rig, other.data()), IBV_WC_SUCCESS);
  EXPECT_EQ(StatusOfSend(rig, rig.Buffer(0).data()), IBV_WC_LOC_PROT_ERR);
}

TEST(MemoryRegionTest, MovesToAnotherPd) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  ibv_pd* other = ibv_alloc_pd(rig.context);
  ASSERT_EQ(ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0),
            0);
  EXPECT_EQ(rig.mr->pd, other);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  EXPECT_EQ(StatusOfSend(rig, rig.Buffer(0).data()), IBV_WC_LOC_PROT_ERR);
  ASSERT_EQ(ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_PD, rig.pd, nullptr, 0, 0),
            0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST(MemoryRegionTest, LosesTheRightToBeWritten) {
  VerbsRig rig;
  rig.TakeEverything();
  rig.MoveTo(IBV_QPS_RTS);
  ASSERT_EQ(
      ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
      0);
  ASSERT_EQ(rig.PostReceive(0), 0);
  const std::vector<ibv_wc> done = rig.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST(MemoryRegionTest, StaysAsItIsWhenAChangeIsRefused) {
  VerbsRig rig;
  rig.MoveTo(IBV_QPS_RTS);
  TwoPages pages(PROT_NONE);
  const size_t page = TwoPages::bytes();
  const auto refused = [&rig](int flags, ibv_pd* pd, void* address,
                              size_t bytes, int access) {
    errno = 0;
    return ibv_rereg_mr(rig.mr, flags, pd, address, bytes, access);
  };
  EXPECT_EQ(refused(8, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(refused(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(refused(0, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(refused(0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(refused(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, pages.second(),
                    page, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(
      refused(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, pages.first(), 0, 0),
      IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(StatusOfSend(rig, rig.Buffer(0).data()), IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace weir::hca
