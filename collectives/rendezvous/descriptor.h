// A file descriptor that is closed with its owner.
#pragma once

#include <utility>

#include "engine/device/visibility.h"

namespace lockstep::collectives::rendezvous {

class LOCKSTEP_API Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor old(std::exchange(number_, std::exchange(other.number_, -1)));
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace lockstep::collectives::rendezvous
