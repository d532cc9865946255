// Every collective gives the right elements, at every world, size, type and place of the buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/collectives/ranks.h"

namespace lockstep::collectives {
namespace {

using engine::Sharing;
using testing::Each;

// The thread sanitizer is forty times slower and needs no size for its own sake.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kLargest = 1 << 15;
#else
constexpr std::size_t kLargest = 1 << 20;
#endif
constexpr std::size_t kSizes[] = {0, 1, 2, 3, 15, 16, 17, 255, 4096 + 3, kLargest};

enum class Where { arena, heap };

template <class T>
constexpr DType type_of();
template <>
constexpr DType type_of<float>() {
  return DType::f32;
}
template <>
constexpr DType type_of<double>() {
  return DType::f64;
}
template <>
constexpr DType type_of<std::int32_t>() {
  return DType::i32;
}
template <>
constexpr DType type_of<std::int64_t>() {
  return DType::i64;
}
template <>
constexpr DType type_of<std::uint8_t>() {
  return DType::u8;
}

// Small whole numbers, so that every sum is exact in every type: at most 8 ranks times 15.
template <class T>
T element(int rank, std::size_t i) {
  return static_cast<T>((i * 7 + static_cast<std::size_t>(rank) * 5 + i / 13) % 16);
}

template <class T>
T expected(ReduceOp op, int world, std::size_t i) {
  T value = element<T>(0, i);
  for (int r = 1; r < world; ++r) {
    const T next = element<T>(r, i);
    switch (op) {
      case ReduceOp::max:
        value = std::max(value, next);
        break;
      case ReduceOp::min:
        value = std::min(value, next);
        break;
      default:
        value = static_cast<T>(value + next);
    }
  }
  return op == ReduceOp::average ? static_cast<T>(value / static_cast<T>(world)) : value;
}

// A buffer of one rank that takes all sizes in turn; in an arena it begins off the cache line.
template <class T>
class TestBuffer {
 public:
  TestBuffer(Communicator& communicator, Where where) {
    if (where == Where::arena) {
      auto arena = communicator.allocate("test", (kLargest + 3) * sizeof(T), Sharing::exchanged);
      memory_ = {reinterpret_cast<T*>(arena.data()) + 3, kLargest};
    } else {
      heap_.resize(kLargest);
      memory_ = heap_;
    }
  }
  void resize(std::size_t count) { size_ = count; }
  T& operator[](std::size_t i) { return memory_[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Buffer buffer() const { return {memory_.data(), size_, type_of<T>()}; }
  void fill(int rank) {
    for (std::size_t i = 0; i < size(); ++i) memory_[i] = element<T>(rank, i);
  }

 private:
  std::vector<T> heap_;
  std::span<T> memory_;
  std::size_t size_ = 0;
};

// The first wrong element as text; empty for none. One gtest assertion an element would take
// minutes.
template <class T, class Expected>
std::string first_wrong(TestBuffer<T>& buffer, Slice range, Expected expect) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (buffer[i] == expect(i)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(buffer[i]) + ", expected " +
           std::to_string(expect(i));
  }
  return {};
}

class HostValues : public testing::TestWithParam<std::tuple<int, Where>> {
 protected:
  [[nodiscard]] int world() const { return std::get<0>(GetParam()); }
  [[nodiscard]] Where where() const { return std::get<1>(GetParam()); }

  template <class Body>
  void each_type(Body body) {
    body(float{});
    body(double{});
    body(std::int32_t{});
    body(std::int64_t{});
    body(std::uint8_t{});
  }

  void on_ranks(const std::function<void(Communicator&)>& body) {
    EXPECT_THAT(errors_of_ranks(world(), body), Each(std::string()));
  }
};

TEST_P(HostValues, AllReduceGivesEveryRankTheWholeResult) {
  each_type([&]<class T>(T) {
    on_ranks([&](Communicator& c) {
      TestBuffer<T> values(c, where());
      for (const auto op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::average}) {
        if (op == ReduceOp::average && type_of<T>() == DType::u8) continue;
        for (const std::size_t count : kSizes) {
          if (count == kLargest && op != ReduceOp::sum) continue;
          values.resize(count);
          values.fill(c.rank());
          c.stream().wait(c.all_reduce(values.buffer(), op));
          EXPECT_EQ(first_wrong(values, {0, count},
                                [&](std::size_t i) { return expected<T>(op, c.world(), i); }),
                    "")
              << name_of(type_of<T>()) << " x " << count << ", op " << static_cast<int>(op);
        }
      }
    });
  });
}

TEST_P(HostValues, ReduceScatterHandsEachElementOfTheSliceToTheConsumerOnce) {
  each_type([&]<class T>(T) {
    on_ranks([&](Communicator& c) {
      TestBuffer<T> values(c, where());
      for (const std::size_t count : kSizes) {
        values.resize(count);
        values.fill(c.rank());
        const Slice own = slice_of(count, c.rank(), c.world());
        std::size_t next = own.begin;
        std::string wrong;
        const auto consumer = [&](std::size_t begin, std::size_t end) {
          EXPECT_EQ(begin, next);
          EXPECT_LT(begin, end);
          next = end;
          wrong += first_wrong(values, {begin, end}, [&](std::size_t i) {
            return expected<T>(ReduceOp::sum, c.world(), i);
          });
          for (std::size_t i = begin; i < end; ++i) values[i] = static_cast<T>(values[i] + 1);
        };
        c.stream().wait(c.reduce_scatter(values.buffer(), ReduceOp::sum, consumer));
        EXPECT_EQ(next, own.end) << name_of(type_of<T>()) << " x " << count;
        EXPECT_EQ(wrong, "") << name_of(type_of<T>()) << " x " << count;
        EXPECT_EQ(first_wrong(values, own,
                              [&](std::size_t i) {
                                return static_cast<T>(expected<T>(ReduceOp::sum, c.world(), i) + 1);
                              }),
                  "")
            << "what the consumer wrote must stay";
      }
    });
  });
}

TEST_P(HostValues, AllGatherSpreadsWhatTheProducersWrote) {
  each_type([&]<class T>(T) {
    on_ranks([&](Communicator& c) {
      TestBuffer<T> values(c, where());
      for (const std::size_t count : kSizes) {
        values.resize(count);
        values.fill(c.rank() + 4);
        const Slice own = slice_of(count, c.rank(), c.world());
        std::size_t next = own.begin;
        const auto producer = [&](std::size_t begin, std::size_t end) {
          EXPECT_EQ(begin, next);
          next = end;
          for (std::size_t i = begin; i < end; ++i) values[i] = element<T>(3, i);
        };
        c.stream().wait(c.all_gather(values.buffer(), producer));
        EXPECT_EQ(next, own.end);
        EXPECT_EQ(first_wrong(values, {0, count}, [](std::size_t i) { return element<T>(3, i); }),
                  "")
            << name_of(type_of<T>()) << " x " << count;
      }
    });
  });
}

TEST_P(HostValues, BroadcastGivesEveryRankTheRootsElements) {
  each_type([&]<class T>(T) {
    on_ranks([&](Communicator& c) {
      TestBuffer<T> values(c, where());
      for (const std::size_t count : kSizes) {
        values.resize(count);
        for (int root = 0; root < c.world(); ++root) {
          if (count == kLargest && root != c.world() - 1) continue;
          values.fill(c.rank());
          c.stream().wait(c.broadcast(values.buffer(), root));
          EXPECT_EQ(
              first_wrong(values, {0, count}, [&](std::size_t i) { return element<T>(root, i); }),
              "")
              << name_of(type_of<T>()) << " x " << count << " from " << root;
        }
      }
    });
  });
}

TEST_P(HostValues, AllToAllTransposesTheBlocks) {
  each_type([&]<class T>(T) {
    on_ranks([&](Communicator& c) {
      const auto world = static_cast<std::size_t>(c.world());
      TestBuffer<T> send(c, where());
      TestBuffer<T> receive(c, where());
      for (const std::size_t size : kSizes) {
        const std::size_t block = size / world;
        send.resize(block * world);
        receive.resize(block * world);
        send.fill(c.rank());
        receive.fill(c.rank() + 1);
        c.stream().wait(c.all_to_all(send.buffer(), receive.buffer()));
        EXPECT_EQ(first_wrong(receive, {0, block * world},
                              [&](std::size_t i) {
                                const auto from = static_cast<int>(i / block);
                                const std::size_t at =
                                    static_cast<std::size_t>(c.rank()) * block + i % block;
                                return element<T>(from, at);
                              }),
                  "")
            << name_of(type_of<T>()) << " x " << block * world;
      }
    });
  });
}

TEST_P(HostValues, SumsAreMadeInTheOrderOfTheRanks) {
  // Whatever the order, the sum of these differs: a large number swallows the small ones that come
  // after.
  const auto value = [](int rank, std::size_t i) {
    return rank == static_cast<int>(i % 8)
               ? 3e8F + static_cast<float>(i)
               : 1.0F / static_cast<float>(rank * 3 + 1) + 13.0F * static_cast<float>(i % 97);
  };
  on_ranks([&](Communicator& c) {
    TestBuffer<float> all(c, where());
    TestBuffer<float> scattered(c, where());
    for (const std::size_t count : kSizes) {
      all.resize(count);
      scattered.resize(count);
      for (std::size_t i = 0; i < count; ++i) all[i] = scattered[i] = value(c.rank(), i);
      const auto in_order = [&](std::size_t i) {
        float sum = value(0, i);
        for (int r = 1; r < c.world(); ++r) sum += value(r, i);
        return sum;
      };
      c.all_reduce(all.buffer(), ReduceOp::sum);
      c.stream().wait(c.reduce_scatter(scattered.buffer(), ReduceOp::sum, {}));
      EXPECT_EQ(first_wrong(all, {0, count}, in_order), "");
      EXPECT_EQ(first_wrong(scattered, slice_of(count, c.rank(), c.world()), in_order), "");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, HostValues,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values(Where::arena, Where::heap)),
                         [](const auto& param) {
                           return "W" + std::to_string(std::get<0>(param.param)) +
                                  (std::get<1>(param.param) == Where::arena ? "Arena" : "Heap");
                         });

TEST(Slices, AreDisjointCoverTheBufferAndBeginAtCacheLines) {
  for (const std::size_t count : kSizes) {
    for (const int world : {1, 2, 3, 4, 8, 100}) {
      std::size_t next = 0;
      for (int rank = 0; rank < world; ++rank) {
        const Slice slice = slice_of(count, rank, world);
        EXPECT_EQ(slice.begin, next);
        EXPECT_LE(slice.begin, slice.end);
        if (slice.begin < count) {
          EXPECT_EQ(slice.begin % 16, 0U);
        }
        next = slice.end;
      }
      EXPECT_EQ(next, count) << world;
    }
  }
}

}  // namespace
}  // namespace lockstep::collectives
