// Disks that fail, for tests of what is written to them.
//
// FaultyFileSystem counts the operations that change something and makes one of them fail.
// MemoryFileSystem is a disk that can lose power: it knows what is durable, and what a restart may
// find of the rest.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::checkpoint::faults {

enum class Fault {
  none,
  one_error,  // that operation fails with EIO, once
  no_space,   // from there on nothing can be made or written (ENOSPC), but removed, renamed and
              // synchronised
  stop        // the machine stops: nothing from there on happens
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& inner) : inner_(inner) {}

  // The operation of that number, counted from 1 and from now, fails. A write that fails leaves
  // half its bytes.
  void arm(Fault fault, int at) {
    fault_ = fault;
    at_ = at;
    log_.clear();
  }
  // What was attempted since then, as "write model.safetensors".
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }

  void create_directory(const std::filesystem::path& path) override {
    enter("mkdir", path, Grows::yes);
    inner_.create_directory(path);
  }
  [[nodiscard]] std::unique_ptr<WritableFile> create_file(
      const std::filesystem::path& path) override {
    enter("create", path, Grows::yes);
    return std::make_unique<File>(*this, inner_.create_file(path), path);
  }
  void sync_directory(const std::filesystem::path& path) override {
    enter("fsync folder", path, Grows::no);
    inner_.sync_directory(path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    enter("rename", from, Grows::no);
    inner_.rename(from, to);
  }
  void remove(const std::filesystem::path& path) override {
    enter("remove", path, Grows::no);
    inner_.remove(path);
  }
  [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& path) override {
    return inner_.list(path);
  }
  [[nodiscard]] std::unique_ptr<ReadableFile> open_file(
      const std::filesystem::path& path) override {
    return inner_.open_file(path);
  }

 private:
  enum class Grows { yes, no };

  class File final : public WritableFile {
   public:
    File(FaultyFileSystem& disk, std::unique_ptr<WritableFile> inner, std::filesystem::path path)
        : disk_(disk), inner_(std::move(inner)), path_(std::move(path)) {}
    void write(std::span<const std::byte> bytes) override {
      try {
        disk_.enter("write", path_, Grows::yes);
      } catch (const FileSystemError&) {
        if (disk_.fails_now()) inner_->write(bytes.first(bytes.size() / 2));
        throw;
      }
      inner_->write(bytes);
    }
    void sync() override {
      disk_.enter("fsync", path_, Grows::no);
      inner_->sync();
    }

   private:
    FaultyFileSystem& disk_;
    std::unique_ptr<WritableFile> inner_;
    std::filesystem::path path_;
  };

  [[nodiscard]] int count() const { return static_cast<int>(log_.size()); }
  [[nodiscard]] bool fails_now() const { return count() == at_; }

  void enter(const char* call, const std::filesystem::path& path, Grows grows) {
    log_.push_back(std::string(call) + " " + path.filename().string());
    const bool fails = (fault_ == Fault::one_error && count() == at_) ||
                       (fault_ == Fault::no_space && count() >= at_ && grows == Grows::yes) ||
                       (fault_ == Fault::stop && count() >= at_);
    if (fails) throw FileSystemError(call, path, fault_ == Fault::no_space ? ENOSPC : EIO);
  }

  FileSystem& inner_;
  Fault fault_ = Fault::none;
  int at_ = 0;
  std::vector<std::string> log_;
};

// Files and folders in memory. A name is durable once its folder is synchronised, bytes once their
// file is.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem() : root_(std::make_shared<Node>()) { root_->folder = true; }

  // What a restart after a loss of power finds: of each folder's changes since it was synchronised
  // the first few (as a journal keeps them), of each file's unsynchronised bytes some, the rest
  // missing or zero.
  void restart(std::mt19937& random) { lose(*root_, random); }

  // Bytes of a file, to damage them.
  [[nodiscard]] std::vector<std::byte>& bytes(const std::filesystem::path& path) {
    return find(path, "open")->bytes;
  }

  void create_directory(const std::filesystem::path& path) override {
    Node& parent = *find(path.parent_path(), "mkdir");
    const std::string name = path.filename().string();
    if (const auto found = parent.names.find(name); found != parent.names.end()) {
      if (found->second->folder) return;
      throw FileSystemError("mkdir", path, EEXIST);
    }
    auto node = std::make_shared<Node>();
    node->folder = true;
    change(parent, {name, "", node});
  }
  [[nodiscard]] std::unique_ptr<WritableFile> create_file(
      const std::filesystem::path& path) override {
    Node& parent = *find(path.parent_path(), "open");
    const std::string name = path.filename().string();
    if (parent.names.contains(name)) throw FileSystemError("open", path, EEXIST);
    auto node = std::make_shared<Node>();
    change(parent, {name, "", node});
    return std::make_unique<Written>(node);
  }
  void sync_directory(const std::filesystem::path& path) override {
    Node& node = *find(path, "fsync");
    node.durable_names = node.names;
    node.pending.clear();
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    if (from.parent_path() != to.parent_path()) throw FileSystemError("rename", from, EXDEV);
    const auto node = find(from, "rename");
    Node& parent = *find(from.parent_path(), "rename");
    if (const auto target = parent.names.find(to.filename().string());
        target != parent.names.end() && target->second->folder && !target->second->names.empty()) {
      throw FileSystemError("rename", from, ENOTEMPTY);
    }
    change(parent, {to.filename().string(), from.filename().string(), node});
  }
  void remove(const std::filesystem::path& path) override {
    if (!find(path, "remove")->names.empty()) throw FileSystemError("remove", path, ENOTEMPTY);
    change(*find(path.parent_path(), "remove"), {"", path.filename().string(), nullptr});
  }
  [[nodiscard]] std::vector<std::string> list(const std::filesystem::path& path) override {
    std::vector<std::string> names;
    for (const auto& [name, node] : find(path, "list")->names) names.push_back(name);
    return names;
  }
  [[nodiscard]] std::unique_ptr<ReadableFile> open_file(
      const std::filesystem::path& path) override {
    return std::make_unique<Read>(find(path, "open"));
  }

 private:
  struct Node;
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  // One step of a folder's history: `removed` goes and `added` comes, together.
  struct Change {
    std::string added;
    std::string removed;
    std::shared_ptr<Node> node;
  };

  struct Node {
    bool folder = false;
    Names names, durable_names;
    std::vector<Change> pending;
    std::vector<std::byte> bytes, durable_bytes;
  };

  class Written final : public WritableFile {
   public:
    explicit Written(std::shared_ptr<Node> node) : node_(std::move(node)) {}
    void write(std::span<const std::byte> bytes) override {
      node_->bytes.insert(node_->bytes.end(), bytes.begin(), bytes.end());
    }
    void sync() override { node_->durable_bytes = node_->bytes; }

   private:
    std::shared_ptr<Node> node_;
  };

  class Read final : public ReadableFile {
   public:
    explicit Read(std::shared_ptr<Node> node) : node_(std::move(node)) {}
    [[nodiscard]] std::uint64_t size() const override { return node_->bytes.size(); }
    [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
      const auto rest = std::span(node_->bytes).subspan(at_);
      const std::size_t count = std::min(rest.size(), bytes.size());
      std::copy_n(rest.begin(), count, bytes.begin());
      at_ += count;
      return count;
    }

   private:
    std::shared_ptr<Node> node_;
    std::size_t at_ = 0;
  };

  static void apply(Names& names, const Change& change) {
    if (!change.removed.empty()) names.erase(change.removed);
    if (!change.added.empty()) names[change.added] = change.node;
  }

  static void change(Node& folder, const Change& change) {
    apply(folder.names, change);
    folder.pending.push_back(change);
  }

  static std::size_t some_of(std::size_t count, std::mt19937& random) {
    // None and all are as likely as anything between.
    switch (random() % 3) {
      case 0:
        return 0;
      case 1:
        return count;
      default:
        return random() % (count + 1);
    }
  }

  static void lose(Node& node, std::mt19937& random) {
    if (!node.folder) {
      if (node.bytes == node.durable_bytes) return;
      const std::size_t unsynced = node.bytes.size() - node.durable_bytes.size();
      const std::size_t length = node.durable_bytes.size() + some_of(unsynced, random);
      node.bytes.resize(length);
      const std::size_t kept = some_of(length - node.durable_bytes.size(), random);
      std::fill(node.bytes.begin() + static_cast<std::ptrdiff_t>(node.durable_bytes.size() + kept),
                node.bytes.end(), std::byte{0});
      node.durable_bytes = node.bytes;
      return;
    }
    const std::size_t kept = some_of(node.pending.size(), random);
    for (std::size_t at = 0; at < kept; ++at) apply(node.durable_names, node.pending[at]);
    node.pending.clear();
    node.names = node.durable_names;
    for (const auto& [name, child] : node.names) lose(*child, random);
  }

  std::shared_ptr<Node> find(const std::filesystem::path& path, const char* call) const {
    std::shared_ptr<Node> node = root_;
    for (const auto& part : path.relative_path()) {
      const auto found = node->names.find(part.string());
      if (found == node->names.end()) throw FileSystemError(call, path, ENOENT);
      node = found->second;
    }
    return node;
  }

  std::shared_ptr<Node> root_;
};

}  // namespace lockstep::runtime::checkpoint::faults
