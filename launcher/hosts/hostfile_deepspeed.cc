// DeepSpeed's hostfile: "host slots=8", as its one regular expression reads it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"
#include "launcher/hosts/hostfile.h"

namespace lockstep::launcher {
namespace {

constexpr std::string_view kSlots = "slots=", kDigits = "0123456789";

AllocatedHost read_line(const LocatedText& text, const std::vector<Word>& words) {
  AllocatedHost host = read_host(text, words.front());
  if (words.size() < 2 || !words[1].text.starts_with(kSlots)) {
    const Word found = words.size() < 2 ? words[0] : words[1];
    text.refuse(found.place, fmt::format("expected 'host slots=8', found '{}'{}",
                                         excerpt(found.text), words.size() < 2 ? " alone" : ""));
  }
  const Word value = words[1].part(kSlots.size());
  // What follows the digits is skipped, as all of the rest is; without any it is no number.
  const std::size_t digits = std::min(value.text.find_first_not_of(kDigits), value.text.size());
  host.slots = read_slots(text, digits == 0 ? value : value.part(0, digits));
  return host;
}

}  // namespace

HostfileReading read_deepspeed_hostfile(const LocatedText& text) {
  HostCollection hosts(text);
  for (LineWalk lines(text); lines.next();) {
    const std::vector<Word> words = words_of(lines.line());
    if (words.empty() || words.front().text.starts_with('#')) continue;
    hosts.add_new(read_line(text, words), words.front().place,
                  "DeepSpeed's hostfile has one line a host; write the sum of its slots there");
  }
  return {.hosts = hosts.take(), .notes = {}};
}

}  // namespace lockstep::launcher
