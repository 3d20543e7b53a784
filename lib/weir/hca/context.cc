#include "weir/hca/context.h"

#include <pthread.h>
#include <sys/types.h>

#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "weir/base/errno_status.h"
#include "weir/hca/attributes.h"
#include "weir/hca/limits.h"
#include "weir/hca/pinned_memory.h"
#include "weir/hca/protection_domain.h"
#include "weir/hca/refuse.h"
#include "weir/hca/rollback.h"

namespace weir::hca {
namespace {

PinnedMemory& Pinned();

PinnedMemory* MakePinned() {
  auto pinned = std::make_unique<PinnedMemory>();
  // A child must not find it locked by a thread that it does not have.
  const int guarded =
      pthread_atfork([] { Pinned().lock(); }, [] { Pinned().unlock(); },
                     [] { Pinned().unlock(); });
  if (guarded != 0) throw std::bad_alloc();
  return pinned.release();
}

// The registered memory of all devices: the limit is one of the process.
PinnedMemory& Pinned() {
  static auto* const pinned = MakePinned();
  return *pinned;
}

int ReasonOf(const absl::Status& status) {
  if (const auto number = ErrnoOf(status); number.has_value()) return *number;
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return ENOENT;
    case absl::StatusCode::kPermissionDenied:
      return EPERM;
    case absl::StatusCode::kResourceExhausted:
      return ENOMEM;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return EBUSY;
    case absl::StatusCode::kInvalidArgument:
      return EINVAL;
    default:
      return EIO;
  }
}

}  // namespace

Context* Context::Open(Device& device) {
  return IfMemory<Context*>([&device] { return OpenOrThrow(device); }, nullptr);
}

Context* Context::OpenOrThrow(Device& device) {
  auto port = device.OpenPort();
  if (!port.ok()) return Refuse<Context>(ReasonOf(port.status()));
  Rollback close([&device] { device.ClosePort(); });
  auto* opened = new Context(device, *std::move(port));
  close.Keep();
  if (opened->events_.fd() >= 0) return opened;
  const int error = errno;
  device.ExplainFailure(error, "epoll");
  opened->Close();
  return Refuse<Context>(error);
}

Context::Context(Device& device, std::shared_ptr<Port> port)
    : device_(device), port_(std::move(port)), regions_(Pinned()) {
  sz = sizeof(verbs_context);
  context.device = &device;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.cmd_fd = -1;
  context.async_fd = events_.fd();
  context.num_comp_vectors = kCompVectors;
  pthread_mutex_init(&context.mutex, nullptr);
  FillOperations();
  FillFlowOperations();
  port_->AddListener(events_);
}

Context::~Context() { pthread_mutex_destroy(&context.mutex); }

int Context::Close() {
  if (IsInherited()) return 0;
  closed_ = true;
  port_->RemoveListener(events_);
  port_->Abandon(&context);
  device_.ClosePort();
  Unref();
  return 0;
}

int Context::TakeAsyncEvent(ibv_async_event& event) {
  for (;;) {
    // An overrun that was told of has consequences.
    port_->FollowFailures();
    if (events_.Take(event)) return 0;
    if (events_.Wait() != 0) return -1;
    port_->CheckLink();
  }
}

void Context::Unref() {
  if (--references_ == 0) delete this;
}

bool Context::Count(std::atomic<uint32_t>& objects, uint32_t limit) {
  if (++objects > limit) {
    --objects;
    return false;
  }
  ++references_;
  return true;
}

void Context::Uncount(std::atomic<uint32_t>& objects) {
  --objects;
  Unref();
}

ibv_pd* Context::AllocPd() {
  if (gone()) return Refuse<ibv_pd>(EIO);
  if (!Count(pds_, kMaxPd)) return Refuse<ibv_pd>(ENOMEM);
  auto* pd = TryNew<ProtectionDomain>();
  if (pd == nullptr) {
    Uncount(pds_);
    return nullptr;
  }
  pd->context = &context;
  return pd;
}

int Context::DeallocPd(ibv_pd* pd) {
  if (IsInherited()) return 0;
  if (ProtectionDomain::Of(pd).users != 0) return EBUSY;
  delete &ProtectionDomain::Of(pd);
  Uncount(pds_);
  return 0;
}

ibv_mr* Context::RegisterMr(ibv_pd* pd, const MrView& range, unsigned access) {
  if (gone()) return Refuse<ibv_mr>(EIO);
  MemoryRegion* const region = IfMemory<MemoryRegion*>(
      [&] { return regions_.Register(pd, range, access); }, nullptr);
  if (region == nullptr) return nullptr;
  ++ProtectionDomain::Of(pd).users;
  ++references_;
  return region;
}

int Context::ReregisterMr(ibv_mr* mr, int flags, ibv_pd* pd,
                          const MrView& range, unsigned access) {
  auto* region = static_cast<MemoryRegion*>(mr);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 ||
      (changes_pd && (pd == nullptr || pd->context != &context)) ||
      (!changes_access && access != 0)) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  // The library lets this through; kernels do not.
  if (flags == 0) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_CMD;
  }
  if (gone()) {
    errno = EIO;
    return IBV_REREG_MR_ERR_CMD;
  }
  ibv_pd* const old_pd = mr->pd;
  ibv_pd* const new_pd = changes_pd ? pd : old_pd;
  const MrView to = moves
                        ? range
                        : MrView{.iova = region->iova,
                                 .length_bytes = mr->length,
                                 .address = static_cast<std::byte*>(mr->addr)};
  ++ProtectionDomain::Of(new_pd).users;
  errno = IfMemory<int>(
      [&] {
        return regions_.Reregister(region, new_pd, to,
                                   changes_access ? access : region->access);
      },
      ENOMEM);
  const bool done = errno == 0;
  if (done) port_->Quiesce();
  --ProtectionDomain::Of(done ? old_pd : new_pd).users;
  return done ? 0 : IBV_REREG_MR_ERR_CMD;
}

int Context::DeregisterMr(ibv_mr* mr) {
  if (IsInherited()) return 0;
  --ProtectionDomain::Of(mr->pd).users;
  regions_.Deregister(static_cast<MemoryRegion*>(mr));
  port_->Quiesce();
  Unref();
  return 0;
}

ibv_comp_channel* Context::CreateChannel() {
  if (gone()) return Refuse<ibv_comp_channel>(EIO);
  auto channel = IfMemory<std::unique_ptr<CompChannel>>(
      [&] { return CompChannel::Create(&context, *port_); }, nullptr);
  if (channel == nullptr) return nullptr;
  ++references_;
  return channel.release();
}

int Context::DestroyChannel(ibv_comp_channel* channel) {
  if (IsInherited()) return 0;
  auto* whole = static_cast<CompChannel*>(channel);
  if (whole->in_use()) return EBUSY;
  delete whole;
  Unref();
  return 0;
}

}  // namespace weir::hca
