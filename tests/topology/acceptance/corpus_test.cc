// Every recording of the corpus, read and judged, against what its sidecar says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "tests/topology/acceptance/corpus_table.h"
#include "tests/topology/acceptance/recorded_host.h"
#include "tests/topology/corpus.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

std::set<std::string> recordings() {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(test::corpus_folder())) {
    const std::string name = fs::relative(entry.path(), test::corpus_folder()).string();
    if (entry.is_regular_file() && !name.ends_with(".md")) names.insert(name);
  }
  return names;
}

class Corpus : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(test::corpus_folder())) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  }

  static Reading read(const std::string& name) {
    const auto recording = test::corpus(name);
    if (!recording) throw ReadError(name, 0, "not in the corpus");
    return read_recording(*recording);
  }
};

TEST_F(Corpus, EveryRecordingIsReadOrRefusedForTheRightReason) {
  std::set<std::string> left = recordings();
  int read_well = 0, refused = 0;
  for (const auto& row : test::recorded_counts())
    read_well += static_cast<int>(left.erase(row.file));
  for (const auto& row : test::recorded_fabrics())
    read_well += static_cast<int>(left.erase(row.file));
  for (const auto& row : test::recorded_settings())
    read_well += static_cast<int>(left.erase(row.file));
  for (const auto& [name, reason] : test::refused_recordings()) {
    refused += static_cast<int>(left.erase(name));
    try {
      (void)read(name);
      ADD_FAILURE() << name << " is read";
    } catch (const ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
  }
  // Those that came later than the table are read or refused all the same.
  for (const std::string& name : left) {
    try {
      (void)read(name);
      ++read_well;
    } catch (const ReadError& error) {
      ++refused;
      std::cout << "not in the table: " << error.what() << '\n';
    }
  }
  std::cout << fmt::format("{} recordings read, {} refused\n", read_well, refused);
}

TEST_F(Corpus, HostsHaveTheDevicesOfTheirSidecarsAndNoFalseAlarm) {
  for (const test::RecordedCounts& row : test::recorded_counts()) {
    const auto host = test::recorded_host({row.file});
    ASSERT_TRUE(host) << row.file;
    const Machine& machine = host->machine;
    EXPECT_EQ(machine.gpus.size(), static_cast<std::size_t>(row.gpus)) << row.file;
    EXPECT_EQ(machine.nics.size(), static_cast<std::size_t>(row.nics)) << row.file;
    EXPECT_EQ(machine.numa.size(), static_cast<std::size_t>(row.numa)) << row.file;
    EXPECT_EQ(test::alarms_of(machine), row.alarms) << row.file;
    for (const Finding& finding : machine.findings) {
      EXPECT_FALSE(finding.message.empty()) << row.file << ": " << finding.code;
      EXPECT_TRUE(finding.severity == Severity::info || !finding.remedy.empty())
          << row.file << ": " << finding.message;
    }
  }
}

TEST_F(Corpus, AdviceIsInWholeSentences) {
  for (const test::RecordedCounts& row : test::recorded_counts()) {
    const auto host = test::recorded_host({row.file});
    ASSERT_TRUE(host) << row.file;
    std::vector<std::string> sentences;
    for (const Advice& one : host->advice.settings) {
      EXPECT_FALSE(one.value.empty()) << row.file << ": " << one.variable;
      EXPECT_FALSE(one.evidence.empty()) << row.file << ": " << one.variable;
      sentences.push_back(one.reason);
      sentences.insert(sentences.end(), one.evidence.begin(), one.evidence.end());
    }
    for (const Unset& one : host->advice.unset) sentences.push_back(one.reason);
    for (const LeftOut& one : host->advice.left_out) sentences.push_back(one.reason);
    for (const Finding& one : host->advice.findings) sentences.push_back(one.message);
    for (const std::string& sentence : sentences) {
      EXPECT_FALSE(sentence.empty() || sentence.starts_with(' ') || sentence.starts_with(','))
          << row.file << ": " << sentence;
      EXPECT_EQ(sentence.find("  "), std::string::npos) << row.file << ": " << sentence;
      EXPECT_EQ(sentence.find(" ,"), std::string::npos) << row.file << ": " << sentence;
    }
  }
}

TEST_F(Corpus, FabricsHaveTheSwitchesAndAdaptersOfTheirSidecars) {
  for (const test::RecordedFabric& row : test::recorded_fabrics()) {
    const Reading reading = read(row.file);
    ASSERT_TRUE(reading.fabric) << row.file;
    EXPECT_EQ(reading.fabric->switches.size(), static_cast<std::size_t>(row.switches)) << row.file;
    EXPECT_EQ(reading.fabric->adapters.size(), static_cast<std::size_t>(row.hcas)) << row.file;
    EXPECT_EQ(reading.fabric->blocks.size(), static_cast<std::size_t>(row.blocks)) << row.file;
  }
}

TEST_F(Corpus, SettingsAreReadWithTheirFile) {
  for (const test::RecordedSettings& row : test::recorded_settings()) {
    const Machine machine = read(row.file).machine;
    EXPECT_EQ(machine.system.settings.size(), static_cast<std::size_t>(row.settings)) << row.file;
    for (const Setting& setting : machine.system.settings) {
      EXPECT_EQ(setting.origin, row.file);
      EXPECT_FALSE(setting.value.empty()) << row.file << ": " << setting.variable;
    }
    // Some of OCI's are templates.
    const bool unfilled = std::ranges::any_of(
        machine.system.settings, [](const Setting& one) { return one.value.starts_with("{{"); });
    EXPECT_EQ(machine.findings.size(), unfilled ? 1U : 0U) << row.file;
    for (const Finding& finding : machine.findings) EXPECT_EQ(finding.code, "value-unfilled");
  }
}

TEST_F(Corpus, SettingsOfProvidersAreLeftToThemWithoutAnotherRecording) {
  for (const test::RecordedSettings& row : test::recorded_settings()) {
    const auto host = test::recorded_host({row.file});
    ASSERT_TRUE(host) << row.file;
    EXPECT_NE(host->machine.system.provider, Provider::none) << row.file;
    EXPECT_THAT(host->advice.findings, IsEmpty()) << row.file;
    for (const Advice& one : host->advice.settings) {
      EXPECT_TRUE(one.standing == Standing::provider || one.variable == "NCCL_DEBUG" ||
                  one.variable == "NCCL_SOCKET_IFNAME")
          << row.file << ": " << one.variable << " is " << to_string(one.standing);
    }
  }
}

}  // namespace
}  // namespace lockstep::topology
