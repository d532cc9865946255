// libnccl-tuner-lockstep.so, loaded and called as NCCL does.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/topology/tuner/allocations.h"
#include "tests/topology/tuner/nccl.h"

namespace lockstep::topology::test {
namespace {

using nccl::Communicator;
using nccl::Library;
using nccl::Question;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kTree = 0, kRing = 1, kNvls = 4;
constexpr int kLl = 0, kLl128 = 1, kSimple = 2;

// A cost table in which every entry is available, between two walls.
class Costs {
 public:
  explicit Costs(int algorithms = 7, int protocols = 3)
      : algorithms_(algorithms), protocols_(protocols) {
    entries_.assign(static_cast<std::size_t>(algorithms * protocols + 2 * kWall), kCost);
  }

  [[nodiscard]] float* data() { return entries_.data() + kWall; }
  float& at(int algorithm, int protocol) { return data()[algorithm * protocols_ + protocol]; }
  [[nodiscard]] int algorithms() const { return algorithms_; }
  [[nodiscard]] int protocols() const { return protocols_; }

  // "1,2": the entries that are no longer what they were, walls included.
  [[nodiscard]] std::vector<std::string> chosen() const {
    std::vector<std::string> found;
    for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
      const float entry = entries_[static_cast<std::size_t>(i)];
      const int at = i - kWall;
      if (entry == kCost || entry == -1) continue;
      found.push_back(at < 0 || at >= algorithms_ * protocols_
                          ? "outside"
                          : fmt::format("{},{}", at / protocols_, at % protocols_));
    }
    return found;
  }

 private:
  static constexpr float kCost = 17.5F;
  static constexpr int kWall = 32;
  int algorithms_, protocols_;
  std::vector<float> entries_;
};

class Plugin : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("LOCKSTEP_TUNER_TABLE");
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    nccl::clear_log();
  }

  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::string& table) {
    std::ofstream(path_) << table;
    setenv("LOCKSTEP_TUNER_TABLE", path_.c_str(), 1);
  }

  const std::string path_ =
      testing::TempDir() + fmt::format("tuner-{}.csv", static_cast<long>(getpid()));
  const Library library_;
};

// The versions that hand over a cost table.
class TunerPlugin : public Plugin, public testing::WithParamInterface<int> {
 protected:
  // What is chosen for `question` by a communicator of 2 nodes and 16 ranks.
  std::vector<std::string> chosen(const Question& question, Costs costs = Costs(),
                                  int* channels = nullptr) {
    const Communicator communicator(library_, GetParam(), 2, 16);
    int ignored = 0;
    EXPECT_EQ(communicator.ask(question, costs.data(), costs.algorithms(), costs.protocols(),
                               channels ? channels : &ignored),
              nccl::ok);
    return costs.chosen();
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, TunerPlugin, testing::Values(3, 4, 5, 6),
                         [](const auto& version) { return fmt::format("V{}", version.param); });

TEST_F(Plugin, T15_ExportsFiveVersionsUnderTheNameThatNcclLooksFor) {
  EXPECT_EQ(std::filesystem::path(LOCKSTEP_TUNER_PLUGIN).filename(), "libnccl-tuner-lockstep.so");
  for (int version = 2; version <= 6; ++version) {
    ASSERT_NE(library_.symbol(version), nullptr) << version;
    EXPECT_STREQ(library_.tuner<nccl::TunerV2>(version).name, "lockstep");
  }
  EXPECT_EQ(library_.symbol(1), nullptr);
  EXPECT_EQ(library_.tuner<nccl::TunerV6>(6).chunk, nullptr) << "NCCL's chunk size stays";
}

TEST_F(Plugin, ShowsNothingElse) {
  std::ifstream file(LOCKSTEP_TUNER_PLUGIN, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  const auto read = [&image](auto& value, std::size_t at) {
    ASSERT_LE(at + sizeof value, image.size());
    std::memcpy(&value, image.data() + at, sizeof value);
  };
  Elf64_Ehdr header;
  read(header, 0);
  std::vector<std::string> visible;
  for (std::size_t s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section, names;
    read(section, header.e_shoff + s * sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    read(names, header.e_shoff + section.sh_link * sizeof names);
    for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      read(symbol, section.sh_offset + at);
      if (symbol.st_shndx != SHN_UNDEF)
        visible.emplace_back(&image[names.sh_offset + symbol.st_name]);
    }
  }
  std::ranges::sort(visible);
  EXPECT_THAT(visible, ElementsAre("ncclTunerPlugin_v2", "ncclTunerPlugin_v3", "ncclTunerPlugin_v4",
                                   "ncclTunerPlugin_v5", "ncclTunerPlugin_v6"));
}

TEST_P(TunerPlugin, T15_ARowThatMatchesMakesItsEntryTheCheapest) {
  write(
      "allreduce,0,65536,tree,ll,4,2,16\n"
      "allreduce,65537,-1,ring,simple,-1,-1,-1\n"
      "allgather,0,-1,nvls,simple,8,-1,-1\n");
  int channels = 0;
  EXPECT_THAT(chosen({.bytes = 65536}, Costs(), &channels), ElementsAre("0,0"));
  EXPECT_EQ(channels, 4);
  channels = 3;
  EXPECT_THAT(chosen({.bytes = 65537}, Costs(), &channels), ElementsAre("1,2"));
  EXPECT_EQ(channels, 3) << "NCCL's own number stays";
  EXPECT_THAT(chosen({.function = nccl::all_gather, .bytes = 1}), ElementsAre("4,2"));
  EXPECT_THAT(chosen({.function = nccl::reduce, .bytes = 1}), IsEmpty());
}

TEST_P(TunerPlugin, TheChosenEntryIsZero) {
  write("allreduce,0,-1,ring,ll128,-1,-1,-1\n");
  const Communicator communicator(library_, GetParam(), 1, 8);
  Costs costs;
  int channels = 0;
  ASSERT_EQ(communicator.ask({.bytes = 1}, costs.data(), 7, 3, &channels), nccl::ok);
  EXPECT_EQ(costs.at(kRing, kLl128), 0.0F);
}

TEST_P(TunerPlugin, RowsOfOtherNodesAndRanksAreNotTaken) {
  write(
      "allreduce,0,-1,tree,ll,-1,1,-1\n"
      "allreduce,0,-1,tree,ll128,-1,2,8\n"
      "allreduce,0,-1,tree,simple,-1,-1,32\n"
      "allreduce,0,-1,ring,ll,-1,2,16\n");
  EXPECT_THAT(chosen({.bytes = 1}), ElementsAre("1,0"));
}

TEST_P(TunerPlugin, GroupsAndRegistrationAreAskedForWhereTheVersionTells) {
  write(
      "allreduce,0,-1,tree,ll,-1,-1,-1,4\n"
      "allreduce,0,-1,tree,simple,-1,-1,-1,-1,1\n"
      "allreduce,0,-1,ring,simple,-1,-1,-1\n");
  EXPECT_THAT(chosen({.bytes = 1, .pipe_ops = 4}), ElementsAre("0,0"));
  EXPECT_THAT(chosen({.bytes = 1, .registered = 0}), ElementsAre("1,2"));
  EXPECT_THAT(chosen({.bytes = 1, .registered = 1}), ElementsAre(GetParam() == 3 ? "1,2" : "0,2"));
}

TEST_P(TunerPlugin, T15_EntriesThatAreNotAvailableAreNeverTouched) {
  write(
      "allreduce,0,-1,nvls,simple,16,-1,-1\n"
      "allreduce,0,-1,ring,ll128,2,-1,-1\n");
  Costs costs;
  costs.at(kNvls, kSimple) = -1;
  int channels = 0;
  EXPECT_THAT(chosen({.bytes = 1}, costs, &channels), ElementsAre("1,1")) << "the next row";
  EXPECT_EQ(channels, 2);
  costs.at(kRing, kLl128) = -1;
  channels = 0;
  EXPECT_THAT(chosen({.bytes = 1}, costs, &channels), IsEmpty());
  EXPECT_EQ(channels, 0);
}

TEST_P(TunerPlugin, TablesOfOtherSizesAreMeasuredByTheArguments) {
  write(
      "allreduce,0,-1,pat,simple,-1,-1,-1\n"
      "allreduce,0,-1,tree,simple,-1,-1,-1\n");
  EXPECT_THAT(chosen({.bytes = 1}, Costs(7, 3)), ElementsAre("6,2"));
  EXPECT_THAT(chosen({.bytes = 1}, Costs(9, 4)), ElementsAre("6,2"));
  EXPECT_THAT(chosen({.bytes = 1}, Costs(6, 3)), ElementsAre("0,2"));
  EXPECT_THAT(chosen({.bytes = 1}, Costs(6, 2)), IsEmpty());
  EXPECT_THAT(chosen({.bytes = 1}, Costs(0, 0)), IsEmpty());
}

TEST_P(TunerPlugin, WhatTheTableCannotNameIsLeftToNccl) {
  write("broadcast,0,-1,ring,simple,-1,-1,-1\n");
  EXPECT_THAT(chosen({.function = nccl::send_recv, .bytes = 1}), IsEmpty());
  EXPECT_THAT(chosen({.function = static_cast<nccl::Function>(-1), .bytes = 1}), IsEmpty());
}

TEST_P(TunerPlugin, WrongRowsAreNamedAndPassedOver) {
  write(
      "# measured\n"
      "allreduce,0,-1,rings,simple,-1,-1,-1\n"
      "allreduce,0,-1,ring,simple,-1,-1,-1\n");
  EXPECT_THAT(chosen({.bytes = 1}), ElementsAre("1,2"));
  EXPECT_THAT(nccl::logged(),
              Contains("WARN TUNER/lockstep: " + path_ +
                       ":2: algorithm is \"rings\", expected one of tree, ring, collnetdirect, "
                       "collnetchain, nvls, nvlstree, pat; this row is passed over"));
  EXPECT_THAT(nccl::logged(), Contains(HasSubstr("1 of 1 rows are for 2 nodes, 16 ranks")));
}

TEST_P(TunerPlugin, AFileOfNoiseIsNotReportedLineByLine) {
  std::string noise;
  for (int i = 0; i < 1000; ++i) noise += "?\n";
  write(noise);
  EXPECT_THAT(chosen({.bytes = 1}), IsEmpty());
  EXPECT_LT(nccl::logged().size(), 30U);
  EXPECT_THAT(nccl::logged(), Contains(HasSubstr("980 more rows like these")));
}

TEST_P(TunerPlugin, T15_WithoutATableNcclChooses) {
  EXPECT_THAT(chosen({.bytes = 1}), IsEmpty());
  for (const std::string& path : {path_ + ".not-there", testing::TempDir()}) {
    nccl::clear_log();
    setenv("LOCKSTEP_TUNER_TABLE", path.c_str(), 1);
    EXPECT_THAT(chosen({.bytes = 1}), IsEmpty());
    EXPECT_THAT(nccl::logged(),
                Contains(HasSubstr("WARN TUNER/lockstep: " + path + " cannot be read: ")));
  }
}

TEST_P(TunerPlugin, TheVariableOfTheExamplePlugInIsUnderstoodAfterOurs) {
  write("allreduce,0,-1,tree,simple,-1,-1,-1\n");
  const std::string other = path_ + ".other";
  std::ofstream(other) << "allreduce,0,-1,ring,simple,-1,-1,-1\n";
  setenv("NCCL_TUNER_CONFIG_FILE", other.c_str(), 1);
  EXPECT_THAT(chosen({.bytes = 1}), ElementsAre("0,2"));
  unsetenv("LOCKSTEP_TUNER_TABLE");
  EXPECT_THAT(chosen({.bytes = 1}), ElementsAre("1,2"));
  std::filesystem::remove(other);
}

TEST_P(TunerPlugin, ACallAllocatesNothing) {
  const long first = allocations_of_this_thread();
  write("allreduce,0,1000,tree,ll,4,-1,-1\nallreduce,1001,-1,ring,simple,-1,-1,-1\n");
  const Communicator communicator(library_, GetParam(), 2, 16);
  EXPECT_GT(allocations_of_this_thread(), first) << "what the plug-in allocates is not seen";
  Costs costs;
  int channels = 0;
  const long before = allocations_of_this_thread();
  for (std::size_t bytes = 1; bytes < (1 << 20); bytes *= 2)
    (void)communicator.ask({.bytes = bytes}, costs.data(), 7, 3, &channels);
  const long after = allocations_of_this_thread();
  EXPECT_EQ(after, before);
  EXPECT_THAT(costs.chosen(), ElementsAre("0,0", "1,2"));
}

TEST_P(TunerPlugin, ThreadsMayAskAtOnce) {
  write("allreduce,0,1000,tree,ll,4,-1,-1\nallreduce,1001,-1,ring,simple,7,-1,-1\n");
  const Communicator communicator(library_, GetParam(), 2, 16);
  std::array<int, 4> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&communicator, &mistakes = wrong[t], t] {
        for (std::size_t i = 0; i < 2000; ++i) {
          const bool small = (i + t) % 2 == 0;
          std::array<float, 21> costs;
          costs.fill(5);
          int channels = 0;
          (void)communicator.ask({.bytes = small ? 1000U : 1001U}, costs.data(), 7, 3, &channels);
          if (costs[small ? 0 : 5] != 0 || channels != (small ? 4 : 7)) ++mistakes;
        }
      });
    }
  }
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST_P(TunerPlugin, CommunicatorsHaveChoicesOfTheirOwn) {
  write("allreduce,0,-1,tree,simple,-1,1,-1\nallreduce,0,-1,ring,simple,-1,2,-1\n");
  const Communicator one(library_, GetParam(), 1, 8), two(library_, GetParam(), 2, 16);
  Costs of_one, of_two;
  int channels = 0;
  (void)one.ask({.bytes = 1}, of_one.data(), 7, 3, &channels);
  (void)two.ask({.bytes = 1}, of_two.data(), 7, 3, &channels);
  EXPECT_THAT(of_one.chosen(), ElementsAre("0,2"));
  EXPECT_THAT(of_two.chosen(), ElementsAre("1,2"));
}

TEST_F(Plugin, NeitherALoggerNorAContextIsNeeded) {
  setenv("LOCKSTEP_TUNER_TABLE", "/dev/null", 1);
  const auto& tuner = library_.tuner<nccl::TunerV3>(3);
  void* context = nullptr;
  EXPECT_EQ(tuner.init(8, 1, nullptr, &context), nccl::ok);
  EXPECT_EQ(tuner.destroy(context), nccl::ok);
  Costs costs;
  int channels = 0;
  EXPECT_EQ(tuner.info(nullptr, nccl::all_reduce, 1, 1, reinterpret_cast<float**>(costs.data()), 7,
                       3, &channels),
            nccl::ok);
  EXPECT_THAT(costs.chosen(), IsEmpty());
}

// What version 2 chose: algorithm, protocol, channels; -1 where it left them.
std::array<int, 3> chosen_by_v2(const Library& library, const Question& question, bool collnet,
                                bool nvls) {
  const auto& tuner = library.tuner<nccl::TunerV2>(2);
  void* context = nullptr;
  EXPECT_EQ(tuner.init(16, 2, nccl::log, &context), nccl::ok);
  std::array<int, 3> choice{-1, -1, -1};
  EXPECT_EQ(tuner.info(context, question.function, question.bytes, collnet ? 1 : 0, nvls ? 1 : 0,
                       question.pipe_ops, &choice[0], &choice[1], &choice[2]),
            nccl::ok);
  EXPECT_EQ(tuner.destroy(context), nccl::ok);
  return choice;
}

TEST_F(Plugin, VersionTwoNamesItsChoice) {
  write(
      "allreduce,0,1000,tree,ll,4,2,16\n"
      "allreduce,1001,2000,ring,ll128,-1,-1,-1\n");
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1000}, false, false), ElementsAre(kTree, kLl, 4));
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1001}, false, false),
              ElementsAre(kRing, kLl128, -1));
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 2001}, false, false), ElementsAre(-1, -1, -1));
}

TEST_F(Plugin, VersionTwoNamesNothingThatNcclCannotDo) {
  write(
      "allreduce,0,-1,nvls,simple,-1,-1,-1\n"
      "allreduce,0,-1,nvls_tree,ll,-1,-1,-1\n"
      "allreduce,0,-1,nvls_tree,simple,-1,-1,-1\n"
      "allreduce,0,-1,collnet_chain,simple,-1,-1,-1\n"
      "allreduce,0,-1,pat,simple,-1,-1,-1\n"
      "broadcast,0,-1,tree,simple,-1,-1,-1\n");
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1}, false, false), ElementsAre(-1, -1, -1));
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1}, false, true), ElementsAre(5, kSimple, -1));
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1}, true, false), ElementsAre(3, kSimple, -1));
  EXPECT_THAT(chosen_by_v2(library_, {.bytes = 1}, true, true), ElementsAre(kNvls, kSimple, -1));
  EXPECT_THAT(chosen_by_v2(library_, {.function = nccl::broadcast, .bytes = 1}, true, true),
              ElementsAre(-1, -1, -1));
}

}  // namespace
}  // namespace lockstep::topology::test
