// Soft devices in the device list, their life, and what is asked about them.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {
namespace {

// What weir_hca_add_device says about a key that it refuses.
std::string Refusal(const char* key) {
  char name[64] = "";
  char text[256] = "";
  EXPECT_EQ(weir_hca_add_device(key, name, text, sizeof(text)), EINVAL);
  return text;
}

ibv_device* AddAndFind(const char* key) {
  char name[64] = "";
  char text[256] = "";
  EXPECT_EQ(weir_hca_add_device(key, name, text, sizeof(text)), 0) << text;
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_device* found = nullptr;
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::string((*at)->name) == name) found = *at;
  }
  ibv_free_device_list(list);
  return found;
}

TEST(DeviceTest, IsListedOnceAddedWithANameAndGuidOfItsOwn) {
  AddAndFind("null:");
  AddAndFind("null:");
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_GE(count, 2);
  EXPECT_EQ(list[count], nullptr);
  std::set<std::string> names;
  std::set<uint64_t> guids;
  for (int i = 0; i < count; ++i) {
    names.insert(ibv_get_device_name(list[i]));
    guids.insert(ibv_get_device_guid(list[i]));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(count));
  EXPECT_EQ(guids.size(), static_cast<size_t>(count));
  EXPECT_EQ(guids.count(0), 0u);
  ibv_free_device_list(list);
}

TEST(DeviceTest, CanBeOpenedAfterTheListIsFreed) {
  ibv_device* device = AddAndFind("null:");
  ASSERT_NE(device, nullptr);
  ibv_context* context = ibv_open_device(device);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->device, device);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(DeviceTest, SaysWhatIsWrongWithAKey) {
  EXPECT_EQ(Refusal("nul:"),
            "nul:: unknown kind \"nul\"; known kinds are loopback, null, "
            "packet, pcap, tap, wire, xdp");
  EXPECT_EQ(
      Refusal("null:,sise=3"),
      "null:,sise=3: unknown key \"sise\"; null knows flows, mtu, size, "
      "fault, rss, rx_checksum, corrupt, delay, dup, impair, jitter, loss, "
      "rate, reorder, seed");
  EXPECT_NE(Refusal("null").find("kind:argument"), std::string::npos);
}

TEST(DeviceTest, SaysWhyItCannotBeOpened) {
  ibv_device* device = AddAndFind("null:,size=1");
  errno = 0;
  EXPECT_EQ(ibv_open_device(device), nullptr);
  EXPECT_EQ(errno, EINVAL);
  char text[256] = "";
  ASSERT_EQ(weir_hca_open_error(device, text, sizeof(text)), 0);
  EXPECT_NE(std::string(text).find("size=1"), std::string::npos);
}

TEST(DeviceTest, KeepsLeakedObjectsUsableAfterClose) {
  ibv_context* context = OpenSoftDevice("null:");
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  EXPECT_EQ(ibv_close_device(context), 0);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(DeviceTest, ReportsAnActiveEthernetPort) {
  VerbsRig rig({.key = "null:,mtu=9000"});
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(ibv_query_port(rig.context, 2, &port), EINVAL);
  weir_hca_info info{};
  ASSERT_EQ(weir_hca_query(rig.context, &info), 0);
  EXPECT_EQ(info.mtu_bytes, 9000u);
  EXPECT_EQ(info.finished, 0);
}

TEST(DeviceTest, FillsThePortStructOfOldCallersAndNoMore) {
  VerbsRig rig;
  struct {
    ibv_port_attr attr;
    std::array<uint8_t, 16> guard;
  } block{};
  block.attr.port_cap_flags2 = 0xabcd;
  ASSERT_EQ(
      (ibv_query_port)(rig.context, 1,
                       reinterpret_cast<_compat_ibv_port_attr*>(&block.attr)),
      0);
  EXPECT_EQ(block.attr.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(block.attr.port_cap_flags2, 0xabcd);
}

TEST(DeviceTest, HasALinkLocalGidFromItsMac) {
  VerbsRig rig;
  weir_hca_info info{};
  ASSERT_EQ(weir_hca_query(rig.context, &info), 0);
  EXPECT_EQ(info.mac[0] & 3, 2);
  union ibv_gid gid {};
  ASSERT_EQ(ibv_query_gid(rig.context, 1, 0, &gid), 0);
  EXPECT_EQ(gid.raw[0], 0xfe);
  EXPECT_EQ(gid.raw[1], 0x80);
  EXPECT_EQ(gid.raw[15], info.mac[5]);
  EXPECT_NE(ibv_query_gid(rig.context, 1, 1, &gid), 0);
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_table(rig.context, &entry, 1, 0), 1);
  EXPECT_EQ(entry.gid_type, static_cast<uint32_t>(IBV_GID_TYPE_ROCE_V2));
}

TEST(DeviceTest, AnswersWhatItDoesNotSupport) {
  VerbsRig rig;
  ibv_srq_init_attr srq{};
  EXPECT_EQ(ibv_create_srq(rig.pd, &srq), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_ah_attr ah{};
  errno = 0;
  EXPECT_EQ(ibv_create_ah(rig.pd, &ah), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_qp_to_qp_ex(rig.qp), nullptr);
  EXPECT_EQ(ibv_alloc_mw(rig.pd, IBV_MW_TYPE_1), nullptr);
  EXPECT_EQ(ibv_query_qp_data_in_order(rig.qp, IBV_WR_SEND, 0), 0);
  EXPECT_EQ(ibv_import_pd(rig.context, 0), nullptr);
}

TEST(DeviceTest, ChecksArgumentsOfCompletionQueues) {
  VerbsRig rig;
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(rig.context, &attr), 0);
  for (const auto& [entries, vector] :
       {std::pair(0, 0), std::pair(-1, 0), std::pair(attr.max_cqe + 1, 0),
        std::pair(1, rig.context->num_comp_vectors), std::pair(1, -1)}) {
    errno = 0;
    EXPECT_EQ(ibv_create_cq(rig.context, entries, nullptr, nullptr, vector),
              nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST(DeviceTest, ChecksArgumentsOfMemoryRegions) {
  VerbsRig rig;
  std::array<char, 64> memory;
  const auto refused = [&rig](void* address, size_t bytes, int access) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(rig.pd, address, bytes, access), nullptr);
    return errno;
  };
  EXPECT_EQ(refused(memory.data(), 0, 0), EINVAL);
  EXPECT_EQ(refused(memory.data(), SIZE_MAX, 0), EINVAL);
  EXPECT_EQ(refused(memory.data(), 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(refused(nullptr, 64, 0), EFAULT);
}

}  // namespace
}  // namespace weir::hca
