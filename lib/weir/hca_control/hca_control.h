// What a program can say to the software HCA and ask of it beside the verbs:
// C functions, like the verbs themselves, that libweir_hca.so exports and the
// static HCA defines. They are the only thing of the HCA that code above the
// verbs may know. All references are weak: a program that runs without the
// software HCA finds them null (IsLoaded in weir/verbs/soft_hca.h asks).

#ifndef WEIR_HCA_CONTROL_HCA_CONTROL_H_
#define WEIR_HCA_CONTROL_HCA_CONTROL_H_

#include <cstddef>
#include <cstdint>

struct ibv_context;
struct ibv_device;
struct ibv_qp;

// Facts about an open soft device that verbs have no call for.
struct weir_hca_info {
  // The netdev below, empty if there is none.
  char netdev[16];
  // The largest L3 packet in bytes.
  uint32_t mtu_bytes;
  // NUMA node of the device, -1 if unknown.
  int32_t numa_node;
  uint8_t mac[6];
  // 1 once no frame will ever arrive again (a capture file at its end) and all
  // that came was delivered or dropped.
  uint8_t finished;
  // How the medium works ("native XDP, copy, 1 queue"), cut to the size; empty
  // if there is only one way.
  char mode[63];
};

extern "C" {

// Adds the device that `key` names (`kind:argument[,key=value...]`) to what
// ibv_get_device_list returns, for the life of the process, and writes its
// device name (at most 63 bytes and a NUL) to `name`. Returns 0, or an errno
// value after writing one line, cut to `text_bytes`, to `text`: EINVAL for an
// unknown kind or option, ENOSPC for one device too many, ENOMEM. The medium is
// not opened before ibv_open_device. Any thread.
[[gnu::weak]] int weir_hca_add_device(const char* key, char name[64],
                                      char* text, size_t text_bytes);

// Writes one line on why the last ibv_open_device of `device` failed. Returns
// 0, ENOENT if `device` is not a soft one or did not fail, or ENOMEM. Any
// thread.
[[gnu::weak]] int weir_hca_open_error(struct ibv_device* device, char* text,
                                      size_t text_bytes);

// Fills `info`. Returns 0, or ENOENT if `context` is not of a soft device. Any
// thread.
[[gnu::weak]] int weir_hca_query(struct ibv_context* context,
                                 struct weir_hca_info* info);

// Counter number `index` of the device, from 0: a name that stays valid and the
// value. Returns 0, or ENOENT past the last one. Any thread.
[[gnu::weak]] int weir_hca_read_counter(struct ibv_context* context,
                                        unsigned index, const char** name,
                                        uint64_t* value);

// Takes the next warning of the device. Returns 0, ENOENT if there is none, or
// ENOMEM. Any thread.
[[gnu::weak]] int weir_hca_take_warning(struct ibv_context* context, char* text,
                                        size_t text_bytes);

// Makes a fault happen to the device now, as hardware would:
//   send_error[:STATUS]  the next frame to send completes with an error,
//   recv_error[:STATUS]  the next frame received does,
//   qp_error             every queue pair fails,
//   cq_overrun           the completion queues of every queue pair do,
//   port_down[:TIME]     the link goes, for a time (50ms) or for good,
//   port_up              it comes back,
//   remove               the device goes,
//   send_stall[:TIME]    what is sent does not complete, for a time or until
//                        its queue pair is reset,
// where STATUS is one of loc_len, loc_qp_op, loc_prot, loc_access, fatal,
// general. Returns 0, ENOENT if `context` is not of a soft device, or EINVAL or
// ENOMEM after writing one line, cut to `text_bytes`, to `text`. Any thread.
[[gnu::weak]] int weir_hca_inject(struct ibv_context* context,
                                  const char* fault, char* text,
                                  size_t text_bytes);

// Whether what was posted to send on `qp` waits because the medium has no room
// for it: a peer that does not receive, a netdev whose queue is full. Returns 1
// or 0, also for a queue pair that is not of a soft device. Any thread.
[[gnu::weak]] int weir_hca_waits_for_medium(struct ibv_qp* qp);

// Makes the link of the device as bad as `options` says from now on, in place
// of what its key or an earlier call asked for: "loss=1%,delay=5ms", with the
// options that all kinds of devices know; "" makes it perfect. Returns as
// weir_hca_inject, or EMFILE if the system has no descriptors left. Any thread.
[[gnu::weak]] int weir_hca_impair(struct ibv_context* context,
                                  const char* options, char* text,
                                  size_t text_bytes);

}  // extern "C"

#endif  // WEIR_HCA_CONTROL_HCA_CONTROL_H_
