#include "weir/hca/backend/xdp/flow_filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <span>

#include "weir/base/errno_status.h"
#include "weir/hca/backend/xdp/flow_filter_object.h"
#include "weir/hca/backend/xdp/xdp_rights.h"
#include "weir/hca/capability.h"

namespace weir::hca {
namespace {

// The program reads the first fields of FlowFields, at the same places.
static_assert(offsetof(FlowFields, ethernet) == 0);
static_assert(offsetof(FlowFields, ipv6) == 16);
static_assert(offsetof(FlowFields, ipv4) == 56);
static_assert(offsetof(FlowFields, ports) == 68);
static_assert(offsetof(FlowFields, headers) == 72);
static_assert(kFlowWords >= kFilterWords);

// Errors are told by return values.
int PrintNothing(libbpf_print_level /*level*/, const char* /*format*/,
                 va_list /*arguments*/) {
  return 0;
}

bool IsZero(std::span<const uint64_t> words) noexcept {
  return std::ranges::all_of(words, [](uint64_t word) { return word == 0; });
}

absl::Status LoadError(int error, absl::string_view object) {
  // Without CAP_PERFMON the kernel also looks at what a CPU may speculate,
  // which is too much of it ("The sequence of 8193 jumps is too complex":
  // EFAULT).
  const bool may_load =
      error != EPERM && (HasCapability(Capability::kPerfmon) ||
                         HasCapability(Capability::kSysAdmin));
  const absl::string_view remedy =
      may_load ? "needs Linux 5.13 or later" : kXdpRights;
  return ErrnoStatus(
      error,
      {.object = object, .call = "loading the XDP program", .remedy = remedy});
}

}  // namespace

void FlowFilter::CloseObject::operator()(bpf_object* object) const noexcept {
  bpf_object__close(object);
}

FlowFilter::FlowFilter(bpf_object* object)
    : object_(object),
      program_fd_(bpf_program__fd(
          bpf_object__find_program_by_name(object, "weir_flow"))),
      table_fd_(bpf_object__find_map_fd_by_name(object, "table")),
      rules_fd_(bpf_object__find_map_fd_by_name(object, "rules")),
      sockets_fd_(bpf_object__find_map_fd_by_name(object, "sockets")) {}

absl::StatusOr<FlowFilter> FlowFilter::Load(const Options& options,
                                            absl::string_view object) {
  libbpf_set_print(PrintNothing);
  const std::span<const std::byte> code = FlowFilterObject();
  std::unique_ptr<bpf_object, CloseObject> opened(
      bpf_object__open_mem(code.data(), code.size(), nullptr));
  if (opened == nullptr) return LoadError(errno, object);
  bpf_map* sockets = bpf_object__find_map_by_name(opened.get(), "sockets");
  bpf_map__set_max_entries(sockets, options.queues);
  if (options.jumbo) {
    bpf_program* program =
        bpf_object__find_program_by_name(opened.get(), "weir_flow");
    bpf_program__set_flags(program, BPF_F_XDP_HAS_FRAGS);
  }
  const int error = bpf_object__load(opened.get());
  if (error != 0) return LoadError(-error, object);
  return FlowFilter(opened.release());
}

absl::Status FlowFilter::SetSocket(uint32_t queue, int fd,
                                   absl::string_view object) {
  const int error = bpf_map_update_elem(sockets_fd_, &queue, &fd, BPF_ANY);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(-error,
                     {.object = object, .call = "filling the socket map"});
}

int FlowFilter::Add(const FlowMatch& match) {
  const std::span<const uint64_t> beyond =
      std::span(match.mask).subspan(kFilterWords);
  if (!IsZero(beyond)) return EOPNOTSUPP;
  if (match.takes_all()) {
    ++table_.takes_all;
    const int error = StoreTable();
    if (error != 0) --table_.takes_all;
    return error;
  }
  Words mask{};
  Words value{};
  std::copy_n(match.mask.begin(), kFilterWords, mask.begin());
  std::copy_n(match.value.begin(), kFilterWords, value.begin());
  MaskSlot* slot = FindMask(mask);
  if (slot == nullptr) {
    if (const int error = TakeMask(mask, slot); error != 0) return error;
  }
  // A slot without values counts as free, also if there is no memory for this.
  const auto [at, is_new] = slot->values.try_emplace(value, 0);
  if (is_new) {
    const FlowFilterKey key = KeyOf(*slot, value);
    const uint32_t present = 1;
    const int error = bpf_map_update_elem(rules_fd_, &key, &present, BPF_ANY);
    if (error != 0) {
      slot->values.erase(at);
      // The map says E2BIG when it is full.
      return error == -E2BIG ? ENOMEM : -error;
    }
  }
  ++at->second;
  return 0;
}

void FlowFilter::Remove(const FlowMatch& match) noexcept {
  if (match.takes_all()) {
    if (table_.takes_all == 0) return;
    --table_.takes_all;
    StoreTable();
    return;
  }
  Words mask{};
  Words value{};
  std::copy_n(match.mask.begin(), kFilterWords, mask.begin());
  std::copy_n(match.value.begin(), kFilterWords, value.begin());
  MaskSlot* slot = FindMask(mask);
  if (slot == nullptr) return;
  const auto known = slot->values.find(value);
  if (known == slot->values.end() || --known->second > 0) return;
  const FlowFilterKey key = KeyOf(*slot, value);
  bpf_map_delete_elem(rules_fd_, &key);
  slot->values.erase(known);
  while (table_.mask_count > 0 &&
         slots_[table_.mask_count - 1].values.empty()) {
    --table_.mask_count;
  }
  StoreTable();
}

// The slot in use that has `mask`, else null.
FlowFilter::MaskSlot* FlowFilter::FindMask(const Words& mask) noexcept {
  const auto found =
      std::ranges::find_if(slots_, [&mask](const MaskSlot& slot) {
        return !slot.values.empty() && slot.mask == mask;
      });
  return found == slots_.end() ? nullptr : &*found;
}

// Gives `mask` a slot. The program meets it before it has values, which is
// harmless: nothing is found under it.
int FlowFilter::TakeMask(const Words& mask, MaskSlot*& slot) noexcept {
  const auto free = std::ranges::find_if(
      slots_, [](const MaskSlot& each) { return each.values.empty(); });
  if (free == slots_.end()) return ENOMEM;
  const auto index = static_cast<uint32_t>(free - slots_.begin());
  free->mask = mask;
  std::ranges::copy(mask, table_.masks[index].words);
  table_.mask_count = std::max(table_.mask_count, index + 1);
  slot = &*free;
  return StoreTable();
}

FlowFilterKey FlowFilter::KeyOf(const MaskSlot& slot,
                                const Words& value) const noexcept {
  FlowFilterKey key{};
  key.mask_index = static_cast<uint64_t>(&slot - slots_.data());
  std::ranges::copy(value, key.value.words);
  return key;
}

int FlowFilter::StoreTable() noexcept {
  const uint32_t zero = 0;
  return -bpf_map_update_elem(table_fd_, &zero, &table_, BPF_ANY);
}

}  // namespace weir::hca
