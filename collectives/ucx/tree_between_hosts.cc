#include "collectives/ucx/tree_between_hosts.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "collectives/communicator.h"
#include "collectives/host/kernels.h"
#include "collectives/rendezvous/store_client.h"
#include "collectives/ucx/peer.h"
#include "collectives/ucx/settings.h"
#include "collectives/ucx/tree.h"
#include "collectives/ucx/worker.h"

namespace lockstep::collectives::ucx {
namespace {

using host::Call;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What is passed on while the next is on its way. A multiple of every element's size.
constexpr std::size_t kPart = std::size_t{512} * 1024;
// The store knows within milliseconds that a process has died, and who it was.
constexpr milliseconds kTimeOfTheStore(1000);
constexpr milliseconds kTimeToClose(2000);

// What a message is. In tags: above the number of its call, below its sender.
enum class Stream : std::uint64_t { hello, up, down };
constexpr int kSenderShift = 48;
constexpr int kStreamShift = 46;

// What a host says of a call before it sends anything.
struct Hello {
  std::uint64_t what = 0;
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  friend bool operator==(const Hello&, const Hello&) = default;
};

std::size_t parts_of(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kPart - 1) / kPart);
}

std::span<std::byte> part_of(std::span<std::byte> data, std::size_t part) {
  const std::size_t begin = std::min(data.size(), part * kPart);
  return data.subspan(begin, std::min(kPart, data.size() - begin));
}

class TreeBetweenHosts final : public host::BetweenHosts {
 public:
  explicit TreeBetweenHosts(TreeOptions options)
      : options_(std::move(options)),
        worker_(settings_for(options_.interface, "/sys", [](const std::string& name) {
          return std::getenv(name.c_str()) != nullptr;
        })) {
    for (const int rank : options_.ranks) {
      options_.store->set(key("host_of", rank), std::to_string(options_.host));
    }
    options_.store->set(key("address", options_.host), options_.name + "\n" + worker_.address());
    // Who never comes is found missing here rather than in a call.
    const TreePlace tree = tree_place(options_.host, options_.hosts, 0);
    for (const int child : tree.children) (void)peer(child);
    if (tree.parent) (void)peer(*tree.parent);
  }

  ~TreeBetweenHosts() override { close(); }

  void all_reduce(const Call& call, std::span<std::byte> data) override {
    const Turn turn = begin(call, 0);
    const std::size_t parts = parts_of(data.size());
    std::vector<Request> sent;
    std::vector<Request> arriving = receive_from_children(turn, data, 0);
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<Request> next;
      if (part + 1 < parts) next = receive_from_children(turn, data, part + 1);
      wait_for_children(turn, arriving);
      combine(turn, part_of(data, part), part);
      if (turn.parent == nullptr) {
        send_to_children(turn, part_of(data, part), sent);
      } else {
        sent.push_back(turn.parent->send(tag(options_.host, Stream::up), part_of(data, part)));
      }
      arriving = std::move(next);
    }
    if (turn.parent != nullptr) {
      // What comes down takes the place of what has gone up.
      for (Request& up : sent) wait(turn, up, *turn.parent, turn.tree.patience_with_parent);
      sent.clear();
      pass_down(turn, data, sent);
    }
    finish(turn, sent);
  }

  void broadcast(const Call& call, std::span<std::byte> data) override {
    const Turn turn = begin(call, host_of(call.root));
    std::vector<Request> sent;
    if (turn.parent != nullptr) {
      pass_down(turn, data, sent);
    } else {
      for (std::size_t part = 0; part < parts_of(data.size()); ++part) {
        send_to_children(turn, part_of(data, part), sent);
      }
    }
    finish(turn, sent);
  }

 private:
  // One call, seen from this host.
  struct Turn {
    const Call& call;
    steady_clock::time_point since;
    TreePlace tree;
    Peer* parent = nullptr;
    std::vector<Peer*> children;
  };

  // Tells the parent what is called here, and has the children say the same.
  Turn begin(const Call& call, int root) {
    ++calls_;
    midway_ = true;
    Turn turn{call, steady_clock::now(), tree_place(options_.host, options_.hosts, root), {}, {}};
    for (const int child : turn.tree.children) turn.children.push_back(&peer(child));
    if (turn.tree.parent) turn.parent = &peer(*turn.tree.parent);

    hello_ = {call.what(), call.count, call.place == host::Place::staged ? call.first : 0};
    Request said;
    if (turn.parent != nullptr) {
      said = turn.parent->send(tag(options_.host, Stream::hello),
                               std::as_bytes(std::span(&hello_, 1)));
    }
    std::vector<Request> heard;
    for (std::size_t c = 0; c < turn.children.size(); ++c) {
      heard.push_back(worker_.receive(tag(turn.tree.children[c], Stream::hello),
                                      std::as_writable_bytes(std::span(&heard_.at(c), 1))));
    }
    wait_for_children(turn, heard);
    for (std::size_t c = 0; c < turn.children.size(); ++c) {
      if (heard_.at(c) == hello_) continue;
      throw CollectiveError(fmt::format(
          "hosts disagree about call #{}: {} made {}, {} made {}; all ranks must make the same "
          "calls "
          "in the same order, with buffers in the same arenas",
          call.number, options_.name, host::text_of(hello_.what, hello_.count),
          turn.children[c]->name(), host::text_of(heard_.at(c).what, heard_.at(c).count)));
    }
    if (turn.parent != nullptr) wait(turn, said, *turn.parent, turn.tree.patience_with_parent);
    return turn;
  }

  std::vector<Request> receive_from_children(const Turn& turn, std::span<std::byte> data,
                                             std::size_t part) {
    std::vector<Request> requests;
    for (std::size_t c = 0; c < turn.children.size(); ++c) {
      requests.push_back(worker_.receive(tag(turn.tree.children[c], Stream::up),
                                         inbox(c, part, part_of(data, part).size())));
    }
    return requests;
  }

  void wait_for_children(const Turn& turn, std::vector<Request>& requests) {
    for (std::size_t c = 0; c < requests.size(); ++c) {
      wait(turn, requests[c], *turn.children[c], turn.tree.patience_with_children[c]);
    }
  }

  void send_to_children(const Turn& turn, std::span<std::byte> data, std::vector<Request>& sent) {
    for (Peer* child : turn.children) {
      sent.push_back(child->send(tag(options_.host, Stream::down), data));
    }
  }

  void pass_down(const Turn& turn, std::span<std::byte> data, std::vector<Request>& sent) {
    std::vector<Request> arriving;
    for (std::size_t part = 0; part < parts_of(data.size()); ++part) {
      arriving.push_back(
          worker_.receive(tag(*turn.tree.parent, Stream::down), part_of(data, part)));
    }
    for (std::size_t part = 0; part < arriving.size(); ++part) {
      wait(turn, arriving[part], *turn.parent, turn.tree.patience_with_parent);
      send_to_children(turn, part_of(data, part), sent);
    }
  }

  // What has gone to children: each part to one after the other.
  void finish(const Turn& turn, std::vector<Request>& sent) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const std::size_t c = i % turn.children.size();
      wait(turn, sent[i], *turn.children[c], turn.tree.patience_with_children[c]);
    }
    if (awaited_ != nullptr) options_.on_wait({}, {});
    awaited_ = nullptr;
    midway_ = false;
  }

  void combine(const Turn& turn, std::span<std::byte> own, std::size_t part) {
    const Call& call = turn.call;
    const std::size_t elements = own.size() / call.element();
    std::array<const std::byte*, 3> sources{own.data(), nullptr, nullptr};
    for (std::size_t c = 0; c < turn.children.size(); ++c) {
      sources.at(c + 1) = inbox(c, part, own.size()).data();
    }
    const auto count = static_cast<int>(turn.children.size()) + 1;
    if (count > 1 && elements > 0) {
      host::combine(call.type, call.op_within_host(), own.data(), sources.data(), count, elements);
    }
    if (turn.parent == nullptr && call.op == ReduceOp::average) {
      host::divide(call.type, own.data(), options_.world, elements);
    }
  }

  // Where a child's part lies, while the one before is still being added.
  std::span<std::byte> inbox(std::size_t child, std::size_t part, std::size_t bytes) {
    auto& box = inboxes_.at(2 * child + part % 2);
    if (box.size() < bytes) box.resize(bytes);
    return std::span(box).first(bytes);
  }

  void wait(const Turn& turn, Request& request, Peer& peer, milliseconds patience) {
    while (true) {
      const ucs_status_t status = request.status();
      if (status == UCS_OK) return;
      if (status != UCS_INPROGRESS) lost(turn, peer, status);
      if (worker_.progress()) continue;
      // A message that has arrived is worth more than the news that its sender has gone since.
      if (request.status() != UCS_INPROGRESS) continue;
      if (peer.failure() != UCS_OK) lost(turn, peer, peer.failure());
      if (awaited_ != &peer) options_.on_wait(peer.name(), patience);
      awaited_ = &peer;
      if (worker_.sleep(options_.interrupt->descriptor(), std::chrono::hours(1)) ==
          Worker::Woken::by_other) {
        throw CollectiveError(options_.interrupt->reason());
      }
    }
  }

  [[noreturn]] void lost(const Turn& turn, const Peer& peer, ucs_status_t status) {
    const std::chrono::duration<double> waited = steady_clock::now() - turn.since;
    pollfd polled{options_.interrupt->descriptor(), POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(kTimeOfTheStore.count())) > 0) {
      throw CollectiveError(options_.interrupt->reason());
    }
    throw CollectiveError(fmt::format(
        "{} lost {}, the first of its host, {:.3g} s into {}: {}{}; look whether that host and its "
        "worker are still there, and at the network between",
        options_.name, peer.name(), waited.count(), turn.call.text(),
        library().status_string(status),
        options_.interface.empty() ? "" : fmt::format(" (over {})", options_.interface)));
  }

  Peer& peer(int host) {
    auto& peer = peers_[host];
    if (!peer) {
      const std::string card = options_.store->get(key("address", host), deadline());
      const auto end = card.find('\n');
      peer = std::make_unique<Peer>(worker_, card.substr(end + 1), card.substr(0, end));
    }
    return *peer;
  }

  int host_of(int rank) {
    if (const auto known = hosts_of_ranks_.find(rank); known != hosts_of_ranks_.end()) {
      return known->second;
    }
    const std::string text = options_.store->get(key("host_of", rank), deadline());
    int host = 0;
    std::from_chars(text.data(), text.data() + text.size(), host);
    hosts_of_ranks_[rank] = host;
    return host;
  }

  // Lets what was sent last arrive.
  void close() {
    std::vector<Request> closing;
    for (auto& [host, peer] : peers_) {
      if (!peer) continue;
      closing.push_back(peer->close(midway_ ? Peer::Closing::kAtOnce : Peer::Closing::kAfterAll));
    }
    const auto until = steady_clock::now() + kTimeToClose;
    const auto open = [&] {
      return std::ranges::any_of(
          closing, [](const Request& request) { return request.status() == UCS_INPROGRESS; });
    };
    try {
      while (open() && steady_clock::now() < until) {
        if (!worker_.progress()) (void)worker_.sleep(-1, kTimeToClose);
      }
    } catch (const CollectiveError&) {
      // Nobody is left to be told.
    }
    if (open()) worker_.abandon();
  }

  [[nodiscard]] milliseconds deadline() const {
    return std::chrono::ceil<milliseconds>(options_.deadline);
  }
  [[nodiscard]] std::string key(std::string_view what, int number) const {
    return fmt::format("{}/{}/{}", options_.group, what, number);
  }
  [[nodiscard]] Tag tag(int sender, Stream stream) const {
    return static_cast<Tag>(sender) << kSenderShift | static_cast<Tag>(stream) << kStreamShift |
           (calls_ & ((Tag{1} << kStreamShift) - 1));
  }

  TreeOptions options_;
  std::uint64_t calls_ = 0;
  bool midway_ = false;  // in a call, or one has failed
  Hello hello_;
  std::array<Hello, 2> heard_;
  std::array<std::vector<std::byte>, 4> inboxes_;
  std::map<int, int> hosts_of_ranks_;
  const Peer* awaited_ = nullptr;
  // After all memory that it may still write to.
  Worker worker_;
  std::map<int, std::unique_ptr<Peer>> peers_;
};

}  // namespace

std::unique_ptr<host::BetweenHosts> make_tree_between_hosts(TreeOptions options) {
  return std::make_unique<TreeBetweenHosts>(std::move(options));
}

}  // namespace lockstep::collectives::ucx
