#include "collectives/rendezvous/authentication.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace lockstep::collectives::rendezvous {

Digest proof_of(const Secret& secret, Role role, const Nonce& of_rank, const Nonce& of_store) {
  using namespace std::string_view_literals;
  const auto label = role == Role::rank ? "lockstep store 1, rank"sv : "lockstep store 1, store"sv;
  Bytes text;
  std::ranges::copy(std::as_bytes(std::span(label)), std::back_inserter(text));
  std::ranges::copy(of_rank, std::back_inserter(text));
  std::ranges::copy(of_store, std::back_inserter(text));

  Digest digest{};
  unsigned int length = 0;
  if (::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
             reinterpret_cast<unsigned char*>(digest.data()), &length) == nullptr ||
      length != digest.size()) {
    throw SecretError("HMAC-SHA256 failed: OpenSSL offers no SHA-256 here");
  }
  return digest;
}

bool equal(const Digest& a, const Digest& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Nonce random_nonce() {
  return generate_secret();
}

}  // namespace lockstep::collectives::rendezvous
