#include "topology/advice/nccl_library.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lockstep::topology {
namespace {

constexpr std::string_view kStart = "NCCL_";
constexpr std::size_t kLongestName = 128;

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // The size of a regular file, else 0.
  [[nodiscard]] std::size_t size() const {
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    return static_cast<std::size_t>(status.st_size);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

class Mapping {
 public:
  Mapping(const File& file, std::size_t size)
      : size_(size), start_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0)) {}
  ~Mapping() {
    if (start_ != MAP_FAILED) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::string_view bytes() const {
    return start_ == MAP_FAILED ? std::string_view()
                                : std::string_view(static_cast<const char*>(start_), size_);
  }

 private:
  std::size_t size_;
  void* start_;
};

// A value of the file's own layout, or nothing beyond its end. Offsets in a file need not be
// aligned.
template <typename T>
std::optional<T> value_at(std::string_view image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

std::string_view part_of(std::string_view image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || image.size() - offset < size) return {};
  return image.substr(offset, size);
}

// The sections named .rodata...; empty where the image has none that can be found.
std::vector<std::string_view> read_only_data(std::string_view image) {
  std::vector<std::string_view> parts;
  const auto header = value_at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return parts;
  }
  const auto section = [&](std::uint64_t index) -> std::optional<Elf64_Shdr> {
    if (header->e_shoff > image.size()) return std::nullopt;
    return value_at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return parts;
  const auto texts = part_of(image, names->sh_offset, names->sh_size);
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto candidate = section(i);
    if (!candidate || candidate->sh_type != SHT_PROGBITS || candidate->sh_name >= texts.size()) {
      continue;
    }
    if (texts.substr(candidate->sh_name).starts_with(".rodata")) {
      parts.push_back(part_of(image, candidate->sh_offset, candidate->sh_size));
    }
  }
  return parts;
}

bool is_name_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void collect_names(std::string_view data, std::vector<std::string>& names) {
  for (auto at = data.find(kStart); at != std::string_view::npos; at = data.find(kStart, at)) {
    std::size_t end = at + kStart.size();
    while (end < data.size() && end - at <= kLongestName && is_name_letter(data[end])) ++end;
    const bool begins = at == 0 || !is_name_letter(data[at - 1]);
    // A name within a sentence does not end in NUL.
    if (begins && end > at + kStart.size() && end < data.size() && data[end] == '\0') {
      names.emplace_back(data.substr(at, end - at));
    }
    at = end;
  }
}

}  // namespace

std::vector<std::string> variables_in(std::string_view image) {
  std::vector<std::string> names;
  const auto parts = read_only_data(image);
  for (const auto part : parts) collect_names(part, names);
  if (parts.empty()) collect_names(image, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<std::vector<std::string>> variables_of_library(const std::string& path) {
  const File file(path);
  const std::size_t size = file.size();
  if (size == 0) return std::nullopt;
  const Mapping mapping(file, size);
  auto names = variables_in(mapping.bytes());
  if (names.empty()) return std::nullopt;
  return names;
}

}  // namespace lockstep::topology
