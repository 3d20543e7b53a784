// Calls about objects that are not soft reach the library below us unchanged.
//
// Started by forwarding_test.py, which says what is below: a stand-in for
// libibverbs, an older one that lacks functions, or nothing.

#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/entry_points.h"
#include "test/hca/standin/standin.h"

#undef ibv_get_device_list
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

using testing::ElementsAre;
using testing::HasSubstr;

// The functions of the stand-in, whichever way the program was linked.
template <typename Function>
Function* Standin(const char* name) {
  static void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
  EXPECT_NE(library, nullptr) << dlerror();
  auto* found = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

std::vector<std::string> Calls() {
  std::vector<std::string> names;
  auto* const call = Standin<decltype(standin_call)>("standin_call");
  for (unsigned i = 0; call(i) != nullptr; ++i) names.push_back(call(i)->name);
  return names;
}

void Forget() { Standin<decltype(standin_forget)>("standin_forget")(); }

int Lists() { return Standin<decltype(standin_lists)>("standin_lists")(); }

// A value as it travels in a register, cut to what its type has.
template <typename T>
uint64_t Bits(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value) & (UINT64_MAX >> (64 - 8 * sizeof(T)));
  }
}

// Calls functions, and sees to it that the stand-in was called in the same way.
class Forwarding {
 public:
  template <typename R, typename... P, typename... A>
  void Expect(const char* name, R (*function)(P...), A... arguments) {
    constexpr uint64_t kResult = 0x5eed5eed5eed;
    Standin<decltype(standin_set_result)>("standin_set_result")(kResult);
    Forget();
    if constexpr (std::is_void_v<R>) {
      function(arguments...);
    } else {
      EXPECT_EQ(Bits(function(arguments...)),
                kResult & (UINT64_MAX >> (64 - 8 * sizeof(R))))
          << name;
    }
    ASSERT_THAT(Calls(), ElementsAre(name));
    const StandinCall& call =
        *Standin<decltype(standin_call)>("standin_call")(0);
    const std::array<uint64_t, sizeof...(P)> wanted = {
        Bits(static_cast<P>(arguments))...};
    const std::array<size_t, sizeof...(P)> sizes = {sizeof(P)...};
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(call.arguments[i] & (UINT64_MAX >> (64 - 8 * sizes[i])),
                wanted[i])
          << name << ", argument " << i;
    }
    called_.insert(name);
  }

  const std::set<std::string>& called() const { return called_; }

 private:
  std::set<std::string> called_;
};

// The device of the stand-in, and objects of it as far as anybody looks.
struct RealObjects {
  ibv_device* device = nullptr;
  ibv_context* context = nullptr;
  ibv_pd pd{};
  ibv_mr mr{};
  ibv_cq cq{};
  ibv_comp_channel channel{};
  ibv_qp qp{};
  ibv_srq srq{};
  ibv_ah ah{};
  ibv_dm dm{};

  RealObjects() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    device = list[0];
    ibv_free_device_list(list);
    context = ibv_open_device(device);
    pd.context = mr.context = cq.context = channel.context = context;
    qp.context = srq.context = ah.context = dm.context = context;
  }
};

TEST(ForwardingTest, ListsRealDevicesFirstAndFreesBothLists) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "real0");
  EXPECT_STREQ(ibv_get_device_name(list[1]), "soft0");
  EXPECT_EQ(list[2], nullptr);
  EXPECT_EQ(Lists(), 1);
  ibv_free_device_list(list);
  EXPECT_EQ(Lists(), 0);
}

TEST(ForwardingTest, ServesBothKindsOfDevicesInOneProcess) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* const real = ibv_open_device(list[0]);
  ibv_context* const soft = ibv_open_device(list[1]);
  ASSERT_NE(real, nullptr);
  ASSERT_NE(soft, nullptr);
  EXPECT_EQ(real->device, list[0]);
  EXPECT_EQ(soft->device, list[1]);
  Forget();
  ibv_pd* const pd = ibv_alloc_pd(soft);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(soft), 0);
  EXPECT_THAT(Calls(), ElementsAre());
  ibv_alloc_pd(real);
  EXPECT_THAT(Calls(), ElementsAre("ibv_alloc_pd"));
  ibv_free_device_list(list);
}

TEST(PreloadedTest, TakesCallsThatTheRealLibraryMakesItself) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  Forget();
  ibv_open_device(list[0]);
  EXPECT_THAT(Calls(), ElementsAre("ibv_open_device", "ibv_alloc_pd"));
  // The second went through us.
  Dl_info called{};
  const uint64_t function =
      Standin<decltype(standin_call)>("standin_call")(0)->arguments[1];
  ASSERT_NE(dladdr(std::bit_cast<void*>(function), &called), 0);
  EXPECT_THAT(called.dli_fname, HasSubstr("libweir_hca.so"));
  ibv_free_device_list(list);
}

// What has a meaning to the program is at stake in each argument, so they are
// all different; where they point nobody looks.
void ForwardDevices(RealObjects& real, Forwarding& to) {
  ibv_async_event event;
  ibv_device_attr attr;
  auto* const port = reinterpret_cast<_compat_ibv_port_attr*>(&attr);
  union ibv_gid gid;
  ibv_gid_entry entry;
  unsigned type = 0;
  __be16 pkey = 0;
  uint64_t speed = 0;
  ibv_context* const c = real.context;
  to.Expect("ibv_get_device_index", ibv_get_device_index, real.device);
  to.Expect("ibv_get_device_guid", ibv_get_device_guid, real.device);
  to.Expect("ibv_get_async_event", ibv_get_async_event, c, &event);
  to.Expect("ibv_query_device", ibv_query_device, c, &attr);
  to.Expect("ibv_query_port", ibv_query_port, c, 7, port);
  to.Expect("ibv_query_gid", ibv_query_gid, c, 7, 8, &gid);
  to.Expect("_ibv_query_gid_ex", _ibv_query_gid_ex, c, 7, 8, &entry, 9, 10);
  to.Expect("_ibv_query_gid_table", _ibv_query_gid_table, c, &entry, 7, 8, 9);
  to.Expect("ibv_query_gid_type", ibv_query_gid_type, c, 7, 8, &type);
  to.Expect("ibv_query_pkey", ibv_query_pkey, c, 7, 8, &pkey);
  to.Expect("ibv_get_pkey_index", ibv_get_pkey_index, c, 7, 8);
  to.Expect("ibv_query_port_speed", ibv_query_port_speed, c, 7, &speed);
  to.Expect("ibv_import_device", ibv_import_device, 7);
  to.Expect("ibv_import_pd", ibv_import_pd, c, 7);
  to.Expect("ibv_import_dm", ibv_import_dm, c, 7);
  to.Expect("ibv_unimport_dm", ibv_unimport_dm, &real.dm);
  to.Expect("ibv_alloc_dmah", ibv_alloc_dmah, c, &attr);
  to.Expect("ibv_create_comp_cntr", ibv_create_comp_cntr, c, &attr);
  to.Expect("ibv_query_comp_cntr_caps", ibv_query_comp_cntr_caps, c, &attr);
  to.Expect("ibv_close_device", ibv_close_device, c);
}

void ForwardMemory(RealObjects& real, Forwarding& to) {
  int at = 0;
  void* buf = nullptr;
  ibv_pd* const pd = &real.pd;
  to.Expect("ibv_alloc_pd", ibv_alloc_pd, real.context);
  to.Expect("ibv_reg_mr", ibv_reg_mr, pd, &at, 7, 8);
  to.Expect("ibv_reg_mr_iova", ibv_reg_mr_iova, pd, &at, 7, 8, 9);
  to.Expect("ibv_reg_mr_iova2", ibv_reg_mr_iova2, pd, &at, 7, 8, 9);
  to.Expect("ibv_reg_mr_ex", ibv_reg_mr_ex, pd, &at);
  to.Expect("ibv_reg_dmabuf_mr", ibv_reg_dmabuf_mr, pd, 7, 8, 9, 10, 11);
  to.Expect("ibv_reg_buf_mr", ibv_reg_buf_mr, pd, buf, &at, 7, 8);
  to.Expect("ibv_rereg_mr", ibv_rereg_mr, &real.mr, 7, pd, &at, 8, 9);
  to.Expect("ibv_dereg_mr", ibv_dereg_mr, &real.mr);
  to.Expect("ibv_import_mr", ibv_import_mr, pd, 7);
  to.Expect("ibv_unimport_mr", ibv_unimport_mr, &real.mr);
  to.Expect("ibv_alloc_buf", ibv_alloc_buf, pd, 7, &buf);
  to.Expect("ibv_unimport_pd", ibv_unimport_pd, pd);
  to.Expect("ibv_dealloc_pd", ibv_dealloc_pd, pd);
}

void ForwardQueues(RealObjects& real, Forwarding& to) {
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  ibv_qp_init_attr init;
  ibv_qp_attr attr;
  ibv_ece ece;
  const union ibv_gid gid {};
  ibv_context* const c = real.context;
  ibv_qp* const qp = &real.qp;
  to.Expect("ibv_create_comp_channel", ibv_create_comp_channel, c);
  to.Expect("ibv_create_cq", ibv_create_cq, c, 7, &got, &real.channel, 8);
  to.Expect("ibv_resize_cq", ibv_resize_cq, &real.cq, 7);
  to.Expect("ibv_get_cq_event", ibv_get_cq_event, &real.channel, &got,
            &cq_context);
  to.Expect("ibv_destroy_cq", ibv_destroy_cq, &real.cq);
  to.Expect("ibv_destroy_comp_channel", ibv_destroy_comp_channel,
            &real.channel);
  to.Expect("ibv_create_qp", ibv_create_qp, &real.pd, &init);
  to.Expect("ibv_modify_qp", ibv_modify_qp, qp, &attr, 7);
  to.Expect("ibv_query_qp", ibv_query_qp, qp, &attr, 7, &init);
  to.Expect("ibv_qp_to_qp_ex", ibv_qp_to_qp_ex, qp);
  to.Expect("ibv_query_qp_data_in_order", ibv_query_qp_data_in_order, qp,
            IBV_WR_SEND, 7);
  to.Expect("ibv_query_ece", ibv_query_ece, qp, &ece);
  to.Expect("ibv_set_ece", ibv_set_ece, qp, &ece);
  to.Expect("ibv_attach_mcast", ibv_attach_mcast, qp, &gid, 7);
  to.Expect("ibv_detach_mcast", ibv_detach_mcast, qp, &gid, 7);
  to.Expect("ibv_destroy_qp", ibv_destroy_qp, qp);
}

void ForwardOthers(RealObjects& real, Forwarding& to) {
  ibv_ah_attr ah;
  ibv_srq_init_attr srq_init;
  ibv_srq_attr srq;
  ibv_wc wc;
  ibv_grh grh;
  uint8_t mac[6];
  uint16_t vlan = 0;
  ibv_context* const c = real.context;
  to.Expect("ibv_create_ah", ibv_create_ah, &real.pd, &ah);
  to.Expect("ibv_create_ah_from_wc", ibv_create_ah_from_wc, &real.pd, &wc, &grh,
            7);
  to.Expect("ibv_init_ah_from_wc", ibv_init_ah_from_wc, c, 7, &wc, &grh, &ah);
  to.Expect("ibv_destroy_ah", ibv_destroy_ah, &real.ah);
  to.Expect("ibv_resolve_eth_l2_from_gid", ibv_resolve_eth_l2_from_gid, c, &ah,
            +mac, &vlan);
  to.Expect("ibv_create_srq", ibv_create_srq, &real.pd, &srq_init);
  to.Expect("ibv_modify_srq", ibv_modify_srq, &real.srq, &srq, 7);
  to.Expect("ibv_query_srq", ibv_query_srq, &real.srq, &srq);
  to.Expect("ibv_destroy_srq", ibv_destroy_srq, &real.srq);
  to.Expect("ibv_wc_status_str", ibv_wc_status_str, IBV_WC_RETRY_EXC_ERR);
  to.Expect("ibv_event_type_str", ibv_event_type_str, IBV_EVENT_SM_CHANGE);
  to.Expect("ibv_port_state_str", ibv_port_state_str, IBV_PORT_ARMED);
  to.Expect("ibv_node_type_str", ibv_node_type_str, IBV_NODE_RNIC);
  to.Expect("ibv_rate_to_mult", ibv_rate_to_mult, IBV_RATE_40_GBPS);
  to.Expect("mult_to_ibv_rate", mult_to_ibv_rate, 7);
  to.Expect("ibv_rate_to_mbps", ibv_rate_to_mbps, IBV_RATE_40_GBPS);
  to.Expect("mbps_to_ibv_rate", mbps_to_ibv_rate, 7);
  to.Expect("ibv_fork_init", ibv_fork_init);
  to.Expect("ibv_is_fork_initialized", ibv_is_fork_initialized);
  to.Expect("ibv_dontfork_range", ibv_dontfork_range, &wc, 7);
  to.Expect("ibv_dofork_range", ibv_dofork_range, &wc, 7);
  to.Expect("ibv_read_sysfs_file", ibv_read_sysfs_file, "/sys", "file",
            reinterpret_cast<char*>(mac), 6);
}

TEST(ForwardingTest, PassesEveryCallOnAsItIs) {
  RealObjects real;
  Forwarding to;
  ForwardDevices(real, to);
  ForwardMemory(real, to);
  ForwardQueues(real, to);
  ForwardOthers(real, to);
  // These read public fields, or are in tests of their own.
  std::set<std::string> others = {"ibv_ack_async_event",  "ibv_ack_cq_events",
                                  "ibv_free_device_list", "ibv_get_device_list",
                                  "ibv_get_device_name",  "ibv_open_device"};
  others.insert(to.called().begin(), to.called().end());
  EXPECT_EQ(others, EntryPoints());
}

TEST(OldLibraryTest, RefusesWhatItLacks) {
  RealObjects real;
  errno = 0;
  EXPECT_EQ(ibv_reg_mr_iova2(&real.pd, &real, 7, 8, 9), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_query_ece(&real.qp, nullptr), EOPNOTSUPP);
  EXPECT_EQ(ibv_import_pd(real.context, 7), nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(&real.qp), nullptr);
  EXPECT_EQ(_ibv_query_gid_table(real.context, nullptr, 1, 0, 0), -EOPNOTSUPP);
  EXPECT_EQ(ibv_get_device_index(real.device), -1);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
  Forwarding to;
  to.Expect("ibv_alloc_pd", ibv_alloc_pd, real.context);
}

TEST(NoLibraryTest, HasSoftDevicesOnly) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 1);
  ibv_context* const context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

// What libibverbs 44 says.
TEST(NoLibraryTest, NamesAndConvertsByItself) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR),
               "Work Request Flushed Error");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_PORT_ERR), "port error");
  EXPECT_STREQ(ibv_port_state_str(IBV_PORT_DOWN), "down");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
  EXPECT_EQ(mult_to_ibv_rate(8), IBV_RATE_20_GBPS);
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
  EXPECT_EQ(mbps_to_ibv_rate(5000), IBV_RATE_5_GBPS);
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
  EXPECT_LT(ibv_read_sysfs_file("/sys", "file", nullptr, 0), 0);
}

}  // namespace
}  // namespace weir::hca
