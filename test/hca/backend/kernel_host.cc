#include "test/hca/backend/kernel_host.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "gtest/gtest.h"

namespace weir::hca {
namespace {

// Root outside is root inside; without a map nobody is.
bool MapToRoot(uid_t uid, gid_t gid) {
  const auto write = [](const char* path, const std::string& text) {
    std::ofstream file(path);
    return bool{file << text << std::flush};
  };
  return write("/proc/self/setgroups", "deny") &&
         write("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
         write("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
}

}  // namespace

std::string EnterNewNetwork() {
  if (unshare(CLONE_NEWNET) == 0) return {};
  if (errno != EPERM) return std::strerror(errno);
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !MapToRoot(uid, gid)) {
    return std::string("neither root nor a user namespace: ") +
           std::strerror(errno);
  }
  return {};
}

void Shell(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 256> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    output += line.data();
  }
  EXPECT_EQ(pclose(pipe), 0) << command << ": " << output;
}

KernelHost::KernelHost(std::string outside, std::string inside)
    : outside_(std::move(outside)),
      inside_(std::move(inside)),
      thread_([this] { Loop(); }) {
  Run([this] {
    ASSERT_EQ(unshare(CLONE_NEWNET), 0) << std::strerror(errno);
    Shell("ip link set lo up");
    thread_id_ = gettid();
  });
  Shell("ip link add " + outside_ + " type veth peer name " + inside_);
  Shell("ip link set " + inside_ + " netns " + std::to_string(thread_id_));
  Shell("ip link set " + outside_ + " addrgenmode none up");
  Run([this] { Shell("ip link set " + inside_ + " addrgenmode none up"); });
}

KernelHost::~KernelHost() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_; });
    stopped_ = true;
  }
  changed_.notify_all();
  // The namespace goes with its last thread, and the veth pair with it, but
  // later than join returns; tests use one name after the other.
  thread_.join();
  if (std::system(("ip link del " + outside_ + " 2>/dev/null").c_str()) != 0) {
    return;
  }
}

void KernelHost::Run(const std::function<void()>& work) {
  Start(work);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
}

void KernelHost::Start(std::function<void()> work) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_; });
    work_ = std::move(work);
  }
  changed_.notify_all();
}

void KernelHost::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || stopped_; });
    if (stopped_) return;
    const std::function<void()> work = work_;
    lock.unlock();
    work();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace weir::hca
