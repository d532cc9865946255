#include "launcher/store_host.h"

#include <sys/random.h>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {

StoreHost::StoreHost() : secret_(32, '\0') {
  checked(::getrandom(secret_.data(), secret_.size(), 0), "getrandom");
}

}  // namespace lockstep::launcher
