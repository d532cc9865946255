#include "launcher/hosts/host_flag.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"

namespace lockstep::launcher {

std::vector<AllocatedHost> read_host_flag(const LocatedText& flag) {
  HostCollection hosts(flag);
  for (const Word item : split({flag.text(), {}}, ',')) {
    const std::vector<Word> words = words_of(item);
    if (words.empty()) flag.refuse(item.place, "an empty name; expected hosts as in a:8,b:8");
    if (words.size() > 1) {
      flag.refuse(words[1].place, fmt::format("expected a comma between hosts, found '{}'",
                                              excerpt(words[1].text)));
    }
    const auto [name, slots] = split_at_colon(flag, words.front());
    AllocatedHost host = read_host(flag, name);
    if (slots) host.slots = read_slots(flag, *slots);
    hosts.add_new(std::move(host), name.place, "name it once, with its slots, as in a:8");
  }
  return hosts.take();
}

}  // namespace lockstep::launcher
