#include "collectives/host/host_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/host/arenas.h"
#include "collectives/host/bridge.h"
#include "collectives/host/control.h"
#include "collectives/host/membership.h"
#include "collectives/host/moves.h"
#include "collectives/host/queue.h"
#include "collectives/host/socket_meeting.h"
#include "collectives/host/thread_meeting.h"
#include "collectives/rendezvous/store_client.h"
#include "collectives/ucx/tree_between_hosts.h"

namespace lockstep::collectives::host {
namespace {

using engine::Sharing;

class HostCommunicator final : public Communicator {
 public:
  explicit HostCommunicator(Membership membership)
      : rank_(membership.rank),
        world_(membership.world),
        place_(membership.place),
        meeting_(std::move(membership.meeting)),
        tell_abort_(std::move(membership.tell_abort)),
        interrupt_(std::move(membership.interrupt)),
        control_segment_(
            meeting_->exchange({"control", Control::bytes(place_.local_world), Sharing::host})[0]),
        control_(make_control(membership.name)),
        scratch_(world_ == 1
                     ? Segments{}
                     : meeting_->exchange({"scratch", kPieces * kPieceBytes, Sharing::exchanged})),
        arenas_(*meeting_, place_.local_rank),
        moves_({*control_, arenas_, scratch_, place_.local_rank, place_.local_world}),
        bridge_(make_bridge(membership)),
        queue_({*control_, moves_, place_.local_rank, place_.local_world, place_.hosts,
                bridge_ ? &*bridge_ : nullptr, membership.deadline,
                [this](std::string_view reason) { abort(reason); }}) {
    if (membership.on_abort) {
      membership.on_abort([control = control_, interrupt = interrupt_](std::string_view reason) {
        control->abort(reason);
        if (interrupt) interrupt->raise(reason);
      });
    }
  }

  std::span<std::byte> allocate(std::string_view name, std::size_t bytes,
                                Sharing sharing) override {
    queue_.throw_if_aborted();
    return arenas_.allocate(name, bytes, sharing);
  }

  std::string_view backend() const override { return "host"; }
  int rank() const override { return rank_; }
  int world() const override { return world_; }
  HostPlace place() const override { return place_; }
  engine::Stream& stream() override { return queue_; }

  Event all_reduce(Buffer buffer, ReduceOp op) override {
    Call call = prepare(Kind::all_reduce, buffer);
    call.op = checked(op, buffer.type);
    refuse_host_memory(call);
    const std::size_t limit = call.place == Place::staged ? kSmallBytes : kSmallBytesInArena;
    call.reach = beyond_host();
    if (world_ > 1 && buffer.count * call.element() <= limit) {
      call.place = Place::entry;
      call.arena = 0;
      call.offset = 0;
      return queue_.issue(std::move(call));
    }
    return issue(call, call.count, kPieceBytes / call.element());
  }

  Event reduce_scatter(Buffer buffer, ReduceOp op, SliceConsumer consumer) override {
    Call call = prepare(Kind::reduce_scatter, buffer);
    call.op = checked(op, buffer.type);
    refuse_host_memory(call);
    set_consumer(call, std::move(consumer));
    call.reach = beyond_host();
    if (call.reach == Reach::all_hosts) {
      return issue(call, call.count, kPieceBytes / call.element());
    }
    return issue(call, longest_slice(call), block_of_piece(call));
  }

  Event all_gather(Buffer buffer, SliceConsumer producer) override {
    Call call = prepare(Kind::all_gather, buffer);
    set_consumer(call, std::move(producer));
    return issue(call, longest_slice(call), kPieceBytes / call.element());
  }

  Event broadcast(Buffer buffer, int root) override {
    if (root < 0 || root >= world_) {
      throw CollectiveError(
          fmt::format("broadcast from rank {}: expected a rank from 0 to {}", root, world_ - 1));
    }
    Call call = prepare(Kind::broadcast, buffer);
    call.root = root;
    call.source = local_rank_of(root).value_or(0);
    call.reach = beyond_host();
    return issue(call, call.count, kPieceBytes / call.element());
  }

  Event all_to_all(Buffer send, Buffer receive) override {
    if (send.count != receive.count || send.type != receive.type ||
        send.count % static_cast<std::size_t>(world_) != 0) {
      throw CollectiveError(fmt::format(
          "all_to_all of {} {} into {} {}: expected the same type and count, divisible by {} ranks",
          send.count, engine::name_of(send.type), receive.count, engine::name_of(receive.type),
          world_));
    }
    if (place_.hosts > 1) {
      throw CollectiveError(
          fmt::format("all_to_all is made within one host; there are {}", place_.hosts));
    }
    Call call = prepare(Kind::all_to_all, send);
    refuse_host_memory(call);
    call.receive = static_cast<std::byte*>(receive.data);
    return issue(call, call.count / static_cast<std::size_t>(world_), block_of_piece(call));
  }

  void barrier() override {
    Call call = prepare(Kind::barrier, {nullptr, 0, DType::u8});
    call.place = Place::entry;
    call.reach = beyond_host();
    queue_.wait(queue_.issue(std::move(call)));
  }

  void abort(std::string_view reason) override {
    control_->abort(reason);
    if (interrupt_) interrupt_->raise(reason);
    if (tell_abort_) tell_abort_(reason);
  }

  CommunicationTime time() const override { return queue_.time(); }

 private:
  // Before the next exchange, which ends when all have come to it: then all names can be read.
  std::shared_ptr<Control> make_control(std::string_view name) {
    auto control =
        std::make_shared<Control>(control_segment_, place_.local_rank, place_.local_world);
    control->set_name(name, rank_);
    return control;
  }

  // After the ranks of the host have met for scratch.
  std::optional<Bridge> make_bridge(const Membership& membership) {
    if (!membership.connect) return std::nullopt;
    std::vector<int> ranks;
    for (int r = 0; r < place_.local_world; ++r) ranks.push_back(control_->number_of(r));
    auto hosts = membership.connect(std::move(ranks), [control = control_](const auto& awaited) {
      control->await_between_hosts(awaited);
    });
    return std::optional<Bridge>(
        std::in_place,
        Bridge::Parts{std::move(hosts),
                      Control(control_segment_, place_.local_world, place_.local_world), interrupt_,
                      [this](std::string_view reason) { abort(reason); }});
  }

  [[nodiscard]] Reach beyond_host() const {
    return place_.hosts > 1 ? Reach::all_hosts : Reach::host;
  }

  [[nodiscard]] std::optional<int> local_rank_of(int rank) const {
    for (int r = 0; r < place_.local_world; ++r) {
      if (control_->number_of(r) == rank) return r;
    }
    return std::nullopt;
  }

  // A call with the place of its buffer.
  Call prepare(Kind kind, Buffer buffer) {
    queue_.throw_if_aborted();
    Call call;
    call.kind = kind;
    call.type = buffer.type;
    call.count = buffer.count;
    call.data = static_cast<std::byte*>(buffer.data);
    call.place = world_ == 1 ? Place::exchanged : Place::staged;
    if (const auto found = arenas_.find(buffer.data, buffer.count * call.element())) {
      call.place = found->sharing == Sharing::host && world_ > 1 ? Place::host : Place::exchanged;
      call.arena = found->arena;
      call.offset = found->offset;
    }
    call.number = ++calls_;
    return call;
  }

  // In one entry where the peers reach the buffer, else in as many as `range` elements need with
  // `step` each.
  Event issue(const Call& call, std::size_t range, std::size_t step) {
    if (call.place != Place::staged) return queue_.issue(call);
    Event last;
    for (std::size_t first = 0; first == 0 || first < range; first += step) {
      Call piece = call;
      piece.step = step;
      piece.first = first;
      piece.last = std::min(range, first + step);
      piece.offset = first;
      piece.piece = queue_.next_piece();
      last = queue_.issue(std::move(piece));
    }
    return last;
  }

  [[nodiscard]] std::size_t longest_slice(const Call& call) const {
    return slice_of(call.count, 0, place_.local_world).end;
  }

  [[nodiscard]] std::size_t block_of_piece(const Call& call) const {
    return kPieceBytes / call.element() / static_cast<std::size_t>(place_.local_world);
  }

  static ReduceOp checked(ReduceOp op, DType type) {
    if (op == ReduceOp::average && type == DType::u8) {
      throw CollectiveError("the average of u8 would overflow: sum it in a wider type");
    }
    return op;
  }

  static void refuse_host_memory(const Call& call) {
    if (call.place != Place::host) return;
    throw CollectiveError(fmt::format(
        "{} in memory that all ranks of the host share (Sharing::host) has no meaning: each rank "
        "must bring its own elements",
        call.text()));
  }

  static void set_consumer(Call& call, SliceConsumer consumer) {
    if (consumer) call.consumer = std::make_shared<const SliceConsumer>(std::move(consumer));
  }

  const int rank_;
  const int world_;
  const HostPlace place_;
  std::unique_ptr<Meeting> meeting_;
  std::function<void(std::string_view)> tell_abort_;
  std::shared_ptr<Interrupt> interrupt_;
  std::shared_ptr<Segment> control_segment_;
  std::shared_ptr<Control> control_;
  Segments scratch_;
  Arenas arenas_;
  Moves moves_;
  std::optional<Bridge> bridge_;  // ends before what it works on
  Queue queue_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Membership membership) {
  return std::make_unique<HostCommunicator>(std::move(membership));
}

namespace {

HostPlace checked_place(const HostOptions& options) {
  if (!options.place || options.place->hosts == 1) {
    return {.local_rank = options.rank, .local_world = options.world};
  }
  const HostPlace& place = *options.place;
  if (place.hosts < 1 || place.host < 0 || place.host >= place.hosts || place.local_world < 1 ||
      place.local_rank < 0 || place.local_rank >= place.local_world ||
      place.local_world + place.hosts - 1 > options.world) {
    throw CollectiveError(fmt::format(
        "local rank {} of {} on host {} of {}: expected numbers from 0, and that {} ranks are at "
        "least one on each host",
        place.local_rank, place.local_world, place.host, place.hosts, options.world));
  }
  return place;
}

std::unique_ptr<Meeting> meet_within_host(HostOptions options, const HostPlace& place) {
  if (place.local_world == 1) {
    return make_thread_meeting(make_thread_group(1, options.deadline), 0);
  }
  options.rank = place.local_rank;
  options.world = place.local_world;
  if (place.hosts > 1) options.group = fmt::format("{}/{}", options.group, place.host);
  return make_socket_meeting(options);
}

}  // namespace

std::unique_ptr<Communicator> make_host_communicator(const HostOptions& given) {
  HostOptions options = given;
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    throw CollectiveError(fmt::format("rank {} of {}: expected 0 to the number of ranks less one",
                                      options.rank, options.world));
  }
  if (options.name.empty()) options.name = fmt::format("rank {}", options.rank);
  const HostPlace place = checked_place(options);
  Membership membership;
  membership.rank = options.rank;
  membership.world = options.world;
  membership.place = place;
  membership.deadline = options.deadline;
  membership.name = options.name;
  if (options.world == 1) {
    membership.meeting = make_thread_meeting(make_thread_group(1, options.deadline), 0);
    return make_communicator(std::move(membership));
  }
  if (options.store == nullptr) {
    throw CollectiveError(fmt::format(
        "{} ranks need a store to meet in: start them with lockstep launch", options.world));
  }
  if (place.hosts > 1) {
    membership.interrupt = std::make_shared<Interrupt>();
    options.store->on_abort(
        [interrupt = membership.interrupt](std::string_view reason) { interrupt->raise(reason); });
    if (place.local_rank == 0) {
      membership.connect = [options, place, interrupt = membership.interrupt](
                               std::vector<int> ranks, Membership::OnWait on_wait) {
        return ucx::make_tree_between_hosts(
            {.host = place.host,
             .hosts = place.hosts,
             .world = options.world,
             .ranks = std::move(ranks),
             .name = options.name,
             .store = options.store,
             .group = options.group,
             .deadline = options.deadline,
             .interface = options.interface,
             .interrupt = interrupt,
             .on_wait = [on_wait](std::string_view who, std::chrono::milliseconds patience) {
               on_wait({std::string(who), patience});
             }});
      };
    }
  }
  membership.meeting = meet_within_host(options, place);
  membership.tell_abort = [store = options.store](std::string_view reason) {
    store->abort(reason);
  };
  membership.on_abort = [store = options.store](std::function<void(std::string_view)> callback) {
    store->on_abort(std::move(callback));
  };
  return make_communicator(std::move(membership));
}

std::unique_ptr<Communicator> make_thread_communicator(std::shared_ptr<ThreadGroup> group,
                                                       int rank) {
  Membership membership;
  membership.rank = rank;
  membership.world = world_of(*group);
  membership.place = {.local_rank = rank, .local_world = membership.world};
  membership.deadline = deadline_of(*group);
  membership.name = fmt::format("rank {}", rank);
  membership.meeting = make_thread_meeting(std::move(group), rank);
  return make_communicator(std::move(membership));
}

}  // namespace lockstep::collectives::host
