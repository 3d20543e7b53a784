// The XDP program of the xdp backend: frames that fulfil a flow rule go to the
// AF_XDP socket of the queue they arrived on, all others go on to the kernel.
//
// The fields of a frame are those of ReadFlowFields in hca/flow_match.cc, bit
// by bit; a test compares the two.

// First: the others use its types.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/hca/backend/xdp/flow_filter_layout.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct FlowFilterTable);
} table SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, kFilterRules);
  __type(key, struct FlowFilterKey);
  __type(value, __u32);
} rules SEC(".maps");

// The number of entries is that of the netdev's queues; set before loading.
struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

// FlowFields as bytes.
struct Fields {
  __u64 macs_begin;
  __u32 macs_end;
  __u16 ether_type;
  __u16 vlan_tag;
  __u64 ipv6_src[2];
  __u64 ipv6_dst[2];
  __u32 ipv6_flow_label;
  __u8 ipv6_next_header;
  __u8 ipv6_traffic_class;
  __u8 ipv6_hop_limit;
  __u8 unused_ipv6;
  __u32 ipv4_src;
  __u32 ipv4_dst;
  __u8 ipv4_protocol;
  __u8 ipv4_tos;
  __u8 ipv4_ttl;
  __u8 ipv4_flags;
  __u16 dst_port;
  __u16 src_port;
  __u32 headers;
  __u32 unused;
};
_Static_assert(sizeof(struct Fields) == sizeof(struct FlowFilterWords), "");

union FieldWords {
  struct Fields fields;
  struct FlowFilterWords all;
};

enum {
  kHasVlan = 1 << 0,
  kHasIpv4 = 1 << 1,
  kHasIpv6 = 1 << 2,
  kHasTcp = 1 << 3,
  kHasUdp = 1 << 4,
};

// Loads from packets may be misaligned.
static __always_inline __u8 Load8(const void* at) { return *(const __u8*)at; }
static __always_inline __u16 Load16(const void* at) {
  return *(const __u16*)at;
}
static __always_inline __u32 Load32(const void* at) {
  return *(const __u32*)at;
}
static __always_inline __u64 Load64(const void* at) {
  return *(const __u64*)at;
}

// Global functions, here and below: the kernel verifies each by itself instead of
// once for every way that leads to it. Offsets are from the start of the frame;
// what they return is one, 0 where nothing follows that the rules can ask for.

// Larger than any offset: at most 2048 bytes an IPv6 extension header, and less
// than 256 in front of them. The kernel knows bounds by such a mask.
enum { kOffsetMask = 0x7fff };

static __always_inline const void *Begin(const struct xdp_md *context,
                                         __u32 offset) {
  const void *at = (const void *)(long)context->data;
  at += offset & kOffsetMask;
  // Sums are made from here on: the kernel does not see through other orders.
  asm volatile("" : "+r"(at));
  return at;
}

static __always_inline const void *End(const struct xdp_md *context) {
  return (const void *)(long)context->data_end;
}

__attribute__((noinline)) int ReadPorts(struct xdp_md *context, struct Fields *fields,
                     __u32 offset, __u8 protocol) {
  const void *at = Begin(context, offset);
  if (fields == 0 || at + 4 > End(context)) return 0;
  if (protocol != 6 && protocol != 17) return 0;
  fields->headers |= protocol == 6 ? kHasTcp : kHasUdp;
  fields->src_port = Load16(at);
  fields->dst_port = Load16(at + 2);
  return 0;
}

// RFC 791 §3.1.
__attribute__((noinline)) int ReadIpv4(struct xdp_md *context, struct Fields *fields,
                    __u32 offset) {
  const void *at = Begin(context, offset);
  if (fields == 0 || at + 20 > End(context)) return 0;
  const __u8 first = Load8(at);
  const __u32 header_bytes = (first & 0x0f) * 4;
  if (first >> 4 != 4 || header_bytes < 20) return 0;
  fields->headers |= kHasIpv4;
  fields->ipv4_tos = Load8(at + 1);
  const __u16 fragment = bpf_ntohs(Load16(at + 6));
  fields->ipv4_flags = ((fragment & 0x4000) != 0 ? 2 : 0) |
                       ((fragment & 0x2000) != 0 ? 4 : 0);
  fields->ipv4_ttl = Load8(at + 8);
  fields->ipv4_protocol = Load8(at + 9);
  fields->ipv4_src = Load32(at + 12);
  fields->ipv4_dst = Load32(at + 16);
  return (fragment & 0x1fff) != 0 ? 0 : offset + header_bytes;
}

// RFC 8200 §3.
__attribute__((noinline)) int ReadIpv6(struct xdp_md *context, struct Fields *fields,
                    __u32 offset) {
  const void *at = Begin(context, offset);
  if (fields == 0 || at + 40 > End(context)) return 0;
  if (Load8(at) >> 4 != 6) return 0;
  fields->headers |= kHasIpv6;
  fields->ipv6_traffic_class = bpf_ntohs(Load16(at)) >> 4;
  fields->ipv6_flow_label = Load32(at) & bpf_htonl(0x000fffff);
  fields->ipv6_next_header = Load8(at + 6);
  fields->ipv6_hop_limit = Load8(at + 7);
  fields->ipv6_src[0] = Load64(at + 8);
  fields->ipv6_src[1] = Load64(at + 16);
  fields->ipv6_dst[0] = Load64(at + 24);
  fields->ipv6_dst[1] = Load64(at + 32);
  return offset + 40;
}

// RFC 8200 §4: what is behind an extension header of type `next`, as its offset
// times 256 and its type.
__attribute__((noinline)) int SkipExtension(struct xdp_md *context, __u32 offset, __u8 next) {
  const void *at = Begin(context, offset);
  if (at + 8 > End(context)) return 0;
  if (next == 44 && (Load16(at + 2) & bpf_htons(0xfff8)) != 0) return 0;
  const __u32 bytes = next == 44 ? 8 : (Load8(at + 1) + 1) * 8;
  return (offset + bytes) << 8 | Load8(at);
}

// IEEE 802.1Q §9.3: the TCI of the VLAN tag here, as it stands in the frame, and
// bit 16; 0 if there is no tag with a type behind it.
__attribute__((noinline)) int ReadTag(struct xdp_md *context, __u32 offset) {
  const void *at = Begin(context, offset);
  if (at + 6 > End(context)) return 0;
  const __u16 tpid = Load16(at);
  if (tpid != bpf_htons(0x8100) && tpid != bpf_htons(0x88a8)) return 0;
  return 1 << 16 | Load16(at + 2);
}

// The type at `offset`, which follows the tags.
__attribute__((noinline)) int ReadType(struct xdp_md *context,
                                       struct Fields *fields, __u32 offset) {
  const void *at = Begin(context, offset);
  if (fields == 0 || at + 2 > End(context)) return 0;
  fields->ether_type = Load16(at);
  return offset + 2;
}

// The frame is at least an Ethernet header long: the kernel sees to that. One
// with more tags than kFilterVlanTags fulfils no rule on what is behind them.
__attribute__((noinline)) int ReadEthernet(struct xdp_md *context,
                                           struct Fields *fields) {
  const void *at = Begin(context, 0);
  if (fields == 0 || at + 14 > End(context)) return 0;
  fields->macs_begin = Load64(at);
  fields->macs_end = Load32(at + 8);
  __u32 offset = 12;
  for (int i = 0; i < kFilterVlanTags; ++i) {
    const __u32 tag = ReadTag(context, offset);
    if (tag == 0) break;
    if (i == 0) fields->vlan_tag = tag;
    fields->headers |= kHasVlan;
    offset += 4;
  }
  return ReadType(context, fields, offset);
}

__attribute__((noinline)) int ReadFields(struct xdp_md *context,
                                         struct Fields *fields) {
  if (fields == 0) return 0;
  __u32 offset = ReadEthernet(context, fields);
  __u8 next = 0;
  if (offset == 0) return 0;
  if (fields->ether_type == bpf_htons(0x0800)) {
    offset = ReadIpv4(context, fields, offset);
    next = fields->ipv4_protocol;
  } else if (fields->ether_type == bpf_htons(0x86dd)) {
    offset = ReadIpv6(context, fields, offset);
    next = fields->ipv6_next_header;
    for (int i = 0; i < kFilterExtensions && offset != 0; ++i) {
      // Fragment, or hop-by-hop, routing, destination options.
      if (next != 44 && next != 0 && next != 43 && next != 60) break;
      const __u32 behind = SkipExtension(context, offset, next);
      offset = behind >> 8;
      next = behind;
    }
  } else {
    return 0;
  }
  if (offset != 0) ReadPorts(context, fields, offset, next);
  return 0;
}

// Whether a rule under mask number `index` says what `frame` is; 1 or 0.
__attribute__((noinline)) int IsTaken(const struct FlowFilterWords *frame, __u32 index) {
  const __u32 zero = 0;
  const struct FlowFilterTable *filter = bpf_map_lookup_elem(&table, &zero);
  if (frame == 0 || filter == 0) return 0;
  index &= kFilterMasks - 1;
  struct FlowFilterKey key;
  key.mask_index = index;
#pragma unroll
  for (int word = 0; word < kFilterWords; ++word) {
    key.value.words[word] =
        frame->words[word] & filter->masks[index].words[word];
  }
  return bpf_map_lookup_elem(&rules, &key) != 0;
}

// Whether a rule under one of the first `mask_count` masks is; 1 or 0.
__attribute__((noinline)) int FulfilsARule(const struct FlowFilterWords *frame,
                                           __u32 mask_count) {
  if (frame == 0) return 0;
  for (__u32 i = 0; i < kFilterMasks && i < mask_count; ++i) {
    if (IsTaken(frame, i)) return 1;
  }
  return 0;
}

SEC("xdp")
int weir_flow(struct xdp_md* context) {
  const __u32 zero = 0;
  const struct FlowFilterTable* filter = bpf_map_lookup_elem(&table, &zero);
  if (filter == 0) return XDP_PASS;
  if (filter->takes_all == 0) {
    const __u32 masks = filter->mask_count;
    if (masks == 0) return XDP_PASS;
    union FieldWords frame = {};
    ReadFields(context, &frame.fields);
    if (!FulfilsARule(&frame.all, masks)) return XDP_PASS;
  }
  // XDP_PASS where the queue has no socket.
  return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
}

// Not the GPL's: no helper above asks for it.
char program_license[] SEC("license") = "Apache-2.0";
