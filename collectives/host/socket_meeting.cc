#include "collectives/host/socket_meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/host/channel.h"
#include "collectives/rendezvous/store_client.h"

namespace lockstep::collectives::host {
namespace {

using engine::Sharing;

constexpr std::chrono::seconds kHelloTime(5);
// Rank 0 knows who is missing and tells the others, who therefore wait a little longer than it
// does.
constexpr std::chrono::seconds kGuestsWaitLonger(5);
constexpr std::string_view kAgreed = "\n";

ChannelTime after(std::chrono::nanoseconds time) {
  // Never so late that the clock's range ends.
  const std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + std::min(time, longest);
}

// Fields are separated by newlines, the free text last.
std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + 1)};
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string encode(const SegmentRequest& request) {
  return fmt::format("{}\n{}\n{}", request.bytes, request.sharing == Sharing::host ? 1 : 0,
                     request.name.substr(0, 200));
}

SegmentRequest decode(std::string_view text, const std::string& peer) {
  const auto [bytes, rest] = cut(text);
  const auto [sharing, name] = cut(rest);
  const auto size = number(bytes);
  if (!size) throw CollectiveError(fmt::format("{} sent no request for memory", peer));
  return {std::string(name), *size, sharing == "1" ? Sharing::host : Sharing::exchanged};
}

void watch(const HostOptions& options, const std::shared_ptr<Interrupt>& interrupt) {
  options.store->on_abort([interrupt](std::string_view reason) { interrupt->raise(reason); });
}

std::string key_of(const HostOptions& options) {
  return options.group + "/meeting";
}

// Compares what all ask for and hands the segments on.
class Host final : public Meeting {
 public:
  explicit Host(const HostOptions& options)
      : deadline_(options.deadline),
        name_(options.name),
        rank_word_(options.place && options.place->hosts > 1 ? "local rank" : "rank") {
    watch(options, interrupt_);
    Listener listener;
    const std::string token = random_word();
    options.store->set(key_of(options), fmt::format("{}\n{}", listener.name(), token));
    std::vector<std::optional<Channel>> members(static_cast<std::size_t>(options.world));
    const ChannelTime until = after(deadline_);
    try {
      for (int missing = options.world - 1; missing > 0;) {
        missing -= greet(listener, members, token, until) ? 1 : 0;
      }
    } catch (const CollectiveError& error) {
      for (auto& member : members) {
        if (member) member->try_send(error.what());
      }
      throw;
    }
    for (std::size_t r = 1; r < members.size(); ++r) members_.push_back(std::move(*members[r]));
  }

  Segments exchange(const SegmentRequest& request) override {
    try {
      return exchange_or_throw(request);
    } catch (const CollectiveError& error) {
      for (Channel& member : members_) member.try_send(error.what());
      throw;
    }
  }

 private:
  Segments exchange_or_throw(const SegmentRequest& request) {
    const ChannelTime until = after(deadline_);
    std::vector<SegmentRequest> requests = {request};
    std::vector<std::string> names = {name_};
    std::vector<Descriptor> received;
    for (Channel& member : members_) {
      Channel::Packet packet = member.receive(*interrupt_, until);
      requests.push_back(decode(packet.text, member.peer()));
      names.push_back(member.peer());
      received.push_back(std::move(packet.descriptor));
    }
    if (const std::string error = disagreement(requests, names); !error.empty()) {
      throw CollectiveError(error);
    }
    Segments segments = {Segment::shared(request.name, request.bytes)};
    if (request.sharing == Sharing::exchanged) {
      for (Descriptor& descriptor : received) {
        segments.push_back(Segment::mapped(std::move(descriptor), request.bytes));
      }
    }
    for (Channel& member : members_) {
      member.send(kAgreed);
      for (const auto& segment : segments) member.send("segment", segment->descriptor());
    }
    for (const auto& segment : segments) segment->close_descriptor();
    return segments;
  }

  bool greet(Listener& listener, std::vector<std::optional<Channel>>& members,
             const std::string& token, ChannelTime until) {
    Channel channel(listener.accept(*interrupt_, until, missing_of(members)), "a local process");
    std::string text;
    try {
      text = channel.receive(*interrupt_, std::min(until, after(kHelloTime))).text;
    } catch (const CollectiveError&) {
      if (!interrupt_->reason().empty()) throw;
      return false;  // a stranger
    }
    const auto [word, rest] = cut(text);
    const auto [rank, name] = cut(rest);
    const auto index = number(rank);
    if (word != token || !index || *index == 0 || *index >= members.size() || members[*index]) {
      return false;
    }
    channel.set_peer(std::string(name));
    members[*index] = std::move(channel);
    return true;
  }

  std::string missing_of(const std::vector<std::optional<Channel>>& members) const {
    std::string text;
    for (std::size_t r = 1; r < members.size(); ++r) {
      if (!members[r]) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rank_word_, r);
    }
    return text + " is missing";
  }

  std::chrono::nanoseconds deadline_;
  std::string name_;
  std::string rank_word_;
  std::shared_ptr<Interrupt> interrupt_ = std::make_shared<Interrupt>();
  std::vector<Channel> members_;  // rank 1, 2, ...
};

class Guest final : public Meeting {
 public:
  explicit Guest(const HostOptions& options)
      : deadline_(options.deadline), rank_(options.rank), world_(options.world) {
    watch(options, interrupt_);
    const auto time =
        std::chrono::ceil<std::chrono::milliseconds>(options.deadline) + kGuestsWaitLonger;
    const std::string meeting = options.store->get(key_of(options), time);
    const auto [name, token] = cut(meeting);
    channel_.emplace(connect_to(std::string(name)), "rank 0");
    channel_->send(fmt::format("{}\n{}\n{}", token, rank_, options.name));
  }

  Segments exchange(const SegmentRequest& request) override {
    const ChannelTime until = after(deadline_) + kGuestsWaitLonger;
    std::shared_ptr<Segment> own;
    if (request.sharing == Sharing::exchanged) own = Segment::shared(request.name, request.bytes);
    channel_->send(encode(request), own ? own->descriptor() : -1);
    if (const auto verdict = channel_->receive(*interrupt_, until); verdict.text != kAgreed) {
      throw CollectiveError(verdict.text);
    }
    Segments segments;
    const int count = own ? world_ : 1;
    for (int r = 0; r < count; ++r) {
      Descriptor descriptor = channel_->receive(*interrupt_, until).descriptor;
      segments.push_back(own && r == rank_ ? own
                                           : Segment::mapped(std::move(descriptor), request.bytes));
    }
    for (const auto& segment : segments) segment->close_descriptor();
    return segments;
  }

 private:
  std::chrono::nanoseconds deadline_;
  int rank_;
  int world_;
  std::shared_ptr<Interrupt> interrupt_ = std::make_shared<Interrupt>();
  std::optional<Channel> channel_;
};

}  // namespace

std::unique_ptr<Meeting> make_socket_meeting(const HostOptions& options) {
  if (options.rank == 0) return std::make_unique<Host>(options);
  return std::make_unique<Guest>(options);
}

}  // namespace lockstep::collectives::host
