#include "weir/verbs/rss_queue_pair.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {

absl::StatusOr<RssQueuePair> RssQueuePair::Create(
    const ProtectionDomain& domain, const IndirectionTable& table,
    const net::ToeplitzKey& key, uint64_t fields) {
  net::ToeplitzKey bytes = key;
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_RAW_PACKET;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                         IBV_QP_INIT_ATTR_RX_HASH;
  attributes.pd = domain.get();
  attributes.rwq_ind_tbl = table.get();
  attributes.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  attributes.rx_hash_conf.rx_hash_key_len = static_cast<uint8_t>(bytes.size());
  attributes.rx_hash_conf.rx_hash_key = bytes.data();
  attributes.rx_hash_conf.rx_hash_fields_mask = fields;
  ibv_context* const context = domain.get()->context;
  ibv_qp* qp = ibv_create_qp_ex(context, &attributes);
  if (qp != nullptr) return RssQueuePair(domain.device_name(), qp);
  const int error = errno;
  const std::string object = absl::StrCat(
      domain.device_name(), ": cannot create an RSS queue pair (",
      table.entries(), " entries, hash fields 0x", absl::Hex(fields), ")");
  const FailedCall failed = {.object = object, .call = "ibv_create_qp_ex"};
  if (error != EPERM) return RssError(error, failed);
  ibv_device_attr device{};
  const bool known = ibv_query_device(context, &device) == 0;
  return RawPacketError(error, failed, known ? device.max_raw_ethy_qp : 0);
}

absl::Status RssQueuePair::Start(uint8_t port) {
  ibv_qp_attr attributes{};
  attributes.port_num = port;
  attributes.qp_state = IBV_QPS_INIT;
  int error = ibv_modify_qp(get(), &attributes, IBV_QP_STATE | IBV_QP_PORT);
  if (error == ENOSYS || error == EOPNOTSUPP) return absl::OkStatus();
  if (error == 0) {
    attributes.qp_state = IBV_QPS_RTR;
    error = ibv_modify_qp(get(), &attributes, IBV_QP_STATE);
  }
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, {.object = device_name_,
                             .call = "ibv_modify_qp of an RSS queue pair"});
}

}  // namespace weir::verbs
