#include "collectives/host/moves.h"

#include <algorithm>
#include <cstring>

#include "collectives/host/kernels.h"

namespace lockstep::collectives::host {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace

Moves::Moves(const Parts& parts) : parts_(parts), buffers_(static_cast<std::size_t>(parts.world)) {
  sources_.reserve(buffers_.size());
  targets_.reserve(buffers_.size());
}

std::byte* Moves::piece(const Call& call, int rank) const {
  return parts_.scratch[static_cast<std::size_t>(rank)]->data() +
         call.piece % kPieces * kPieceBytes;
}

// The elements of the buffer that belong to `rank` and to this piece.
Slice Moves::part(const Call& call, int rank) const {
  const Slice slice = slice_of(call.count, rank, parts_.world);
  return {std::min(slice.end, slice.begin + call.first),
          std::min(slice.end, slice.begin + call.last)};
}

void Moves::stage_in(const Call& call, Sequence sequence) {
  const std::size_t size = call.element();
  if (call.place == Place::entry) {
    copy_bytes(parts_.control.entry(parts_.rank, sequence).payload.data(), call.data,
               call.count * size);
    return;
  }
  if (call.place != Place::staged) return;
  std::byte* const to = piece(call, parts_.rank);
  const std::size_t block = call.count / buffers_.size();
  switch (call.kind) {
    case Kind::broadcast:
      if (parts_.rank != call.source) return;
      [[fallthrough]];
    case Kind::all_reduce:
      return copy_bytes(to, call.data + call.first * size, call.range() * size);
    case Kind::reduce_scatter:
      if (call.reach == Reach::all_hosts) {
        return copy_bytes(to, call.data + call.first * size, call.range() * size);
      }
      for (int j = 0; j < parts_.world; ++j) {
        const Slice from = part(call, j);
        copy_bytes(to + static_cast<std::size_t>(j) * call.step * size,
                   call.data + from.begin * size, (from.end - from.begin) * size);
      }
      return;
    case Kind::all_gather: {
      const Slice own = part(call, parts_.rank);
      if (call.consumer && own.begin < own.end) (*call.consumer)(own.begin, own.end);
      return copy_bytes(to, call.data + own.begin * size, (own.end - own.begin) * size);
    }
    case Kind::all_to_all:
      for (std::size_t j = 0; j < buffers_.size(); ++j) {
        copy_bytes(to + j * call.step * size, call.data + (j * block + call.first) * size,
                   (call.last - call.first) * size);
      }
      return;
    case Kind::barrier:
      return;
  }
}

void Moves::locate(const Call& call, Sequence sequence) {
  for (int r = 0; r < parts_.world; ++r) {
    auto& buffer = buffers_[static_cast<std::size_t>(r)];
    switch (call.place) {
      case Place::entry:
        buffer = parts_.control.entry(r, sequence).payload.data();
        break;
      case Place::staged:
        buffer = piece(call, r);
        break;
      case Place::exchanged:
      case Place::host:
        buffer = r == parts_.rank ? call.data
                                  : parts_.arenas.address(call.arena, r,
                                                          parts_.control.entry(r, sequence).offset);
        break;
    }
  }
}

void Moves::work(const Call& call, Sequence sequence) {
  if (call.kind == Kind::barrier) return;
  locate(call, sequence);
  const bool summed = call.reach == Reach::all_hosts;
  switch (call.kind) {
    case Kind::all_reduce:
      return summed ? take_all(call) : all_reduce(call);
    case Kind::reduce_scatter:
      return summed ? take_slice(call) : reduce_scatter(call);
    case Kind::all_gather:
      return all_gather(call);
    case Kind::broadcast:
      return broadcast(call);
    case Kind::all_to_all:
      return all_to_all(call);
    case Kind::barrier:
      return;
  }
}

void Moves::sum(const Call& call, Sequence sequence) {
  if (call.kind == Kind::barrier) return;
  locate(call, sequence);
  if (call.kind == Kind::broadcast) return;
  const std::size_t size = call.element();
  Slice own = slice_of(call.range(), parts_.rank, parts_.world);
  if (call.place == Place::entry) own = {0, parts_.rank == 0 ? call.count : 0};
  sources_.clear();
  for (std::byte* buffer : buffers_) sources_.push_back(buffer + own.begin * size);
  for (std::size_t begin = own.begin; begin < own.end; begin += kChunk) {
    const std::size_t n = std::min(kChunk, own.end - begin);
    combine(call.type, call.op_within_host(), sources_[0], sources_.data(), parts_.world, n);
    for (auto& source : sources_) source += n * size;
  }
}

std::span<std::byte> Moves::between_hosts(const Call& call) const {
  if (call.kind == Kind::barrier) return {};
  return {buffers_[static_cast<std::size_t>(call.source)], call.range() * call.element()};
}

// This rank's slice of the sum, which rank 0 has, for everybody; pieces and entries are small
// enough for each to take what it needs.
void Moves::take_all(const Call& call) {
  const std::size_t size = call.element();
  if (call.place == Place::entry) return copy_bytes(call.data, buffers_[0], call.count * size);
  if (call.place == Place::staged) return;
  const Slice own = slice_of(call.count, parts_.rank, parts_.world);
  for (std::size_t r = 1; r < buffers_.size(); ++r) {
    copy_bytes(buffers_[r] + own.begin * size, buffers_[0] + own.begin * size,
               (own.end - own.begin) * size);
  }
}

void Moves::take_slice(const Call& call) {
  const std::size_t size = call.element();
  const std::size_t first = call.place == Place::staged ? call.first : 0;
  Slice own = slice_of(call.count, parts_.rank, parts_.world);
  own = {std::max(own.begin, first), std::min(own.end, first + call.range())};
  for (std::size_t begin = own.begin; begin < own.end; begin += kChunk) {
    const std::size_t end = std::min(own.end, begin + kChunk);
    std::byte* const to = call.data + begin * size;
    const std::byte* const from = buffers_[0] + (begin - first) * size;
    if (to != from) copy_bytes(to, from, (end - begin) * size);
    if (call.consumer) (*call.consumer)(begin, end);
  }
}

// Combines `elements` of all sources into the first target, chunk by chunk, and copies each to the
// other targets.
void Moves::reduce(const Call& call, std::size_t elements, std::size_t consumer_begin) {
  const std::size_t size = call.element();
  for (std::size_t begin = 0; begin < elements; begin += kChunk) {
    const std::size_t n = std::min(kChunk, elements - begin);
    combine(call.type, call.op, targets_[0], sources_.data(), parts_.world, n);
    for (std::size_t t = 1; t < targets_.size(); ++t)
      copy_bytes(targets_[t], targets_[0], n * size);
    if (call.consumer) {
      (*call.consumer)(consumer_begin + begin, consumer_begin + begin + n);
    }
    for (auto& source : sources_) source += n * size;
    for (auto& target : targets_) target += n * size;
  }
}

void Moves::all_reduce(const Call& call) {
  const std::size_t size = call.element();
  if (call.place == Place::entry) {
    combine(call.type, call.op, call.data, buffers_.data(), parts_.world, call.count);
    return;
  }
  const std::size_t elements = call.place == Place::staged ? call.last - call.first : call.count;
  const Slice own = slice_of(elements, parts_.rank, parts_.world);
  const auto me = static_cast<std::size_t>(parts_.rank);
  sources_.clear();
  for (std::byte* buffer : buffers_) sources_.push_back(buffer + own.begin * size);
  targets_.assign(1, sources_[me]);
  if (call.place == Place::exchanged) {
    for (std::size_t r = 0; r < sources_.size(); ++r) {
      if (r != me) targets_.push_back(sources_[r]);
    }
  }
  reduce(call, own.end - own.begin, own.begin);
}

void Moves::reduce_scatter(const Call& call) {
  const std::size_t size = call.element();
  const bool staged = call.place == Place::staged;
  const Slice own =
      staged ? part(call, parts_.rank) : slice_of(call.count, parts_.rank, parts_.world);
  const std::size_t begin = staged ? static_cast<std::size_t>(parts_.rank) * call.step : own.begin;
  sources_.clear();
  for (std::byte* buffer : buffers_) sources_.push_back(buffer + begin * size);
  targets_.assign(1, call.data + own.begin * size);
  reduce(call, own.end - own.begin, own.begin);
}

void Moves::all_gather(const Call& call) {
  const std::size_t size = call.element();
  if (call.place == Place::staged) {
    for (int j = 0; j < parts_.world; ++j) {
      if (j == parts_.rank) continue;
      const Slice from = part(call, j);
      copy_bytes(call.data + from.begin * size, buffers_[static_cast<std::size_t>(j)],
                 (from.end - from.begin) * size);
    }
    return;
  }
  const Slice own = slice_of(call.count, parts_.rank, parts_.world);
  for (std::size_t begin = own.begin; begin < own.end; begin += kChunk) {
    const std::size_t end = std::min(own.end, begin + kChunk);
    if (call.consumer) (*call.consumer)(begin, end);
    if (call.place == Place::host) continue;
    for (std::byte* buffer : buffers_) {
      if (buffer == call.data) continue;
      copy_bytes(buffer + begin * size, call.data + begin * size, (end - begin) * size);
    }
  }
}

void Moves::broadcast(const Call& call) {
  if (call.place == Place::host) return;
  // The source has its elements already, but for pieces that have come from another host.
  const bool from_elsewhere = call.place == Place::staged && call.reach == Reach::all_hosts;
  if (parts_.rank == call.source && !from_elsewhere) return;
  const std::byte* root = buffers_[static_cast<std::size_t>(call.source)];
  const std::size_t size = call.element();
  if (call.place == Place::staged) {
    copy_bytes(call.data + call.first * size, root, call.range() * size);
  } else {
    copy_bytes(call.data, root, call.count * size);
  }
}

void Moves::all_to_all(const Call& call) {
  const std::size_t size = call.element();
  const std::size_t block = call.count / buffers_.size();
  const auto me = static_cast<std::size_t>(parts_.rank);
  for (std::size_t j = 0; j < buffers_.size(); ++j) {
    if (call.place == Place::staged) {
      copy_bytes(call.receive + (j * block + call.first) * size,
                 buffers_[j] + me * call.step * size, (call.last - call.first) * size);
    } else {
      copy_bytes(call.receive + j * block * size, buffers_[j] + me * block * size, block * size);
    }
  }
}

void Moves::stage_out(const Call& call) {
  if (call.place != Place::staged || call.kind != Kind::all_reduce) return;
  const std::size_t size = call.element();
  const std::size_t elements = call.range();
  if (call.reach == Reach::all_hosts) {
    return copy_bytes(call.data + call.first * size, piece(call, 0), elements * size);
  }
  for (int j = 0; j < parts_.world; ++j) {
    const Slice from = slice_of(elements, j, parts_.world);
    copy_bytes(call.data + (call.first + from.begin) * size, piece(call, j) + from.begin * size,
               (from.end - from.begin) * size);
  }
}

}  // namespace lockstep::collectives::host
