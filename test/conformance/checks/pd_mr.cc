// Protection domains and memory regions.

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// Pages of the process with this protection; unmapped at the end.
class Pages {
 public:
  explicit Pages(int protection, size_t count = 1)
      : bytes_(count * static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        address_(mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0)) {
    EXPECT_NE(address_, MAP_FAILED);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(address_, bytes_); }

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* address_;
};

// errno of a registration that is refused, 0 (and gone) if it is not.
int TryRegister(ibv_pd* pd, void* address, size_t bytes, int access) {
  errno = 0;
  ibv_mr* const mr = ibv_reg_mr(pd, address, bytes, access);
  if (mr == nullptr) return errno;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

void PdIsOfItsContext(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(rig.pd->context, rig.context);
}

void PdWithARegionIsBusy(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(ibv_dealloc_pd(rig.pd), EBUSY);
}

void PdWithAQpIsBusy(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  EXPECT_EQ(ibv_dereg_mr(rig.mr), 0);
  rig.mr = nullptr;
  EXPECT_EQ(ibv_dealloc_pd(rig.pd), EBUSY);
}

void RegionTellsWhatItIs(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  std::array<std::byte, 100> memory;
  ibv_mr* const mr =
      ibv_reg_mr(rig.pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, memory.data());
  EXPECT_EQ(mr->length, memory.size());
  EXPECT_EQ(mr->pd, rig.pd);
  EXPECT_EQ(mr->context, rig.context);
  EXPECT_NE(mr->lkey, rig.mr->lkey);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

void SameMemoryRegistersTwice(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_mr* const again = ibv_reg_mr(rig.pd, rig.mr->addr, rig.mr->length, 0);
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->lkey, rig.mr->lkey);
  EXPECT_EQ(ibv_dereg_mr(again), 0);
}

void RefusesAnEmptyRegion(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  std::array<std::byte, 8> memory;
  EXPECT_EQ(TryRegister(rig.pd, memory.data(), 0, 0), EINVAL);
}

void RefusesARangeThatWrapsAround(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_NE(TryRegister(rig.pd, rig.mr->addr, SIZE_MAX, 0), 0);
}

void RefusesMemoryThatIsNotMapped(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const Pages pages(PROT_READ | PROT_WRITE, 3);
  auto* const hole =
      static_cast<std::byte*>(pages.address()) + pages.bytes() / 3;
  ASSERT_EQ(munmap(hole, pages.bytes() / 3), 0);
  EXPECT_EQ(TryRegister(rig.pd, pages.address(), pages.bytes(),
                        IBV_ACCESS_LOCAL_WRITE),
            EFAULT);
}

void RefusesToWriteReadOnlyMemory(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const Pages pages(PROT_READ);
  EXPECT_EQ(TryRegister(rig.pd, pages.address(), pages.bytes(),
                        IBV_ACCESS_LOCAL_WRITE),
            EFAULT);
}

void RegistersReadOnlyMemoryToRead(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const Pages pages(PROT_READ);
  EXPECT_EQ(TryRegister(rig.pd, pages.address(), pages.bytes(), 0), 0);
}

void RemoteWriteWantsLocalWrite(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryRegister(rig.pd, rig.mr->addr, 64, IBV_ACCESS_REMOTE_WRITE),
            EINVAL);
  EXPECT_EQ(TryRegister(rig.pd, rig.mr->addr, 64, IBV_ACCESS_REMOTE_ATOMIC),
            EINVAL);
}

void RefusesUnknownAccess(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryRegister(rig.pd, rig.mr->addr, 64, 1 << 15), EINVAL);
}

void IgnoresOptionalAccess(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryRegister(rig.pd, rig.mr->addr, 64,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING),
            0);
}

void RegistersOneByteAnywhere(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(TryRegister(rig.pd, rig.Buffer(3).data() + 17, 1, 0), 0);
}

// A region with an address of its own: SGEs speak of that one.
void IovaIsTheAddressOfSges(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  constexpr uint64_t kIova = 0x1000000;
  const Bytes frame = PlainFrame(80);
  rig.Put(1, frame);
  ibv_mr* const mr = ibv_reg_mr_iova(rig.pd, rig.Buffer(1).data(),
                                     Rig::kBufferBytes, kIova, 0);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  std::array<ibv_sge, 1> sge = {
      ibv_sge{.addr = kIova, .length = 80, .lkey = mr->lkey}};
  EXPECT_EQ(qp.PostSend(1, sge), 0);
  const auto done = qp.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

void ChangedTranslationIsUsed(Lab& lab) {
  Rig rig(lab);
  TestQp qp(rig);
  ASSERT_TRUE(qp.ok());
  const Bytes frame = PlainFrame(80);
  rig.Put(1, frame);
  ibv_mr* const mr = ibv_reg_mr(rig.pd, rig.Buffer(0).data(), 80, 0);
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                         rig.Buffer(1).data(), 80, 0),
            0);
  EXPECT_EQ(mr->addr, rig.Buffer(1).data());
  ibv_sge sge = rig.Sge(1, 80);
  sge.lkey = mr->lkey;
  EXPECT_EQ(qp.PostSend(1, std::span(&sge, 1)), 0);
  EXPECT_EQ(lab.Observe(1), std::vector<Bytes>{frame});
  // What it was of before is out of its bounds now.
  sge = rig.Sge(0, 80);
  sge.lkey = mr->lkey;
  EXPECT_EQ(qp.PostSend(0, std::span(&sge, 1)), 0);
  const auto done = qp.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

void ChangeRefusesUnknownFlags(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_NE(ibv_rereg_mr(rig.mr, 0, nullptr, nullptr, 0, 0), 0);
  EXPECT_NE(ibv_rereg_mr(rig.mr, 1 << 10, nullptr, nullptr, 0, 0), 0);
  EXPECT_NE(
      ibv_rereg_mr(rig.mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), 0);
}

}  // namespace

CheckList PdMrChecks() {
  static constexpr Check kChecks[] = {
      {"pd_mr.pd_is_of_its_context", kNothing, PdIsOfItsContext},
      {"pd_mr.pd_with_a_region_is_busy", kNothing, PdWithARegionIsBusy},
      {"pd_mr.pd_with_a_qp_is_busy", kNothing, PdWithAQpIsBusy},
      {"pd_mr.region_tells_what_it_is", kNothing, RegionTellsWhatItIs},
      {"pd_mr.same_memory_registers_twice", kNothing, SameMemoryRegistersTwice},
      {"pd_mr.refuses_an_empty_region", kStrict, RefusesAnEmptyRegion},
      {"pd_mr.refuses_a_range_that_wraps_around", kNothing,
       RefusesARangeThatWrapsAround},
      {"pd_mr.refuses_memory_that_is_not_mapped", kNothing,
       RefusesMemoryThatIsNotMapped},
      {"pd_mr.refuses_to_write_read_only_memory", kNothing,
       RefusesToWriteReadOnlyMemory},
      {"pd_mr.registers_read_only_memory_to_read", kNothing,
       RegistersReadOnlyMemoryToRead},
      {"pd_mr.remote_write_wants_local_write", kNothing,
       RemoteWriteWantsLocalWrite},
      {"pd_mr.refuses_unknown_access", kNothing, RefusesUnknownAccess},
      {"pd_mr.ignores_optional_access", kNothing, IgnoresOptionalAccess},
      {"pd_mr.registers_one_byte_anywhere", kNothing, RegistersOneByteAnywhere},
      {"pd_mr.changed_translation_is_used", kObserve, ChangedTranslationIsUsed},
      {"pd_mr.change_refuses_unknown_flags", kNothing,
       ChangeRefusesUnknownFlags},
      {"pd_mr.iova_is_the_address_of_sges", kObserve, IovaIsTheAddressOfSges},
  };
  return kChecks;
}

}  // namespace weir::conformance
