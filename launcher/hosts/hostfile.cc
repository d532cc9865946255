#include "launcher/hosts/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "launcher/hosts/host_name.h"

namespace lockstep::launcher {
namespace {

struct Format {
  std::string_view name;
  HostfileFormat format;
};
constexpr std::array kFormats = {Format{"openmpi", HostfileFormat::kOpenMpi},
                                 Format{"hydra", HostfileFormat::kHydra},
                                 Format{"deepspeed", HostfileFormat::kDeepSpeed}};

// What tells one grammar from the other: where it stands first.
struct Evidence {
  std::optional<Word> hydra, openmpi;

  void of_line(const std::vector<Word>& words, const LocatedText& text) {
    const Word first = words.front();
    if (first.text.find_first_of("^+") == 0) note(openmpi, first);
    if (split_at_colon(text, first).rest) note(hydra, first);
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].text.find('=') == std::string_view::npos) continue;
      const bool of_hydra =
          i > 0 && (words[i].text.starts_with("user=") || words[i].text.starts_with("binding="));
      note(of_hydra ? hydra : openmpi, words[i]);
    }
  }

 private:
  static void note(std::optional<Word>& seen, Word word) {
    if (!seen) seen = word;
  }
};

bool before(Place a, Place b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace

std::optional<HostfileFormat> hostfile_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &Format::name);
  if (found == kFormats.end()) return std::nullopt;
  return found->format;
}

HostfileFormat recognise_hostfile(const LocatedText& text) {
  const std::string bare = without_openmpi_comments(text);
  const LocatedText uncommented = text.with(bare);
  Evidence evidence;
  for (LineWalk lines(uncommented); lines.next();) {
    const std::vector<Word> words = words_of(lines.line());
    if (!words.empty()) evidence.of_line(words, uncommented);
  }
  if (evidence.hydra && evidence.openmpi) {
    const bool hydra_first = before(evidence.hydra->place, evidence.openmpi->place);
    const Word first = hydra_first ? *evidence.hydra : *evidence.openmpi;
    const Word second = hydra_first ? *evidence.openmpi : *evidence.hydra;
    text.refuse(second.place,
                fmt::format("'{}' and '{}' (line {}) are of two grammars, Hydra's host:8 and Open "
                            "MPI's or DeepSpeed's slots=8: write one of them, or say which it is "
                            "by --hostfile-format openmpi|hydra|deepspeed",
                            excerpt(second.text), excerpt(first.text), first.place.line));
  }
  return evidence.hydra ? HostfileFormat::kHydra : HostfileFormat::kOpenMpi;
}

HostfileReading read_hostfile(const LocatedText& text, HostfileFormat format) {
  switch (format) {
    case HostfileFormat::kByContent:
      return read_hostfile(text, recognise_hostfile(text));
    case HostfileFormat::kOpenMpi:
      return read_openmpi_hostfile(text);
    case HostfileFormat::kHydra:
      return read_hydra_hostfile(text);
    case HostfileFormat::kDeepSpeed:
      return read_deepspeed_hostfile(text);
  }
  throw std::logic_error("unknown hostfile format");
}

}  // namespace lockstep::launcher
