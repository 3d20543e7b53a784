// File descriptors of a library in a program whose standard streams may be
// closed.

#ifndef WEIR_BASE_DESCRIPTOR_H_
#define WEIR_BASE_DESCRIPTOR_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace weir {

// `fd`, or if that is one of the standard streams, which the program had
// closed, another descriptor of the same file instead of it: what the program
// prints must not get into the file. -1 with errno if there is none, and for a
// negative `fd`. Close-on-exec is set on the other one. Any thread.
inline int AboveStdio(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return above;
}

}  // namespace weir

#endif  // WEIR_BASE_DESCRIPTOR_H_
