#include "collectives/rendezvous/descriptor.h"

#include <unistd.h>

namespace lockstep::collectives::rendezvous {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

}  // namespace lockstep::collectives::rendezvous
