// A real sshd on loopback, for this user, with keys and configuration of its own.
#pragma once

#include <string>
#include <vector>

#include "launcher/process/spawn.h"
#include "tests/launcher/temporary_folder.h"

namespace lockstep::launcher {

class LocalSshd {
 public:
  static constexpr const char* kProgram = "/usr/sbin/sshd";

  // Host names that lead to it; every other name is not known. REQUIRES: kProgram is installed.
  explicit LocalSshd(const std::vector<std::string>& hosts);
  LocalSshd(const LocalSshd&) = delete;
  LocalSshd& operator=(const LocalSshd&) = delete;
  ~LocalSshd();

  // The client's command line, flags and all.
  [[nodiscard]] std::string client() const;

 private:
  TemporaryFolder folder_;
  Process process_;
};

}  // namespace lockstep::launcher
