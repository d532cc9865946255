// The hostfile of MPICH's process manager, Hydra, which Intel MPI shares.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"
#include "launcher/hosts/hostfile.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kUser = "user=", kBinding = "binding=";

AllocatedHost read_line(const LocatedText& text, const std::vector<Word>& words,
                        std::vector<std::string>& notes) {
  const auto [name, slots] = split_at_colon(text, words.front());
  AllocatedHost host = read_host(text, name);
  if (slots) host.slots = read_slots(text, *slots);
  for (const Word word : std::span(words).subspan(1)) {
    if (word.text.starts_with(kUser)) {
      if (!host.user.empty())
        text.refuse(word.place, fmt::format("host '{}' has a user already", host.name));
      host.user = read_user(text, word.part(kUser.size()));
    } else if (word.text.starts_with(kBinding)) {
      constexpr std::size_t kMostNotes = 10;
      if (notes.size() < kMostNotes) {
        notes.push_back(fmt::format("{}: 'binding=' is not used: --bind says how workers are bound",
                                    text.where(word.place)));
      }
    } else {
      text.refuse(word.place,
                  fmt::format("expected user= or binding=, found '{}'", excerpt(word.text)));
    }
  }
  return host;
}

}  // namespace

HostfileReading read_hydra_hostfile(const LocatedText& text) {
  HostfileReading reading;
  HostCollection hosts(text);
  for (LineWalk lines(text); lines.next();) {
    const Word line = lines.line();
    const std::vector<Word> words = words_of(line.part(0, line.text.find('#')));
    if (words.empty()) continue;
    AllocatedHost host = read_line(text, words, reading.notes);
    const Place place = words.front().place;
    if (host.slots) {
      hosts.count_lines();  // in a file with numbers a host without one has 1
      hosts.add_slots(std::move(host), place);
    } else {
      hosts.add_line(std::move(host), place);
    }
  }
  reading.hosts = hosts.take();
  return reading;
}

}  // namespace lockstep::launcher
