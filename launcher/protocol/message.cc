#include "launcher/protocol/message.h"

#include <fmt/format.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "launcher/protocol/frame.h"

namespace lockstep::launcher {
namespace {

class Writer {
 public:
  template <typename Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void operator()(const Number& number) {
    const auto value = static_cast<std::uint64_t>(number);
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
    }
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }
  void operator()(const HostAddress& address) {
    (*this)(address.address);
    (*this)(address.interface);
  }
  template <typename Item>
  void operator()(const std::vector<Item>& items) {
    (*this)(static_cast<std::uint32_t>(items.size()));
    for (const Item& item : items) (*this)(item);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  requires std::is_integral_v<Number> || std::is_enum_v<Number>
  void operator()(Number& number) {
    const std::string_view raw = take(sizeof(Number));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(raw[i])) << (8 * i);
    }
    number = static_cast<Number>(value);
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    text = take(size);
  }
  void operator()(HostAddress& address) {
    (*this)(address.address);
    (*this)(address.interface);
  }
  template <typename Item>
  void operator()(std::vector<Item>& items) {
    std::uint32_t count = 0;
    (*this)(count);
    items.clear();
    for (std::uint32_t i = 0; i < count; ++i) (*this)(items.emplace_back());
  }
  void finish() const {
    if (!bytes_.empty()) {
      throw ProtocolError(fmt::format("{} bytes too many in a control message", bytes_.size()));
    }
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      throw ProtocolError(
          fmt::format("a control message ends {} bytes too early", size - bytes_.size()));
    }
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

// One list of fields for both directions: `m` is const where it is written.
template <typename M, typename Type>
concept Is = std::is_same_v<std::remove_const_t<M>, Type>;

template <typename Codec, typename M>
void fields(Codec& codec, M& m) {
  const auto all = [&codec](auto&... field) { (codec(field), ...); };
  if constexpr (Is<M, Ready>) {
    all(m.version, m.host, m.pid, m.addresses);
  } else if constexpr (Is<M, Surveyed>) {
    all(m.generation, m.port);
  } else if constexpr (Is<M, Reached>) {
    all(m.generation, m.addresses, m.interfaces);
  } else if constexpr (Is<M, Prepared>) {
    all(m.generation, m.store_port, m.master_port, m.why);
  } else if constexpr (Is<M, Tuned>) {
    all(m.probe_ms, m.settings, m.explanation);
  } else if constexpr (Is<M, Started>) {
    all(m.rank, m.pid);
  } else if constexpr (Is<M, NotStarted>) {
    all(m.rank, m.why);
  } else if constexpr (Is<M, Output>) {
    all(m.rank, m.stream, m.bytes);
  } else if constexpr (Is<M, Ended>) {
    all(m.rank, m.time_ns, m.code, m.signal, m.killer.cause, m.killer.evidence);
  } else if constexpr (Is<M, Note>) {
    all(m.text);
  } else if constexpr (Is<M, Gone> || Is<M, Drained>) {
    all(m.generation);
  } else if constexpr (Is<M, Pong>) {
    all(m.number, m.time_ns);
  } else if constexpr (Is<M, Progress>) {
    all(m.generation, m.step);
  } else if constexpr (Is<M, Survey>) {
    all(m.generation, m.token);
  } else if constexpr (Is<M, Reach>) {
    all(m.generation, m.addresses, m.port, m.token);
  } else if constexpr (Is<M, Prepare>) {
    all(m.generation, m.world, m.address, m.secret);
  } else if constexpr (Is<M, Start>) {
    auto& j = m.job;
    all(j.file, j.program, j.args, j.environment, j.directory, j.world, j.first_rank);
    all(j.local_world, j.host_rank, j.hosts, j.generation, j.max_restarts, j.master_address);
    all(j.master_port, j.interface, j.run_id, j.run_folder, j.store_address, j.secret);
    all(j.lead_output, j.bind);
  } else if constexpr (Is<M, Credit>) {
    all(m.bytes);
  } else if constexpr (Is<M, Stop>) {
    all(m.generation, m.grace_ms);
  } else if constexpr (Is<M, Ping>) {
    all(m.number);
  } else if constexpr (Is<M, Notice>) {
    all(m.signal);
  } else {
    static_assert(std::is_empty_v<M>, "a message whose fields are not listed");
  }
}

template <std::size_t Index = 0>
Message decode_kind(std::size_t kind, Reader& reader) {
  if constexpr (Index < std::variant_size_v<Message>) {
    if (kind != Index) return decode_kind<Index + 1>(kind, reader);
    std::variant_alternative_t<Index, Message> message;
    fields(reader, message);
    return message;
  } else {
    throw ProtocolError(fmt::format("control message of unknown kind {}", kind));
  }
}

}  // namespace

std::string encode(const Message& message) {
  Writer writer;
  writer(static_cast<std::uint8_t>(message.index()));
  std::visit([&writer](const auto& m) { fields(writer, m); }, message);
  return writer.take();
}

Message decode(std::string_view body) {
  Reader reader(body);
  std::uint8_t kind = 0;
  reader(kind);
  Message message = decode_kind(kind, reader);
  reader.finish();
  if (const auto* output = std::get_if<Output>(&message);
      output != nullptr && output->stream != Stream::kOut && output->stream != Stream::kErr) {
    throw ProtocolError("output of a stream that is neither standard output nor standard error");
  }
  if (const auto* start = std::get_if<Start>(&message);
      start != nullptr && (start->job.program > Program::kLockstep ||
                           start->job.lead_output > LeadOutput::kAtOnce ||
                           start->job.bind > Bind::kGpu)) {
    throw ProtocolError("a job of a kind that is none of those known");
  }
  if (const auto* ended = std::get_if<Ended>(&message);
      ended != nullptr && ended->killer.cause > Cause::kUnknownSender) {
    throw ProtocolError("the end of a worker with a cause that is none of those known");
  }
  return message;
}

}  // namespace lockstep::launcher
