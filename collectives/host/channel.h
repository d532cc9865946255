// A connection between two processes of one host that carries messages and descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "collectives/host/segment.h"

namespace lockstep::collectives::host {

// Ends the waits of channels from another thread. Thread rule: any.
class Interrupt {
 public:
  Interrupt();
  void raise(std::string_view reason);  // the first reason stays
  [[nodiscard]] int descriptor() const { return event_.get(); }
  [[nodiscard]] std::string reason() const;

 private:
  Descriptor event_;
  mutable std::mutex mutex_;
  std::string reason_;
};

using ChannelTime = std::chrono::steady_clock::time_point;

// Waits until `descriptor` can be read. Errors: CollectiveError at the deadline, naming `whom`, or
// with the interrupt's reason.
void wait_readable(int descriptor, const Interrupt& interrupt, ChannelTime deadline,
                   std::string_view whom);

// Messages up to 64 KiB, each whole, with or without a descriptor. Thread rule: one thread.
// Errors: CollectiveError naming `peer`.
class Channel {
 public:
  Channel(Descriptor socket, std::string peer);

  struct Packet {
    std::string text;
    Descriptor descriptor;
  };
  void send(std::string_view text, int descriptor = -1);
  // For last words: a peer that is gone does not matter.
  void try_send(std::string_view text) noexcept;
  [[nodiscard]] Packet receive(const Interrupt& interrupt, ChannelTime deadline);

  void set_peer(std::string peer) { peer_ = std::move(peer); }
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  Descriptor socket_;
  std::string peer_;
};

// A listening socket in the abstract name space: it vanishes with its last descriptor.
class Listener {
 public:
  Listener();  // under a random name
  [[nodiscard]] const std::string& name() const { return name_; }
  // The next connection of a process of this user; those of others are closed.
  [[nodiscard]] Descriptor accept(const Interrupt& interrupt, ChannelTime deadline,
                                  std::string_view whom);

 private:
  Descriptor socket_;
  std::string name_;
};

[[nodiscard]] Descriptor connect_to(const std::string& name);

// 32 hexadecimal digits that nobody can guess.
[[nodiscard]] std::string random_word();

}  // namespace lockstep::collectives::host
