#include "collectives/rendezvous/secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace lockstep::collectives::rendezvous {
namespace {

constexpr const char* kVariable = "LOCKSTEP_SECRET_FD";

[[noreturn]] void fail(std::string_view call) {
  throw SecretError(fmt::format("the job's secret: {} failed: {}", call, std::strerror(errno)));
}

}  // namespace

Secret generate_secret() {
  Secret secret;
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                   static_cast<int>(secret.size())) != 1) {
    throw SecretError("the job's secret: RAND_bytes failed: the system gives no random numbers");
  }
  return secret;
}

Descriptor descriptor_of(const Secret& secret) {
  Descriptor descriptor(::memfd_create("lockstep:secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) fail("memfd_create");
  if (::pwrite(descriptor.get(), secret.data(), secret.size(), 0) !=
      static_cast<ssize_t>(secret.size())) {
    fail("pwrite");
  }
  if (::fcntl(descriptor.get(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail("fcntl(F_ADD_SEALS)");
  }
  return descriptor;
}

Secret read_secret(int descriptor) {
  // One byte more than expected, so that a longer file shows. pread, because the position is shared
  // with all that inherited the descriptor.
  std::array<std::byte, sizeof(Secret) + 1> bytes{};
  const ssize_t n = ::pread(descriptor, bytes.data(), bytes.size(), 0);
  if (n < 0) {
    throw SecretError(fmt::format(
        "the job's secret cannot be read from descriptor {}: {}; it must be inherited open",
        descriptor, std::strerror(errno)));
  }
  if (n != static_cast<ssize_t>(sizeof(Secret))) {
    throw SecretError(fmt::format("the job's secret in descriptor {} has {}{} bytes, expected {}",
                                  descriptor, n > 32 ? "more than " : "", n > 32 ? 32 : n,
                                  sizeof(Secret)));
  }
  Secret secret;
  std::memcpy(secret.data(), bytes.data(), secret.size());
  return secret;
}

Secret secret_from_environment() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) {
    throw SecretError(fmt::format(
        "{} is not set: a worker is started by lockstep launch, which gives it the job's secret",
        kVariable));
  }
  const std::string_view digits(text);
  int descriptor = -1;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), descriptor);
  if (error != std::errc() || end != digits.data() + digits.size() || descriptor < 0) {
    throw SecretError(fmt::format("{}={}: expected the number of a descriptor", kVariable, digits));
  }
  const Secret secret = read_secret(descriptor);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return secret;
}

}  // namespace lockstep::collectives::rendezvous
