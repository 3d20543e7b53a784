#include "test/conformance/flow_request.h"

#include <arpa/inet.h>

#include "gtest/gtest.h"

namespace weir::conformance {
namespace {

// `bits` ones and zeros behind them.
void PutMask(void* to, size_t bytes, unsigned bits) {
  auto* each = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < bytes; ++i) {
    const unsigned here = std::min(bits, 8u);
    each[i] = static_cast<uint8_t>(0xff00u >> here);
    bits -= here;
  }
}

void PutAddress(int family, const std::string& text, void* to) {
  EXPECT_EQ(inet_pton(family, text.c_str(), to), 1) << text;
}

ibv_flow_spec_tcp_udp PortSpec(ibv_flow_spec_type type,
                               const PortMatch& match) {
  ibv_flow_spec_tcp_udp spec{};
  spec.type = type;
  spec.size = sizeof(spec);
  if (match.from.has_value()) {
    spec.val.src_port = htons(*match.from);
    spec.mask.src_port = 0xffff;
  }
  if (match.to.has_value()) {
    spec.val.dst_port = htons(*match.to);
    spec.mask.dst_port = 0xffff;
  }
  return spec;
}

}  // namespace

FlowRequest::FlowRequest(ibv_flow_attr_type type)
    : block_(sizeof(ibv_flow_attr)) {
  Edit([type](ibv_flow_attr& attr) {
    attr.type = type;
    attr.size = sizeof(attr);
    attr.port = 1;
  });
}

// The header is not aligned as a struct wants it: a copy, changed and put back.
template <typename Change>
FlowRequest& FlowRequest::Edit(Change change) {
  ibv_flow_attr attr;
  std::memcpy(&attr, block_.data(), sizeof(attr));
  change(attr);
  std::memcpy(block_.data(), &attr, sizeof(attr));
  return *this;
}

FlowRequest& FlowRequest::CountSpec() {
  return Edit([this](ibv_flow_attr& attr) {
    ++attr.num_of_specs;
    attr.size = static_cast<uint16_t>(block_.size());
  });
}

FlowRequest& FlowRequest::Priority(uint16_t priority) {
  return Edit([=](ibv_flow_attr& attr) { attr.priority = priority; });
}

FlowRequest& FlowRequest::Flags(uint32_t flags) {
  return Edit([=](ibv_flow_attr& attr) { attr.flags = flags; });
}

FlowRequest& FlowRequest::Port(uint8_t port) {
  return Edit([=](ibv_flow_attr& attr) { attr.port = port; });
}

FlowRequest& FlowRequest::Eth(const EthMatch& match) {
  ibv_flow_spec_eth spec{};
  spec.type = IBV_FLOW_SPEC_ETH;
  spec.size = sizeof(spec);
  if (match.to.has_value()) {
    std::memcpy(spec.val.dst_mac, match.to->octets.data(), 6);
    std::memcpy(spec.mask.dst_mac, match.to_mask.octets.data(), 6);
  }
  if (match.from.has_value()) {
    std::memcpy(spec.val.src_mac, match.from->octets.data(), 6);
    std::memset(spec.mask.src_mac, 0xff, 6);
  }
  if (match.type.has_value()) {
    spec.val.ether_type = htons(*match.type);
    spec.mask.ether_type = 0xffff;
  }
  if (match.tci.has_value()) {
    spec.val.vlan_tag = htons(*match.tci);
    spec.mask.vlan_tag = htons(match.tci_mask);
  }
  return Add(spec);
}

FlowRequest& FlowRequest::Ipv4(const IpMatch& match) {
  ibv_flow_spec_ipv4 spec{};
  spec.type = IBV_FLOW_SPEC_IPV4;
  spec.size = sizeof(spec);
  const unsigned prefix = std::min(match.prefix, 32u);
  if (!match.from.empty()) {
    PutAddress(AF_INET, match.from, &spec.val.src_ip);
    PutMask(&spec.mask.src_ip, 4, prefix);
  }
  if (!match.to.empty()) {
    PutAddress(AF_INET, match.to, &spec.val.dst_ip);
    PutMask(&spec.mask.dst_ip, 4, prefix);
  }
  return Add(spec);
}

FlowRequest& FlowRequest::Ipv6(const IpMatch& match) {
  ibv_flow_spec_ipv6 spec{};
  spec.type = IBV_FLOW_SPEC_IPV6;
  spec.size = sizeof(spec);
  if (!match.from.empty()) {
    PutAddress(AF_INET6, match.from, spec.val.src_ip);
    PutMask(spec.mask.src_ip, 16, match.prefix);
  }
  if (!match.to.empty()) {
    PutAddress(AF_INET6, match.to, spec.val.dst_ip);
    PutMask(spec.mask.dst_ip, 16, match.prefix);
  }
  return Add(spec);
}

FlowRequest& FlowRequest::Udp(const PortMatch& match) {
  return Add(PortSpec(IBV_FLOW_SPEC_UDP, match));
}

FlowRequest& FlowRequest::Tcp(const PortMatch& match) {
  return Add(PortSpec(IBV_FLOW_SPEC_TCP, match));
}

ibv_flow* FlowRequest::Create(ibv_qp* qp) const {
  // Aligned, and of exactly its size, so that a sanitizer sees who reads on.
  std::vector<uint64_t> aligned((block_.size() + 7) / 8);
  const size_t lead = aligned.size() * 8 - block_.size();
  auto* at = reinterpret_cast<std::byte*>(aligned.data()) + (lead & ~size_t{3});
  std::memcpy(at, block_.data(), block_.size());
  return ibv_create_flow(qp, reinterpret_cast<ibv_flow_attr*>(at));
}

FlowRequest TakeAll() { return FlowRequest().Eth(); }

FlowRequest TakeTo(const net::MacAddress& mac) {
  return FlowRequest().Eth({.to = mac});
}

}  // namespace weir::conformance
