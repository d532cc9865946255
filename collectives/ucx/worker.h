// UCX's context and worker: what makes progress, and what sleeps.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "collectives/ucx/library.h"
#include "collectives/ucx/settings.h"

namespace lockstep::collectives::ucx {

// Errors: CollectiveError "UCX: ucp_init failed: Input/output error".
void check(ucs_status_t status, std::string_view call);

// A transfer under way, or one that has ended. Destroying it does not end it: UCX may use its
// memory until the worker is gone.
class Request {
 public:
  Request() = default;
  explicit Request(ucs_status_ptr_t pointer);
  ~Request();
  Request(Request&& other) noexcept : status_(other.status_), handle_(other.take()) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(status_, other.status_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  // UCS_INPROGRESS until it has ended.
  [[nodiscard]] ucs_status_t status() const;

 private:
  void* take() { return std::exchange(handle_, nullptr); }
  ucs_status_t status_ = UCS_OK;  // where there is no handle
  void* handle_ = nullptr;
};

// Whose message, of which call and what part of it.
using Tag = ucp_tag_t;

// Thread rule: one thread at a time. Errors: CollectiveError.
class Worker {
 public:
  explicit Worker(std::span<const Setting> settings);

  // What peers connect to.
  [[nodiscard]] std::string address() const;

  // Messages of one tag and sender arrive in the order in which they were sent.
  [[nodiscard]] Request receive(Tag tag, std::span<std::byte> to);

  // False where there was nothing to do.
  bool progress() { return library().worker_progress(worker_.get()) != 0; }

  enum class Woken { by_ucx, by_other, by_time };
  // REQUIRES: progress() had nothing to do. Returns when it may have, when `other` can be read, or
  // when the time is over.
  [[nodiscard]] Woken sleep(int other, std::chrono::milliseconds longest);

  // Leaves it to the end of the process: UCX (1.13 at least) aborts when a worker is destroyed
  // while a transfer is under way that can neither end nor be given up.
  void abandon();

  [[nodiscard]] ucp_worker_h handle() const { return worker_.get(); }

 private:
  using Context = std::unique_ptr<std::remove_pointer_t<ucp_context_h>, decltype(&ucp_cleanup)>;
  using Handle =
      std::unique_ptr<std::remove_pointer_t<ucp_worker_h>, decltype(&ucp_worker_destroy)>;
  Context context_;
  Handle worker_;
  int events_ = -1;  // the worker's own descriptor
};

}  // namespace lockstep::collectives::ucx
