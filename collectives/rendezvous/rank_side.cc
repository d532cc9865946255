#include "collectives/rendezvous/rank_side.h"

#include <utility>

#include "collectives/rendezvous/authentication.h"

namespace lockstep::collectives::rendezvous {

RankSide::RankSide(Identity identity, const Nonce& nonce)
    : identity_(std::move(identity)), of_rank_(nonce) {}

Bytes RankSide::begin() const {
  return encode(Hello{of_rank_});
}

RankSide::Received RankSide::received(std::span<const std::byte> bytes) {
  Received result;
  parser_.append(bytes);
  while (const auto frame = parser_.next()) {
    Message message = decode(*frame);
    if (stage_ == Stage::open) {
      result.messages.push_back(std::move(message));
    } else if (const auto* challenge = std::get_if<Challenge>(&message);
               challenge != nullptr && stage_ == Stage::challenge) {
      of_store_ = challenge->nonce;
      stage_ = Stage::welcome;
      result.reply = encode(Proof{proof_of(identity_.secret, Role::rank, of_rank_, of_store_)});
    } else if (const auto* welcome = std::get_if<Welcome>(&message);
               welcome != nullptr && stage_ == Stage::welcome) {
      if (!equal(welcome->digest, proof_of(identity_.secret, Role::store, of_rank_, of_store_))) {
        throw SecretError("what answers at the store's address does not know the job's secret");
      }
      stage_ = Stage::open;
      parser_.set_limit(kFrameLimit);
      result.reply = encode(identity_.join);
    } else {
      throw ProtocolError("a message out of turn");
    }
  }
  return result;
}

}  // namespace lockstep::collectives::rendezvous
