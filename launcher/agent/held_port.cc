#include "launcher/agent/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {

HeldPort::HeldPort()
    : socket_(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
  const int on = 1;
  checked(::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "setsockopt");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  checked(::bind(socket_.get(), generic, size), "bind");
  checked(::getsockname(socket_.get(), generic, &size), "getsockname");
  number_ = ntohs(address.sin_port);
}

}  // namespace lockstep::launcher
