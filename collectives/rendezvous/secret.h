// The job's secret: what a process must know to take part. It travels by an inherited descriptor,
// never as an argument, in the environment or in a log.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>

#include "collectives/rendezvous/descriptor.h"
#include "engine/device/visibility.h"

namespace lockstep::collectives::rendezvous {

using Secret = std::array<std::byte, 32>;

class LOCKSTEP_API SecretError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// 32 random bytes. Errors: SecretError.
[[nodiscard]] LOCKSTEP_API Secret generate_secret();

// A sealed memfd that holds the secret, for children to inherit: any number of them can read it. It
// is closed on exec; the child's set-up clears that, and says its number in LOCKSTEP_SECRET_FD.
[[nodiscard]] LOCKSTEP_API Descriptor descriptor_of(const Secret& secret);

// Errors: SecretError where the descriptor is not open or holds anything but 32 bytes.
[[nodiscard]] LOCKSTEP_API Secret read_secret(int descriptor);

// From the descriptor named by LOCKSTEP_SECRET_FD, which from then on is not inherited further.
// Errors: SecretError where the variable is not set or the descriptor is wrong.
[[nodiscard]] LOCKSTEP_API Secret secret_from_environment();

}  // namespace lockstep::collectives::rendezvous
