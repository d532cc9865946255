// Which variables a libnccl reads, as its file says.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "topology/advice/nccl_library.h"
#include "topology/advice/variables.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::string text(const char* value) {
  return std::string(value) + '\0';
}

// A file of 64 bits with .rodata, another section, and the names of both.
std::string small_elf(const std::string& read_only, const std::string& other) {
  const std::string names("\0.rodata\0.fatbin\0.shstrtab\0", 27);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  const std::string body = read_only + other + names;
  header.e_shoff = sizeof(header) + body.size();
  Elf64_Shdr sections[4] = {};
  std::uint64_t offset = sizeof(header);
  const auto fill = [&](Elf64_Shdr& section, std::uint32_t name, std::uint64_t size) {
    section.sh_name = name;
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = offset;
    section.sh_size = size;
    offset += size;
  };
  fill(sections[1], 1, read_only.size());
  fill(sections[2], 9, other.size());
  fill(sections[3], 17, names.size());
  std::string image(reinterpret_cast<const char*>(&header), sizeof(header));
  image += body;
  image.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return image;
}

TEST(NcclLibrary, ItsVariablesAreWholeTexts) {
  const std::string image = text("NCCL_IB_HCA") + text("set NCCL_MNNVL_ENABLE=0 to ignore") +
                            text("XNCCL_NOT_THIS") + text("NCCL_IB_HCA") + text("NCCL_") +
                            text("NCCL_lower") + text("NCCL_ALGO") + "NCCL_CUT";
  EXPECT_THAT(variables_in(image), ElementsAre("NCCL_ALGO", "NCCL_IB_HCA"));
}

TEST(NcclLibrary, OnlyReadOnlyDataOfAnElfFileIsRead) {
  EXPECT_THAT(variables_in(small_elf(text("NCCL_ALGO"), text("NCCL_OF_DEVICE_CODE"))),
              ElementsAre("NCCL_ALGO"));
}

TEST(NcclLibrary, DamagedHeadersNeverReachBeyondTheFile) {
  const std::string whole = small_elf(text("NCCL_ALGO"), text("rest"));
  for (std::size_t i = 0; i < sizeof(Elf64_Ehdr); ++i) {
    for (const char wrong : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = wrong;
      EXPECT_LE(variables_in(damaged).size(), 1U);
    }
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_LE(variables_in(std::string_view(whole).substr(0, size)).size(), 1U);
  }
}

TEST(NcclLibrary, AFileIsMappedAndAMissingOneSaysNothing) {
  const std::string path = testing::TempDir() + fmt::format("libnccl-{}.so", ::getpid());
  std::ofstream(path, std::ios::binary) << small_elf(text("NCCL_ALGO"), text("rest"));
  EXPECT_EQ(variables_of_library(path), std::vector<std::string>{"NCCL_ALGO"});
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "#!/bin/sh\n";
  EXPECT_EQ(variables_of_library(path), std::nullopt);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "";
  EXPECT_EQ(variables_of_library(path), std::nullopt);
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(variables_of_library(path), std::nullopt);
  EXPECT_EQ(variables_of_library(testing::TempDir()), std::nullopt);
}

// The libraries that CUDA's packages and distributions install.
TEST(NcclLibrary, TheRealOneReadsWhatTheTableSays) {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/lib64/libnccl.so.2",
        "/usr/local/cuda/lib64/libnccl.so.2", "/usr/local/cuda-13.0/lib/libnccl.so.2"}) {
    const auto names = variables_of_library(path);
    if (!names) continue;
    EXPECT_THAT(*names, Contains("NCCL_IB_HCA"));
    EXPECT_THAT(*names, Contains("NCCL_SOCKET_IFNAME"));
    EXPECT_THAT(*names, Contains("NCCL_NET_GDR_LEVEL"));
    EXPECT_THAT(*names, Not(Contains("NCCL_NSOCKS")));
    for (const Variable& variable : variables()) {
      if (variable.since == NcclVersion{2, 21, 0}) {
        EXPECT_THAT(*names, Contains(std::string(variable.name)));
      }
    }
    return;
  }
  GTEST_SKIP() << "SKIPPED: no libnccl of 2.21 or newer is installed here";
}

}  // namespace
}  // namespace lockstep::topology
