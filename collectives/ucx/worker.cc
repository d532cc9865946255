#include "collectives/ucx/worker.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "collectives/communicator.h"
#include "collectives/ucx/library.h"

namespace lockstep::collectives::ucx {
namespace {

ucp_context_h make_context(std::span<const Setting> settings) {
  ucp_config_t* read = nullptr;
  check(library().config_read(nullptr, nullptr, &read), "ucp_config_read");
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> config(
      read, library().config_release);
  for (const Setting& setting : settings) {
    check(library().config_modify(config.get(), setting.name.c_str(), setting.value.c_str()),
          fmt::format("ucp_config_modify({}={})", setting.name, setting.value));
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  std::string told;
  for (const Setting& setting : settings) {
    told += fmt::format(" UCX_{}={}", setting.name, setting.value);
  }
  check(library().init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config.get(), &context),
        fmt::format("ucp_init with{}", told));
  return context;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  check(library().worker_create(context, &params, &worker), "ucp_worker_create");
  return worker;
}

}  // namespace

void check(ucs_status_t status, std::string_view call) {
  if (status == UCS_OK) return;
  throw CollectiveError(fmt::format("UCX: {} failed: {}", call, library().status_string(status)));
}

Request::Request(ucs_status_ptr_t pointer) {
  if (UCS_PTR_IS_PTR(pointer)) {
    handle_ = pointer;
  } else {
    status_ = UCS_PTR_STATUS(pointer);
  }
}

Request::~Request() {
  if (handle_ != nullptr) library().request_free(handle_);
}

ucs_status_t Request::status() const {
  return handle_ != nullptr ? library().request_check_status(handle_) : status_;
}

Worker::Worker(std::span<const Setting> settings)
    : context_(make_context(settings), library().cleanup),
      worker_(make_worker(context_.get()), library().worker_destroy) {
  check(library().worker_get_efd(worker_.get(), &events_), "ucp_worker_get_efd");
}

std::string Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(library().worker_get_address(worker_.get(), &address, &length), "ucp_worker_get_address");
  std::string bytes(reinterpret_cast<const char*>(address), length);
  library().worker_release_address(worker_.get(), address);
  return bytes;
}

Request Worker::receive(Tag tag, std::span<std::byte> to) {
  ucp_request_param_t params{};
  return Request(
      library().tag_recv_nbx(worker_.get(), to.data(), to.size(), tag, ~Tag{0}, &params));
}

void Worker::abandon() {
  (void)worker_.release();
  (void)context_.release();
}

Worker::Woken Worker::sleep(int other, std::chrono::milliseconds longest) {
  const ucs_status_t armed = library().worker_arm(worker_.get());
  if (armed == UCS_ERR_BUSY) return Woken::by_ucx;
  check(armed, "ucp_worker_arm");
  std::array<pollfd, 2> polled{{{other, POLLIN, 0}, {events_, POLLIN, 0}}};
  const auto timeout = std::clamp<std::chrono::milliseconds::rep>(longest.count(), 0, 3'600'000);
  const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(timeout));
  if (ready < 0 && errno != EINTR) {
    throw CollectiveError(fmt::format("poll failed: {}", std::strerror(errno)));
  }
  if (ready == 0) return Woken::by_time;
  return ready > 0 && polled[0].revents != 0 ? Woken::by_other : Woken::by_ucx;
}

}  // namespace lockstep::collectives::ucx
