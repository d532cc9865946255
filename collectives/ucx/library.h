// The functions of libucp that the step between hosts calls, by their C names, opened at run time.
//
// Not linked: only the first rank of a host of several needs them, and UCX takes signals (SIGHUP,
// SIGSEGV) and mmap for itself in every process that loads it. Here it is told not to, unless the
// user's environment says otherwise. Thread rule: any thread, once library() has returned.
#pragma once

#include <ucp/api/ucp.h>

namespace lockstep::collectives::ucx {

struct Library {
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_tag_send_nbx) tag_send_nbx = nullptr;
  decltype(&::ucp_tag_recv_nbx) tag_recv_nbx = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&::ucp_ep_print_info) ep_print_info = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;
};

// Opens it at the first call; it stays open. Errors: CollectiveError that says what to install.
[[nodiscard]] const Library& library();

}  // namespace lockstep::collectives::ucx
