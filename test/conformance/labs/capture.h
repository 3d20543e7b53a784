// Capture files in the classic pcap format, written and read without any help
// of what is under test.

#ifndef WEIR_TEST_CONFORMANCE_LABS_CAPTURE_H_
#define WEIR_TEST_CONFORMANCE_LABS_CAPTURE_H_

#include <string>
#include <vector>

#include "test/support/frame.h"

namespace weir::conformance {

// False if the file cannot be written.
bool WriteCapture(const std::string& path, const std::vector<Bytes>& frames);

// The frames of a capture of this machine's byte order; those before the first
// defect.
std::vector<Bytes> ReadCapture(const std::string& path);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_CAPTURE_H_
