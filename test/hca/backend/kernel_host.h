// A host with the kernel's own network stack, for backends to talk to: a thread
// in a network namespace of its own, joined to this one by a veth pair.

#ifndef WEIR_TEST_HCA_BACKEND_KERNEL_HOST_H_
#define WEIR_TEST_HCA_BACKEND_KERNEL_HOST_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weir::hca {

// Puts the calling thread, and with it all that it starts, into a new network
// namespace: as root at once, else by a user namespace, for which the process
// must have one thread. Returns why it cannot, empty if it could.
std::string EnterNewNetwork();

// Runs a shell command in the namespace of the calling thread; a test failure
// with its output unless it exits with 0.
void Shell(const std::string& command);

class KernelHost {
 public:
  // Makes the veth pair `outside` (here) and `inside` (the host's), both up,
  // without IPv6 autoconfiguration, so that nothing is sent unasked.
  KernelHost(std::string outside, std::string inside);
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;
  ~KernelHost();

  // Runs `work` in the host's namespace and waits for it.
  void Run(const std::function<void()>& work);
  // Starts `work` there; the next Run waits for it.
  void Start(std::function<void()> work);

  const std::string& inside() const { return inside_; }
  // Of the thread whose namespace it is.
  int thread_id() const { return thread_id_; }

 private:
  void Loop();

  std::string outside_;
  std::string inside_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool stopped_ = false;
  int thread_id_ = 0;
  std::thread thread_;
};

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_BACKEND_KERNEL_HOST_H_
