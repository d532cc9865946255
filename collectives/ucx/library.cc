#include "collectives/ucx/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "collectives/communicator.h"

namespace lockstep::collectives::ucx {
namespace {

constexpr const char* kFile = "libucp.so.0";

template <typename Function>
void find(void* opened, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(opened, name));
  if (function == nullptr) {
    throw CollectiveError(fmt::format("{} has no {}: UCX 1.13 or newer is needed", kFile, name));
  }
}

Library open_library() {
  // Read when the library is loaded.
  ::setenv("UCX_HANDLE_ERRORS", "none", 0);
  ::setenv("UCX_DEBUG_SIGNO", "0", 0);
  ::setenv("UCX_MEM_EVENTS", "no", 0);
  void* const opened = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    throw CollectiveError(fmt::format(
        "sums between hosts need UCX, which cannot be opened: {} (Debian: libucx0)", ::dlerror()));
  }
  Library library;
  find(opened, "ucp_config_read", library.config_read);
  find(opened, "ucp_config_modify", library.config_modify);
  find(opened, "ucp_config_release", library.config_release);
  find(opened, "ucp_init_version", library.init_version);
  find(opened, "ucp_cleanup", library.cleanup);
  find(opened, "ucp_worker_create", library.worker_create);
  find(opened, "ucp_worker_destroy", library.worker_destroy);
  find(opened, "ucp_worker_get_efd", library.worker_get_efd);
  find(opened, "ucp_worker_get_address", library.worker_get_address);
  find(opened, "ucp_worker_release_address", library.worker_release_address);
  find(opened, "ucp_worker_progress", library.worker_progress);
  find(opened, "ucp_worker_arm", library.worker_arm);
  find(opened, "ucp_tag_send_nbx", library.tag_send_nbx);
  find(opened, "ucp_tag_recv_nbx", library.tag_recv_nbx);
  find(opened, "ucp_request_check_status", library.request_check_status);
  find(opened, "ucp_request_free", library.request_free);
  find(opened, "ucp_ep_create", library.ep_create);
  find(opened, "ucp_ep_close_nbx", library.ep_close_nbx);
  find(opened, "ucp_ep_print_info", library.ep_print_info);
  find(opened, "ucs_status_string", library.status_string);
  return library;
}

}  // namespace

const Library& library() {
  static const Library opened = open_library();
  return opened;
}

}  // namespace lockstep::collectives::ucx
