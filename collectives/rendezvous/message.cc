#include "collectives/rendezvous/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace lockstep::collectives::rendezvous {
namespace {

class Writer {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const T& value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = sizeof(T); i-- > 0;) {
      bytes_.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xff));
    }
  }
  void operator()(const std::chrono::milliseconds& time) {
    (*this)(static_cast<std::int64_t>(time.count()));
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void operator()(const std::array<std::byte, 32>& array) {
    bytes_.insert(bytes_.end(), array.begin(), array.end());
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  requires std::is_integral_v<T>
  void operator()(T& value) {
    std::make_unsigned_t<T> bits = 0;
    for (const std::byte byte : take(sizeof(T))) {
      bits = static_cast<std::make_unsigned_t<T>>(bits << 8 | std::to_integer<unsigned>(byte));
    }
    value = static_cast<T>(bits);
  }
  void operator()(std::chrono::milliseconds& time) {
    std::int64_t count = 0;
    (*this)(count);
    time = std::chrono::milliseconds(count);
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    const auto bytes = take(size);
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void operator()(std::array<std::byte, 32>& array) {
    const auto bytes = take(array.size());
    std::copy(bytes.begin(), bytes.end(), array.begin());
  }
  void expect_end() const {
    if (!bytes_.empty()) {
      throw ProtocolError(fmt::format("a message has {} bytes too many", bytes_.size()));
    }
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (size > bytes_.size()) {
      throw ProtocolError(fmt::format("a message ends early: {} bytes more expected, {} there",
                                      size, bytes_.size()));
    }
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  std::span<const std::byte> bytes_;
};

// The fields of each message, once for reading and writing: `m` is const where they are written.
template <class T, class M>
constexpr bool is = std::is_same_v<std::remove_const_t<M>, T>;

template <class M, class Field>
void fields(M& m, Field& field) {
  if constexpr (is<Hello, M> || is<Challenge, M>) {
    field(m.nonce);
  } else if constexpr (is<Proof, M> || is<Welcome, M>) {
    field(m.digest);
  } else if constexpr (is<Join, M>) {
    field(m.rank), field(m.world), field(m.generation), field(m.pid), field(m.host);
  } else if constexpr (is<Set, M>) {
    field(m.request), field(m.key), field(m.value);
  } else if constexpr (is<Get, M>) {
    field(m.request), field(m.key), field(m.deadline);
  } else if constexpr (is<Barrier, M>) {
    field(m.request), field(m.name), field(m.deadline);
  } else if constexpr (is<Leave, M> || is<Done, M>) {
    field(m.request);
  } else if constexpr (is<Abort, M>) {
    field(m.reason);
  } else if constexpr (is<Value, M>) {
    field(m.request), field(m.value);
  } else if constexpr (is<Failed, M>) {
    field(m.request), field(m.reason);
  } else if constexpr (is<Aborted, M>) {
    field(m.rank), field(m.reason);
  } else {
    static_assert(is<Joined, M>);
  }
}

template <std::size_t Kind = 0>
Message decode_kind(const Frame& frame) {
  if constexpr (Kind < std::variant_size_v<Message>) {
    if (frame.kind != Kind) return decode_kind<Kind + 1>(frame);
    std::variant_alternative_t<Kind, Message> message;
    Reader reader(frame.body);
    fields(message, reader);
    reader.expect_end();
    return message;
  } else {
    throw ProtocolError(fmt::format("a message of unknown kind {}", unsigned{frame.kind}));
  }
}

}  // namespace

Bytes encode(const Message& message) {
  Writer writer;
  std::visit([&](const auto& m) { fields(m, writer); }, message);
  Bytes frame = encode_frame(static_cast<std::uint8_t>(message.index()), writer.bytes());
  if (frame.size() > kFrameLimit) {
    throw ProtocolError(
        fmt::format("a message of {} bytes: at most {}", frame.size(), kFrameLimit));
  }
  return frame;
}

Message decode(const Frame& frame) {
  return decode_kind(frame);
}

}  // namespace lockstep::collectives::rendezvous
