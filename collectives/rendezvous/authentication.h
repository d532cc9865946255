// How both ends of a connection show that they know the job's secret, without showing it.
#pragma once

#include <cstdint>

#include "collectives/rendezvous/message.h"
#include "collectives/rendezvous/secret.h"

namespace lockstep::collectives::rendezvous {

enum class Role : std::uint8_t { rank, store };

// HMAC-SHA256 under the secret of the role and both nonces. With both nonces in it, neither an old
// proof nor the other side's own can be played back. Errors: SecretError.
[[nodiscard]] Digest proof_of(const Secret& secret, Role role, const Nonce& of_rank,
                              const Nonce& of_store);

// In a time that does not depend on the bytes.
[[nodiscard]] bool equal(const Digest& a, const Digest& b);

[[nodiscard]] Nonce random_nonce();

}  // namespace lockstep::collectives::rendezvous
