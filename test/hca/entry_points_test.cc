// Every entry point is called with soft objects and answers: with what it is
// for, or that raw packet I/O has no use for it.

#include "test/hca/entry_points.h"

#include <infiniband/verbs.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

// Later than the header, or private to libibverbs.
struct ibv_dmah;
struct ibv_comp_cntr;
extern "C" {
int ibv_query_gid_type(ibv_context*, uint8_t, unsigned, unsigned*);
int ibv_read_sysfs_file(const char*, const char*, char*, size_t);
int ibv_dontfork_range(void*, size_t);
int ibv_dofork_range(void*, size_t);
ibv_dmah* ibv_alloc_dmah(ibv_context*, void*);
ibv_mr* ibv_reg_mr_ex(ibv_pd*, void*);
int ibv_query_port_speed(ibv_context*, uint32_t, uint64_t*);
void* ibv_alloc_buf(ibv_pd*, size_t, void**);
ibv_mr* ibv_reg_buf_mr(ibv_pd*, void*, void*, size_t, int);
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context*, void*);
int ibv_query_comp_cntr_caps(ibv_context*, void*);
}

namespace weir::hca {
namespace {

// Objects of kinds that no soft device hands out; a program that has one got it
// elsewhere, and must be told so.
struct Foreign {
  ibv_srq srq{};
  ibv_ah ah{};
  ibv_dm dm{};
  ibv_mw mw{};
  ibv_xrcd xrcd{};

  explicit Foreign(ibv_context* context) {
    srq.context = ah.context = dm.context = mw.context = xrcd.context = context;
  }
};

class EntryPointsTest : public testing::Test {
 protected:
  // What each call has to return; the names add up to the list of all.
  template <typename R>
  void Returns(R wanted, const char* name, const std::function<R()>& call) {
    EXPECT_EQ(call(), wanted) << name;
    called_.insert(name);
  }
  void Succeeds(const char* name, const std::function<int()>& call) {
    Returns<int>(0, name, call);
  }
  void Makes(const char* name, const std::function<const void*()>& call) {
    EXPECT_NE(call(), nullptr) << name;
    called_.insert(name);
  }
  // Null, or an errno value, and errno.
  void HasNoUseFor(const char* name, const std::function<const void*()>& call) {
    errno = 0;
    EXPECT_EQ(call(), nullptr) << name;
    EXPECT_EQ(errno, EOPNOTSUPP) << name;
    called_.insert(name);
  }
  void Refuses(const char* name, const std::function<int()>& call) {
    Returns<int>(EOPNOTSUPP, name, call);
  }
  void DoesNothing(const char* name, const std::function<void()>& call) {
    call();
    called_.insert(name);
  }

  void CallDevices();
  void CallMemory();
  void CallQueues();
  void CallEvents();
  void CallWithoutObjects();
  void CallUseless();

  VerbsRig rig_{{.with_channel = true}};
  Foreign foreign_{rig_.context};
  std::set<std::string> called_;
};

void EntryPointsTest::CallDevices() {
  ibv_context* const context = rig_.context;
  ibv_device* const device = context->device;
  union ibv_gid gid {};
  ibv_gid_entry entry{};
  __be16 pkey = 0;
  unsigned type = 0;
  uint64_t speed = 0;
  ibv_device_attr device_attr{};
  std::vector<std::byte> port(sizeof(ibv_port_attr));
  ibv_device** list = nullptr;
  Makes("ibv_get_device_list",
        [&] { return list = ibv_get_device_list(nullptr); });
  DoesNothing("ibv_free_device_list", [&] { ibv_free_device_list(list); });
  Makes("ibv_get_device_name", [&] { return ibv_get_device_name(device); });
  Returns<int>(-1, "ibv_get_device_index",
               [&] { return ibv_get_device_index(device); });
  Returns<bool>(true, "ibv_get_device_guid",
                [&] { return ibv_get_device_guid(device) != 0; });
  ibv_context* second = nullptr;
  Makes("ibv_open_device", [&] { return second = ibv_open_device(device); });
  Succeeds("ibv_close_device", [&] { return ibv_close_device(second); });
  Succeeds("ibv_query_device",
           [&] { return ibv_query_device(context, &device_attr); });
  Succeeds("ibv_query_port", [&] {
    return ibv_query_port(
        context, 1, reinterpret_cast<_compat_ibv_port_attr*>(port.data()));
  });
  Succeeds("ibv_query_gid", [&] { return ibv_query_gid(context, 1, 0, &gid); });
  Succeeds("_ibv_query_gid_ex", [&] {
    return _ibv_query_gid_ex(context, 1, 0, &entry, 0, sizeof(entry));
  });
  Returns<ssize_t>(1, "_ibv_query_gid_table", [&] {
    return _ibv_query_gid_table(context, &entry, 1, 0, sizeof(entry));
  });
  Succeeds("ibv_query_gid_type",
           [&] { return ibv_query_gid_type(context, 1, 0, &type); });
  Succeeds("ibv_query_pkey",
           [&] { return ibv_query_pkey(context, 1, 0, &pkey); });
  Returns<int>(0, "ibv_get_pkey_index",
               [&] { return ibv_get_pkey_index(context, 1, pkey); });
  Succeeds("ibv_query_port_speed",
           [&] { return ibv_query_port_speed(context, 1, &speed); });
}

void EntryPointsTest::CallMemory() {
  std::vector<std::byte> memory(4096);
  const auto address = std::bit_cast<uint64_t>(memory.data());
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  Makes("ibv_alloc_pd", [&] { return pd = ibv_alloc_pd(rig_.context); });
  Makes("ibv_reg_mr_iova2", [&] {
    return mr = ibv_reg_mr_iova2(pd, memory.data(), 4096, address,
                                 IBV_ACCESS_RELAXED_ORDERING);
  });
  Succeeds("ibv_dereg_mr", [&] { return ibv_dereg_mr(mr); });
  Makes("ibv_reg_mr_iova",
        [&] { return mr = ibv_reg_mr_iova(pd, memory.data(), 4096, 0, 0); });
  Succeeds("ibv_dereg_mr", [&] { return ibv_dereg_mr(mr); });
  Makes("ibv_reg_mr",
        [&] { return mr = ibv_reg_mr(pd, memory.data(), 4096, 0); });
  Succeeds("ibv_rereg_mr", [&] {
    return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                        IBV_ACCESS_LOCAL_WRITE);
  });
  Succeeds("ibv_dereg_mr", [&] { return ibv_dereg_mr(mr); });
  Succeeds("ibv_dealloc_pd", [&] { return ibv_dealloc_pd(pd); });
}

void EntryPointsTest::CallQueues() {
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  Makes("ibv_create_comp_channel",
        [&] { return channel = ibv_create_comp_channel(rig_.context); });
  Makes("ibv_create_cq", [&] {
    return cq = ibv_create_cq(rig_.context, 16, nullptr, channel, 0);
  });
  Succeeds("ibv_resize_cq", [&] { return ibv_resize_cq(cq, 32); });
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RAW_PACKET;
  Makes("ibv_create_qp", [&] { return qp = ibv_create_qp(rig_.pd, &init); });
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  Succeeds("ibv_modify_qp", [&] {
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
  });
  Succeeds("ibv_query_qp",
           [&] { return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init); });
  // 01:00:5e:00:00:01 in the place of OFED.
  union ibv_gid gid {};
  gid.raw[10] = 0x01;
  gid.raw[12] = 0x5e;
  gid.raw[15] = 0x01;
  Succeeds("ibv_attach_mcast", [&] { return ibv_attach_mcast(qp, &gid, 0); });
  Succeeds("ibv_detach_mcast", [&] { return ibv_detach_mcast(qp, &gid, 0); });
  // Only those that ask for it at creation have the extended operations.
  Returns<ibv_qp_ex*>(nullptr, "ibv_qp_to_qp_ex",
                      [&] { return ibv_qp_to_qp_ex(qp); });
  Returns<int>(0, "ibv_query_qp_data_in_order",
               [&] { return ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0); });
  ibv_ece ece{};
  Refuses("ibv_query_ece", [&] { return ibv_query_ece(qp, &ece); });
  Refuses("ibv_set_ece", [&] { return ibv_set_ece(qp, &ece); });
  Succeeds("ibv_destroy_qp", [&] { return ibv_destroy_qp(qp); });
  Succeeds("ibv_destroy_cq", [&] { return ibv_destroy_cq(cq); });
  Succeeds("ibv_destroy_comp_channel",
           [&] { return ibv_destroy_comp_channel(channel); });
}

// A completion queue of one entry that gets two completions fails: an event of
// each kind.
void EntryPointsTest::CallEvents() {
  ibv_cq* cq = ibv_create_cq(rig_.context, 1, nullptr, rig_.channel, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap.max_recv_wr = 16;
  init.qp_type = IBV_QPT_RAW_PACKET;
  ibv_qp* const qp = ibv_create_qp(rig_.pd, &init);
  ASSERT_NE(qp, nullptr);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  for (int i = 0; i <= cq->cqe; ++i) {
    EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  }
  EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
  attr.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);

  ibv_cq* of = nullptr;
  void* cq_context = nullptr;
  Succeeds("ibv_get_cq_event",
           [&] { return ibv_get_cq_event(rig_.channel, &of, &cq_context); });
  EXPECT_EQ(of, cq);
  DoesNothing("ibv_ack_cq_events", [&] { ibv_ack_cq_events(cq, 1); });
  ibv_async_event event{};
  Succeeds("ibv_get_async_event",
           [&] { return ibv_get_async_event(rig_.context, &event); });
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, cq);
  DoesNothing("ibv_ack_async_event", [&] { ibv_ack_async_event(&event); });
  // Would wait for ever for events that are not acknowledged.
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

void EntryPointsTest::CallWithoutObjects() {
  Makes("ibv_wc_status_str", [] { return ibv_wc_status_str(IBV_WC_SUCCESS); });
  Makes("ibv_event_type_str",
        [] { return ibv_event_type_str(IBV_EVENT_PORT_ERR); });
  Makes("ibv_port_state_str",
        [] { return ibv_port_state_str(IBV_PORT_ACTIVE); });
  Makes("ibv_node_type_str", [] { return ibv_node_type_str(IBV_NODE_CA); });
  Returns<int>(4, "ibv_rate_to_mult",
               [] { return ibv_rate_to_mult(IBV_RATE_10_GBPS); });
  Returns<int>(IBV_RATE_10_GBPS, "mult_to_ibv_rate",
               [] { return mult_to_ibv_rate(4); });
  Returns<int>(10000, "ibv_rate_to_mbps",
               [] { return ibv_rate_to_mbps(IBV_RATE_10_GBPS); });
  Returns<int>(IBV_RATE_10_GBPS, "mbps_to_ibv_rate",
               [] { return mbps_to_ibv_rate(10000); });
  DoesNothing("ibv_is_fork_initialized", [] { ibv_is_fork_initialized(); });
  Succeeds("ibv_fork_init", [] { return ibv_fork_init(); });
  void* const page = std::aligned_alloc(4096, 4096);
  Succeeds("ibv_dontfork_range",
           [=] { return ibv_dontfork_range(page, 4096); });
  Succeeds("ibv_dofork_range", [=] { return ibv_dofork_range(page, 4096); });
  std::free(page);
  // Where the directory of a soft device is asked for.
  char text[8];
  Returns<int>(-1, "ibv_read_sysfs_file", [&] {
    return ibv_read_sysfs_file(rig_.context->device->ibdev_path, "board_id",
                               text, sizeof(text));
  });
}

void EntryPointsTest::CallUseless() {
  ibv_context* const context = rig_.context;
  ibv_pd* const pd = rig_.pd;
  ibv_ah_attr ah{};
  ibv_wc wc{};
  ibv_grh grh{};
  ibv_srq_init_attr srq_init{};
  ibv_srq_attr srq{};
  uint8_t mac[6];
  uint16_t vlan = 0;
  void* buf = nullptr;
  HasNoUseFor("ibv_create_ah", [&] { return ibv_create_ah(pd, &ah); });
  HasNoUseFor("ibv_create_ah_from_wc",
              [&] { return ibv_create_ah_from_wc(pd, &wc, &grh, 1); });
  Returns<int>(-1, "ibv_init_ah_from_wc",
               [&] { return ibv_init_ah_from_wc(context, 1, &wc, &grh, &ah); });
  Refuses("ibv_destroy_ah", [&] { return ibv_destroy_ah(&foreign_.ah); });
  Refuses("ibv_resolve_eth_l2_from_gid", [&] {
    return ibv_resolve_eth_l2_from_gid(context, &ah, mac, &vlan);
  });
  HasNoUseFor("ibv_create_srq", [&] { return ibv_create_srq(pd, &srq_init); });
  Refuses("ibv_modify_srq",
          [&] { return ibv_modify_srq(&foreign_.srq, &srq, 0); });
  Refuses("ibv_query_srq", [&] { return ibv_query_srq(&foreign_.srq, &srq); });
  Refuses("ibv_destroy_srq", [&] { return ibv_destroy_srq(&foreign_.srq); });
  HasNoUseFor("ibv_reg_dmabuf_mr",
              [&] { return ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 0); });
  HasNoUseFor("ibv_reg_mr_ex", [&] { return ibv_reg_mr_ex(pd, &wc); });
  HasNoUseFor("ibv_alloc_buf", [&] { return ibv_alloc_buf(pd, 1, &buf); });
  HasNoUseFor("ibv_reg_buf_mr",
              [&] { return ibv_reg_buf_mr(pd, buf, buf, 1, 0); });
  HasNoUseFor("ibv_alloc_dmah", [&] { return ibv_alloc_dmah(context, &wc); });
  HasNoUseFor("ibv_create_comp_cntr",
              [&] { return ibv_create_comp_cntr(context, &wc); });
  Refuses("ibv_query_comp_cntr_caps",
          [&] { return ibv_query_comp_cntr_caps(context, &wc); });
  HasNoUseFor("ibv_import_pd", [&] { return ibv_import_pd(context, 0); });
  HasNoUseFor("ibv_import_mr", [&] { return ibv_import_mr(pd, 0); });
  HasNoUseFor("ibv_import_dm", [&] { return ibv_import_dm(context, 0); });
  // A command descriptor is always of a real device.
  Returns<const void*>(nullptr, "ibv_import_device",
                       [] { return ibv_import_device(-1); });
  DoesNothing("ibv_unimport_pd", [&] { ibv_unimport_pd(pd); });
  DoesNothing("ibv_unimport_mr", [&] { ibv_unimport_mr(rig_.mr); });
  DoesNothing("ibv_unimport_dm", [&] { ibv_unimport_dm(&foreign_.dm); });
}

TEST_F(EntryPointsTest, AllAnswer) {
  CallDevices();
  CallMemory();
  CallQueues();
  CallEvents();
  CallWithoutObjects();
  CallUseless();
  EXPECT_EQ(called_, EntryPoints());
}

// Those that <infiniband/verbs.h> calls through the context.
TEST_F(EntryPointsTest, InlineOnesWithoutUseSaySo) {
  ibv_context* const context = rig_.context;
  ibv_pd* const pd = rig_.pd;
  ibv_alloc_dm_attr dm{};
  ibv_xrcd_init_attr xrcd{};
  ibv_srq_init_attr_ex srq{};
  srq.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  srq.srq_type = IBV_SRQT_XRC;
  ibv_flow_action_esp_attr esp{};
  ibv_qp_open_attr open{};
  ibv_sge sge{};
  ibv_mw_bind bind{};
  uint32_t number = 0;
  HasNoUseFor("alloc_mw", [&] { return ibv_alloc_mw(pd, IBV_MW_TYPE_1); });
  HasNoUseFor("alloc_dm", [&] { return ibv_alloc_dm(context, &dm); });
  HasNoUseFor("alloc_null_mr", [&] { return ibv_alloc_null_mr(pd); });
  HasNoUseFor("open_xrcd", [&] { return ibv_open_xrcd(context, &xrcd); });
  ibv_td_init_attr td{};
  ibv_parent_domain_init_attr parent{};
  parent.pd = pd;
  HasNoUseFor("alloc_td", [&] { return ibv_alloc_td(context, &td); });
  HasNoUseFor("alloc_parent_domain",
              [&] { return ibv_alloc_parent_domain(context, &parent); });
  HasNoUseFor("open_qp", [&] { return ibv_open_qp(context, &open); });
  HasNoUseFor("create_srq_ex",
              [&] { return ibv_create_srq_ex(context, &srq); });
  HasNoUseFor("reg_dm_mr",
              [&] { return ibv_reg_dm_mr(pd, &foreign_.dm, 0, 1, 0); });
  HasNoUseFor("create_flow_action_esp",
              [&] { return ibv_create_flow_action_esp(context, &esp); });
  Refuses("advise_mr", [&] {
    return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1);
  });
  Refuses("get_srq_num",
          [&] { return ibv_get_srq_num(&foreign_.srq, &number); });
  Refuses("free_dm", [&] { return ibv_free_dm(&foreign_.dm); });
  Refuses("close_xrcd", [&] { return ibv_close_xrcd(&foreign_.xrcd); });
  Refuses("dealloc_mw", [&] { return ibv_dealloc_mw(&foreign_.mw); });
  bind.bind_info.mr = rig_.mr;
  bind.bind_info.addr = std::bit_cast<uint64_t>(rig_.mr->addr);
  bind.bind_info.length = 1;
  foreign_.mw.type = IBV_MW_TYPE_1;
  EXPECT_NE(ibv_bind_mw(rig_.qp, &foreign_.mw, &bind), 0);
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(&foreign_.srq, &wr, &bad), EOPNOTSUPP);
  EXPECT_EQ(bad, &wr);
}

}  // namespace
}  // namespace weir::hca
