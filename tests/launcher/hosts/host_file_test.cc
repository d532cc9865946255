// What a path can lead to that is no list of hosts.
#include "launcher/hosts/host_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/launcher/hosts/readable_hosts.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {
namespace {

class HostFile : public testing::Test {
 protected:
  std::string refused(const std::filesystem::path& path) const {
    return refusal([&] { (void)read_host_file(path, "--hostfile F"); });
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "hosts";
};

TEST_F(HostFile, IsReadByteForByte) {
  const std::string text(200'000, '\0');
  std::ofstream(path_) << text << "end";
  EXPECT_EQ(read_host_file(path_, "F"), text + "end");
  std::filesystem::create_symlink(path_, folder_.path() / "link");
  EXPECT_EQ(read_host_file(folder_.path() / "link", "F"), text + "end");
}

TEST_F(HostFile, WhatIsNoFileIsRefusedByItsKind) {
  EXPECT_EQ(refused(folder_.path()),
            "--hostfile F: expected a file that names hosts, found a folder");
  EXPECT_EQ(refused("/dev/zero"), "--hostfile F: expected a file that names hosts, found a device");
  EXPECT_EQ(refused(path_), "--hostfile F: cannot be opened: No such file or directory");
}

TEST_F(HostFile, APipeWithoutAWriterIsRefusedWithoutWaitingForOne) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refused(path_), "--hostfile F: expected a file that names hosts, found a pipe");
}

TEST_F(HostFile, AHundredMegabytesAreRefused) {
  std::ofstream{path_};
  std::filesystem::resize_file(path_, 100'000'000);
  EXPECT_EQ(refused(path_), "--hostfile F: larger than 16 MiB, which no list of hosts is");
  std::filesystem::resize_file(path_, kLargestHostFile);
  EXPECT_EQ(read_host_file(path_, "F").size(), kLargestHostFile);
}

}  // namespace
}  // namespace lockstep::launcher
