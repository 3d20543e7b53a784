#include "weir/hca/attributes.h"

#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "weir/hca/clock.h"
#include "weir/hca/context.h"
#include "weir/hca/limits.h"
#include "weir/hca/rss_hash.h"

namespace weir::hca {
namespace {

// Ours, and no vendor's: bit 23 keeps it out of the IEEE's OUI space.
constexpr uint32_t kVendorId = 0x807765;
constexpr uint32_t kVendorPartId = 1;

// What RoCE puts around its payload; the kernel takes it off the netdev's MTU
// before it looks for an InfiniBand MTU that fits.
constexpr uint32_t kRoceOverheadBytes = 96;

// Width 2 is 4x, speed 32 is 25 Gb/s a lane: 100 Gb/s, for programs that want
// to see a rate.
constexpr uint8_t kActiveWidth = 2;
constexpr uint8_t kActiveSpeed = 32;
// The states of the physical port (InfiniBand 1.5 §14.2.5.6, PortInfo).
constexpr uint8_t kPhysicalDisabled = 3;
constexpr uint8_t kPhysicalLinkUp = 5;
constexpr uint16_t kDefaultPkey = 0xffff;

ibv_mtu MtuOf(uint32_t bytes) {
  constexpr std::array<uint32_t, 4> kSizes = {512, 1024, 2048, 4096};
  int mtu = IBV_MTU_256;
  for (const uint32_t size : kSizes) {
    if (bytes >= size + kRoceOverheadBytes) ++mtu;
  }
  return static_cast<ibv_mtu>(mtu);
}

template <typename T>
void Give(const T& from, void* to, size_t bytes) {
  std::memset(to, 0, bytes);
  std::memcpy(to, &from, std::min(bytes, sizeof(from)));
}

}  // namespace

void QueryDevice(Context& context, ibv_device_attr& attr) {
  attr = {};
  std::strncpy(attr.fw_ver, "weir-1", sizeof(attr.fw_ver) - 1);
  attr.node_guid = context.device().guid();
  attr.sys_image_guid = attr.node_guid;
  attr.max_mr_size = UINT64_MAX;
  attr.page_size_cap = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  attr.vendor_id = kVendorId;
  attr.vendor_part_id = kVendorPartId;
  attr.hw_ver = 1;
  attr.max_qp = kMaxQp;
  attr.max_qp_wr = kMaxQpWr;
  attr.max_sge = kMaxSge;
  attr.max_cq = kMaxCq;
  attr.max_cqe = kMaxCqe;
  attr.max_mr = kMaxMr;
  attr.max_pd = kMaxPd;
  attr.atomic_cap = IBV_ATOMIC_NONE;
  attr.max_raw_ethy_qp = kMaxQp;
  attr.max_mcast_grp = kMaxMcastGroups;
  attr.max_mcast_qp_attach = kMaxMcastQps;
  attr.max_total_mcast_qp_attach = kMaxMcastAttachments;
  attr.max_pkeys = 1;
  attr.device_cap_flags = IBV_DEVICE_RAW_IP_CSUM;
  attr.phys_port_cnt = 1;
}

int QueryDeviceEx(Context& context, ibv_device_attr_ex* attr, size_t bytes) {
  if (bytes < sizeof(attr->orig_attr)) return EINVAL;
  ibv_device_attr_ex full{};
  QueryDevice(context, full.orig_attr);
  full.phys_port_cnt_ex = 1;
  if (context.device().has_rss()) {
    full.rss_caps = {.supported_qpts = 1u << IBV_QPT_RAW_PACKET,
                     .max_rwq_indirection_tables = kMaxIndirectionTables,
                     .max_rwq_indirection_table_size = kMaxIndirectionEntries,
                     .rx_hash_fields_mask = kRssFields,
                     .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ};
    full.max_wq_type_rq = kMaxWq;
  }
  full.tso_caps = {.max_tso = kMaxTsoBytes,
                   .supported_qpts = 1u << IBV_QPT_RAW_PACKET};
  full.raw_packet_caps =
      IBV_RAW_PACKET_CAP_IP_CSUM | IBV_RAW_PACKET_CAP_CVLAN_STRIPPING;
  full.completion_timestamp_mask = UINT64_MAX;
  full.hca_core_clock = kHcaClockKhz;
  Give(full, attr, bytes);
  return 0;
}

int QueryRtValues(ibv_values_ex& values) {
  const uint32_t wanted = values.comp_mask;
  if ((wanted & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
  values.comp_mask = 0;
  if (wanted == 0) return 0;
  // Ticks, and not seconds, as the mlx5 driver has it.
  values.raw_clock.tv_sec = 0;
  values.raw_clock.tv_nsec = static_cast<long>(HcaClockTicks());
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

int QueryPort(Context& context, uint8_t number, void* attr, size_t bytes) {
  if (number != kPortNumber) return EINVAL;
  ibv_port_attr full{};
  const bool up = context.port().CheckLink() == LinkState::kUp;
  full.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  full.max_mtu = IBV_MTU_4096;
  full.active_mtu = MtuOf(context.port().info().mtu_bytes);
  full.gid_tbl_len = 1;
  full.max_msg_sz = 1u << 30;
  full.pkey_tbl_len = 1;
  full.max_vl_num = 1;
  full.active_width = kActiveWidth;
  full.active_speed = kActiveSpeed;
  full.phys_state = up ? kPhysicalLinkUp : kPhysicalDisabled;
  full.link_layer = IBV_LINK_LAYER_ETHERNET;
  Give(full, attr, bytes);
  return 0;
}

int QueryGid(Context& context, uint32_t port, uint32_t index,
             union ibv_gid* gid) {
  if (port != kPortNumber || index != 0) return EINVAL;
  const auto& mac = context.port().mac().octets;
  const std::array<uint8_t, 16> octets = {
      0xfe,   0x80,   0,
      0,      0,      0,
      0,      0,      static_cast<uint8_t>(mac[0] ^ 0x02),
      mac[1], mac[2], 0xff,
      0xfe,   mac[3], mac[4],
      mac[5]};
  std::memcpy(gid->raw, octets.data(), octets.size());
  return 0;
}

int QueryGidEntry(Context& context, uint32_t port, uint32_t index,
                  ibv_gid_entry* entry, size_t bytes) {
  ibv_gid_entry full{};
  const int error = QueryGid(context, port, index, &full.gid);
  if (error != 0) return error;
  full.gid_index = index;
  full.port_num = port;
  full.gid_type = IBV_GID_TYPE_ROCE_V2;
  const std::string& netdev = context.port().info().netdev;
  if (!netdev.empty()) full.ndev_ifindex = if_nametoindex(netdev.c_str());
  Give(full, entry, bytes);
  return 0;
}

int QueryPkey(uint32_t port, int index, __be16* pkey) {
  if (port != kPortNumber || index != 0) return EINVAL;
  *pkey = kDefaultPkey;
  return 0;
}

}  // namespace weir::hca
