// What devices, ports and contexts say of themselves.

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

void ListIsCountedAndTerminated(Lab&) {
  int count = -1;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  int found = 0;
  while (list[found] != nullptr) ++found;
  EXPECT_EQ(found, count);
  EXPECT_GE(count, 1);
  ibv_free_device_list(list);
}

void ListNeedsNoCount(Lab&) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  ibv_free_device_list(list);
}

void NamesDiffer(Lab&) {
  const DeviceList list;
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_TRUE(names.insert(ibv_get_device_name(list.at(i))).second);
  }
}

void GuidsDiffer(Lab&) {
  const DeviceList list;
  std::set<uint64_t> guids;
  for (size_t i = 0; i < list.size(); ++i) {
    const uint64_t guid = ibv_get_device_guid(list.at(i));
    EXPECT_NE(guid, 0u);
    EXPECT_TRUE(guids.insert(guid).second) << list.at(i)->name;
  }
}

void GuidIsTheNodeGuid(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_EQ(rig.Attributes().node_guid, ibv_get_device_guid(lab.device()));
}

void OpensTwice(Lab& lab) {
  Rig first(lab);
  Rig second(lab);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first.context, second.context);
  EXPECT_EQ(first.context->device, second.context->device);
}

void OpensAgainAfterClose(Lab& lab) {
  for (int i = 0; i < 3; ++i) {
    Rig rig(lab);
    TestQp qp(rig);
    EXPECT_TRUE(qp.ok());
  }
}

void ContextHasVectorsAndAsyncFd(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_GE(rig.context->num_comp_vectors, 1);
  EXPECT_GE(fcntl(rig.context->async_fd, F_GETFD), 0);
  EXPECT_EQ(rig.context->device, lab.device());
}

void ReportsWhatItCanHold(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const ibv_device_attr attr = rig.Attributes();
  EXPECT_GT(attr.max_qp, 0);
  EXPECT_GT(attr.max_qp_wr, 0);
  EXPECT_GT(attr.max_sge, 0);
  EXPECT_GT(attr.max_cq, 0);
  EXPECT_GT(attr.max_cqe, 0);
  EXPECT_GT(attr.max_mr, 0);
  EXPECT_GT(attr.max_pd, 0);
  EXPECT_GT(attr.max_mr_size, 0u);
  EXPECT_GE(attr.phys_port_cnt, 1);
}

void ReportsRawPacketQps(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  EXPECT_GT(rig.Attributes().max_raw_ethy_qp, 0);
}

void TellsItsFirmwareVersion(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const ibv_device_attr attr = rig.Attributes();
  const size_t length = strnlen(attr.fw_ver, sizeof(attr.fw_ver));
  EXPECT_GT(length, 0u);
  EXPECT_LT(length, sizeof(attr.fw_ver));
}

void ExtendedQueryAgrees(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const ibv_device_attr plain = rig.Attributes();
  const ibv_device_attr more = rig.ExtendedAttributes().orig_attr;
  EXPECT_EQ(plain.max_qp_wr, more.max_qp_wr);
  EXPECT_EQ(plain.max_cqe, more.max_cqe);
  EXPECT_EQ(plain.node_guid, more.node_guid);
  EXPECT_EQ(plain.phys_port_cnt, more.phys_port_cnt);
  EXPECT_STREQ(plain.fw_ver, more.fw_ver);
}

void ExtendedQueryRefusesUnknownInput(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_query_device_ex_input input{};
  input.comp_mask = 1u << 31;
  ibv_device_attr_ex attr{};
  EXPECT_EQ(ibv_query_device_ex(rig.context, &input, &attr), EINVAL);
}

void PortIsEthernetAndActive(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  // 5 is LinkUp (InfiniBand Architecture Specification 1.4, PortInfo).
  EXPECT_EQ(port.phys_state, 5);
}

void PortMtuIsInRange(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  EXPECT_GE(port.active_mtu, IBV_MTU_256);
  EXPECT_LE(port.active_mtu, port.max_mtu);
  EXPECT_LE(port.max_mtu, IBV_MTU_4096);
}

void PortHasASpeed(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  EXPECT_NE(port.active_width, 0);
  EXPECT_NE(port.active_speed, 0);
}

void RefusesPortsThatAreNotThere(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(rig.context, 0, &port), EINVAL);
  const int ports = rig.Attributes().phys_port_cnt;
  EXPECT_EQ(ibv_query_port(rig.context, static_cast<uint8_t>(ports + 1), &port),
            EINVAL);
}

void HasAFirstGid(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  union ibv_gid gid {};
  ASSERT_EQ(ibv_query_gid(rig.context, 1, 0, &gid), 0);
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(rig.context, 1, 0, &entry, 0), 0);
  EXPECT_EQ(std::memcmp(entry.gid.raw, gid.raw, sizeof(gid.raw)), 0);
  EXPECT_EQ(entry.port_num, 1u);
  EXPECT_EQ(entry.gid_index, 0u);
}

void RefusesGidsBeyondTheTable(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(rig.context, 1, &port), 0);
  EXPECT_GE(port.gid_tbl_len, 1);
  union ibv_gid gid {};
  EXPECT_NE(ibv_query_gid(rig.context, 1, port.gid_tbl_len, &gid), 0);
}

void FirstPkeyIsTheDefault(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(rig.context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
}

}  // namespace

CheckList DeviceChecks() {
  static constexpr Check kChecks[] = {
      {"devices.list_is_counted_and_terminated", kNothing,
       ListIsCountedAndTerminated},
      {"devices.list_needs_no_count", kNothing, ListNeedsNoCount},
      {"devices.names_differ", kNothing, NamesDiffer},
      {"devices.guids_differ", kNothing, GuidsDiffer},
      {"devices.guid_is_the_node_guid", kNothing, GuidIsTheNodeGuid},
      {"devices.opens_twice", kNothing, OpensTwice},
      {"devices.opens_again_after_close", kNothing, OpensAgainAfterClose},
      {"devices.context_has_vectors_and_async_fd", kNothing,
       ContextHasVectorsAndAsyncFd},
      {"devices.reports_what_it_can_hold", kNothing, ReportsWhatItCanHold},
      {"devices.reports_raw_packet_qps", kNothing, ReportsRawPacketQps},
      {"devices.tells_its_firmware_version", kNothing, TellsItsFirmwareVersion},
      {"devices.extended_query_agrees", kNothing, ExtendedQueryAgrees},
      {"devices.extended_query_refuses_unknown_input", kNothing,
       ExtendedQueryRefusesUnknownInput},
      {"devices.port_is_ethernet_and_active", kNothing,
       PortIsEthernetAndActive},
      {"devices.port_mtu_is_in_range", kNothing, PortMtuIsInRange},
      {"devices.port_has_a_speed", kNothing, PortHasASpeed},
      {"devices.refuses_ports_that_are_not_there", kNothing,
       RefusesPortsThatAreNotThere},
      {"devices.has_a_first_gid", kNothing, HasAFirstGid},
      {"devices.refuses_gids_beyond_the_table", kNothing,
       RefusesGidsBeyondTheTable},
      {"devices.first_pkey_is_the_default", kNothing, FirstPkeyIsTheDefault},
  };
  return kChecks;
}

}  // namespace weir::conformance
