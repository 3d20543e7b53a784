// Digests of packets, so that a result can say what was delivered without
// holding it.

#ifndef APPS_INSPECT_SHA256_H_
#define APPS_INSPECT_SHA256_H_

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace weir::inspect {

using Digest = std::array<unsigned char, 32>;

// SHA-256 of bytes given piece by piece. Movable.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void Add(std::span<const std::byte> bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  }

  // Of what was added since the last call, or since the beginning.
  Digest Finish() {
    Digest digest;
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace weir::inspect

#endif  // APPS_INSPECT_SHA256_H_
