#include "apps/mcast/proxy.h"

#include <utility>
#include <variant>

#include "weir/net/group_address.h"

namespace weir::mcast {
namespace {

// Between two tries to have what was refused.
constexpr std::chrono::seconds kRefusedAgain(1);

}  // namespace

Proxy::Proxy(std::shared_ptr<PortGroups> upstream, ProxyGroups groups)
    : upstream_(std::move(upstream)),
      allowed_(std::move(groups.allowed)),
      always_(groups.always.begin(), groups.always.end()) {}

absl::StatusOr<std::unique_ptr<Proxy>> Proxy::Create(
    std::shared_ptr<PortGroups> upstream, ProxyGroups groups) {
  std::unique_ptr<Proxy> proxy(
      new Proxy(std::move(upstream), std::move(groups)));
  for (const net::IpAddress& group : proxy->always_) {
    absl::Status joined = proxy->Sync(group);
    if (!joined.ok()) return joined;
  }
  return proxy;
}

void Proxy::Follow(const net::IpAddress& group, bool is_gone,
                   GroupInterest interest) {
  // Nothing comes from a group; who names one has no say in what else is
  // wanted.
  std::erase_if(interest.sources, [](const net::IpAddress& source) {
    return std::visit([](const auto& a) { return net::IsGroup(a); }, source);
  });
  const bool has_members = !is_gone && (interest.mode == FilterMode::kExclude ||
                                        !interest.sources.empty());
  const bool stays =
      std::visit([](const auto& a) { return net::IsLinkLocalGroup(a); }, group);
  if (stays || !allowed_.Allow(group)) {
    ++(stays ? of_link_ : not_allowed_);
    if (has_members) {
      kept_.insert(group);
    } else {
      kept_.erase(group);
    }
    return;
  }
  if (has_members) {
    members_[group] = std::move(interest);
  } else {
    members_.erase(group);
  }
  TrySync(group);
}

void Proxy::Retry() {
  for (const net::IpAddress& group : std::exchange(late_, {})) TrySync(group);
  const auto now = std::chrono::steady_clock::now();
  if (refused_.empty() || now < again_) return;
  again_ = now + kRefusedAgain;
  const std::set<net::IpAddress> refused = refused_;
  for (const net::IpAddress& group : refused) TrySync(group);
}

void Proxy::TrySync(const net::IpAddress& group) {
  const absl::Status synced = Sync(group);
  late_.erase(group);
  if (synced.ok()) {
    refused_.erase(group);
    return;
  }
  if (absl::IsUnavailable(synced)) {
    late_.insert(group);
    return;
  }
  if (!refused_.insert(group).second) return;
  ++failed_;
  last_error_ = std::string(synced.message());
}

// RFC 3376 §3.2: who always wants all of a group wants what members want too.
absl::Status Proxy::Sync(const net::IpAddress& group) {
  if (always_.contains(group)) {
    if (upstream_->joined().contains(group)) return absl::OkStatus();
    return upstream_->Join(group);
  }
  const auto member = members_.find(group);
  if (member != members_.end()) {
    return upstream_->Join(group, member->second);
  }
  if (!upstream_->joined().contains(group)) return absl::OkStatus();
  return upstream_->Leave(group);
}

}  // namespace weir::mcast
