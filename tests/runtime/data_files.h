// A folder of its own for a test that reads files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/source.h"

namespace lockstep::runtime::data {

using Bytes = std::vector<std::uint8_t>;

inline Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

class DataFiles : public ::testing::Test {
 protected:
  DataFiles()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("data" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~DataFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const Bytes& bytes) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }

  // The message of the DataError that `act` throws, without the folder; a failure where it throws
  // none.
  template <typename Act>
  std::string refusal_of(const Act& act) const {
    try {
      act();
    } catch (const DataError& error) {
      std::string text = error.what();
      const std::string folder = folder_.string() + "/";
      for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
        text.erase(at, folder.size());
      return text;
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::runtime::data
