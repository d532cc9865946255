#include "collectives/ucx/peer.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "collectives/communicator.h"
#include "collectives/ucx/library.h"

namespace lockstep::collectives::ucx {

Peer::Peer(Worker& worker, const std::string& address, std::string name)
    : worker_(worker), name_(std::move(name)) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
    static_cast<Peer*>(self)->failure_ = status;
  };
  params.err_handler.arg = this;
  check(library().ep_create(worker_.handle(), &params, &endpoint_),
        fmt::format("ucp_ep_create, connecting to {},", name_));
}

Peer::~Peer() {
  if (endpoint_ != nullptr) const Request forced = close(Closing::kAtOnce);
}

Request Peer::send(Tag tag, std::span<const std::byte> from) {
  ucp_request_param_t params{};
  return Request(library().tag_send_nbx(endpoint_, from.data(), from.size(), tag, &params));
}

std::string Peer::connection() const {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = ::open_memstream(&text, &length);
  if (stream == nullptr) return {};
  library().ep_print_info(endpoint_, stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return {text, length};
}

Request Peer::close(Closing how) {
  ucp_request_param_t params{};
  if (how == Closing::kAtOnce || failure_ != UCS_OK) {
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  }
  return Request(library().ep_close_nbx(std::exchange(endpoint_, nullptr), &params));
}

}  // namespace lockstep::collectives::ucx
