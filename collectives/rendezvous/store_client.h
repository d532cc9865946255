// A worker's connection to the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "collectives/rendezvous/secret.h"
#include "engine/device/visibility.h"

namespace lockstep::collectives::rendezvous {

// The store refused or could not do something, was lost, or said that the job is over. The message
// names the ranks.
class LOCKSTEP_API StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct StoreClientOptions {
  std::string address{};  // "127.0.0.1:41234", "node1:41234", "[::1]:41234"
  Secret secret{};
  int rank = 0;
  int world = 1;
  std::uint64_t generation = 0;
  std::string host{};  // in messages; empty: this machine's name
  // For connecting and joining, and for answers that wait for nobody.
  std::chrono::milliseconds answer_time{30'000};
};

// LOCKSTEP_STORE, LOCKSTEP_RANK, LOCKSTEP_WORLD, LOCKSTEP_GENERATION and LOCKSTEP_SECRET_FD;
// nothing where LOCKSTEP_STORE is not set. Errors: StoreError or SecretError naming the variable
// that is wrong or missing.
[[nodiscard]] LOCKSTEP_API std::optional<StoreClientOptions> store_options_from_environment();

// Thread rule: any thread. Must not be destroyed from an abort callback.
class LOCKSTEP_API StoreClient {
 public:
  // Connects, authenticates both sides and joins. Errors: StoreError.
  explicit StoreClient(StoreClientOptions options);
  // Without leave() this is, to the others, the death of this rank.
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int world() const;
  [[nodiscard]] const std::string& host() const;

  // All throw StoreError; after an abort, with its reason.

  // Names up to 1024 bytes; values up to about 1 MiB. A later value replaces an earlier one.
  void set(std::string_view key, std::string_view value);
  // Waits until the key has been set.
  [[nodiscard]] std::string get(std::string_view key, std::chrono::milliseconds deadline);
  // Returns when all ranks have called it. The error names those that have not.
  void barrier(std::string_view name, std::chrono::milliseconds deadline);

  // The clean end of this rank's part. Nothing else may be called afterwards; the callbacks are
  // silent.
  void leave();

  // Tells all other ranks that the job is over. The first reason stays.
  void abort(std::string_view reason);

  // Calls `callback` with the reason, from the client's own thread, as soon as a rank dies or
  // aborts or the store is lost; at once, from this thread, when that has already happened. Any
  // number can be added; each is called once. It must not throw.
  void on_abort(std::function<void(std::string_view)> callback);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace lockstep::collectives::rendezvous
