#include "collectives/host/host_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/host/arenas.h"
#include "collectives/host/control.h"
#include "collectives/host/membership.h"
#include "collectives/host/moves.h"
#include "collectives/host/queue.h"
#include "collectives/host/socket_meeting.h"
#include "collectives/host/thread_meeting.h"
#include "collectives/rendezvous/store_client.h"

namespace lockstep::collectives::host {
namespace {

using engine::Sharing;

class HostCommunicator final : public Communicator {
 public:
  explicit HostCommunicator(Membership membership)
      : rank_(membership.rank),
        world_(membership.world),
        meeting_(std::move(membership.meeting)),
        tell_abort_(std::move(membership.tell_abort)),
        control_(make_control(membership.name)),
        scratch_(world_ == 1
                     ? Segments{}
                     : meeting_->exchange({"scratch", kPieces * kPieceBytes, Sharing::exchanged})),
        arenas_(*meeting_, rank_),
        moves_({*control_, arenas_, scratch_, rank_, world_}),
        queue_({*control_, moves_, rank_, world_, membership.deadline,
                [this](std::string_view reason) { abort(reason); }}) {
    if (membership.on_abort) {
      membership.on_abort(
          [control = control_](std::string_view reason) { control->abort(reason); });
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
  engine::Stream& stream() override { return queue_; }

  Event all_reduce(Buffer buffer, ReduceOp op) override {
    Call call = prepare(Kind::all_reduce, buffer);
    call.op = checked(op, buffer.type);
    refuse_host_memory(call);
    const std::size_t limit = call.place == Place::staged ? kSmallBytes : kSmallBytesInArena;
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
    Call call = prepare(Kind::all_to_all, send);
    refuse_host_memory(call);
    call.receive = static_cast<std::byte*>(receive.data);
    return issue(call, call.count / static_cast<std::size_t>(world_), block_of_piece(call));
  }

  void barrier() override {
    Call call = prepare(Kind::barrier, {nullptr, 0, DType::u8});
    call.place = Place::entry;
    queue_.wait(queue_.issue(std::move(call)));
  }

  void abort(std::string_view reason) override {
    control_->abort(reason);
    if (tell_abort_) tell_abort_(reason);
  }

  CommunicationTime time() const override { return queue_.time(); }

 private:
  // Before the next exchange, which ends when all have come to it: then all names can be read.
  std::shared_ptr<Control> make_control(std::string_view name) {
    const auto segments = meeting_->exchange({"control", Control::bytes(world_), Sharing::host});
    auto control = std::make_shared<Control>(segments[0], rank_, world_);
    control->set_name(name);
    return control;
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
    return slice_of(call.count, 0, world_).end;
  }

  [[nodiscard]] std::size_t block_of_piece(const Call& call) const {
    return kPieceBytes / call.element() / static_cast<std::size_t>(world_);
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
  std::unique_ptr<Meeting> meeting_;
  std::function<void(std::string_view)> tell_abort_;
  std::shared_ptr<Control> control_;
  Segments scratch_;
  Arenas arenas_;
  Moves moves_;
  Queue queue_;
  std::uint64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Membership membership) {
  return std::make_unique<HostCommunicator>(std::move(membership));
}

std::unique_ptr<Communicator> make_host_communicator(const HostOptions& given) {
  HostOptions options = given;
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    throw CollectiveError(fmt::format("rank {} of {}: expected 0 to the number of ranks less one",
                                      options.rank, options.world));
  }
  if (options.name.empty()) options.name = fmt::format("rank {}", options.rank);
  Membership membership{options.rank, options.world, options.deadline, options.name, {}, {}, {}};
  if (options.world == 1) {
    membership.meeting = make_thread_meeting(make_thread_group(1, options.deadline), 0);
    return make_communicator(std::move(membership));
  }
  if (options.store == nullptr) {
    throw CollectiveError(fmt::format(
        "{} ranks need a store to meet in: start them with lockstep launch", options.world));
  }
  membership.meeting = make_socket_meeting(options);
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
  membership.deadline = deadline_of(*group);
  membership.name = fmt::format("rank {}", rank);
  membership.meeting = make_thread_meeting(std::move(group), rank);
  return make_communicator(std::move(membership));
}

}  // namespace lockstep::collectives::host
