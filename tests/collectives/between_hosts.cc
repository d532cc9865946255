// Several hosts: every collective gives the right elements, in the order that is promised, with the
// same bits everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <future>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/collectives/hosts.h"

namespace lockstep::collectives {
namespace {

using engine::Sharing;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

// Nothing, odd, around the limits of small calls and pieces, and several parts of a message.
constexpr std::size_t kSizes[] = {0, 1, 3, 17, 128, 129, 1024, 1025, 65'536 + 7, 300'001};
constexpr std::size_t kLargest = 300'001;

// Whatever the order, the sum of these differs.
float value(int rank, std::size_t i) {
  return rank == static_cast<int>(i % 5)
             ? 3e8F + static_cast<float>(i)
             : 1.0F / static_cast<float>(rank * 3 + 1) + 13.0F * static_cast<float>(i % 97);
}

class BetweenHosts : public testing::TestWithParam<std::vector<int>> {
 protected:
  [[nodiscard]] static const std::vector<int>& hosts() { return GetParam(); }

  // Ranks of a host in order, then the host with its two children in the tree, from below.
  [[nodiscard]] static float sum_of(std::size_t host, std::size_t i) {
    int first = std::accumulate(hosts().begin(), hosts().begin() + static_cast<int>(host), 0);
    float sum = value(first, i);
    for (int r = 1; r < hosts()[host]; ++r) sum += value(first + r, i);
    for (const std::size_t child : {2 * host + 1, 2 * host + 2}) {
      if (child < hosts().size()) sum += sum_of(child, i);
    }
    return sum;
  }

  static void on_ranks(const std::function<void(Communicator&)>& body) {
    EXPECT_THAT(errors_of_hosts(hosts(), body), Each(std::string()));
  }
};

struct Memory {
  Memory(Communicator& c, bool in_arena) {
    if (in_arena) {
      const auto arena = c.allocate("test", (kLargest + 3) * sizeof(float), Sharing::exchanged);
      all = {reinterpret_cast<float*>(arena.data()) + 3, kLargest};
    } else {
      heap.resize(kLargest);
      all = heap;
    }
  }
  std::span<float> fill(std::size_t count, int rank) {
    for (std::size_t i = 0; i < count; ++i) all[i] = value(rank, i);
    return all.first(count);
  }
  std::vector<float> heap;
  std::span<float> all;
};

Buffer buffer_of(std::span<float> values) {
  return {values.data(), values.size(), DType::f32};
}

std::string first_wrong(std::span<const float> values, std::size_t begin,
                        const std::function<float(std::size_t)>& expected) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float right = expected(begin + i);
    if (std::memcmp(&values[i], &right, sizeof(float)) == 0) continue;
    return "element " + std::to_string(begin + i) + " of " + std::to_string(values.size()) +
           " is " + std::to_string(values[i]) + ", expected " + std::to_string(right);
  }
  return {};
}

TEST_P(BetweenHosts, AllReduceAddsLocalRanksInOrderAndThenAlongTheTree) {
  on_ranks([](Communicator& c) {
    for (const bool in_arena : {true, false}) {
      Memory memory(c, in_arena);
      for (const std::size_t count : kSizes) {
        const auto values = memory.fill(count, c.rank());
        c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum));
        EXPECT_EQ(first_wrong(values, 0, [](std::size_t i) { return sum_of(0, i); }), "")
            << "rank " << c.rank() << (in_arena ? ", arena" : ", heap");
      }
    }
  });
}

TEST_P(BetweenHosts, CallsMayBeUnderWayTogether) {
  on_ranks([](Communicator& c) {
    Memory large(c, true);
    Memory outside(c, false);
    std::vector<std::vector<float>> small(200, std::vector<float>(3));
    const auto first = large.fill(kLargest, c.rank());
    const auto second = outside.fill(kLargest, c.rank());
    c.all_reduce(buffer_of(first), ReduceOp::sum);
    Event last;
    for (auto& values : small) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(c.rank(), i);
      last = c.all_reduce(buffer_of(values), ReduceOp::sum);
    }
    c.all_reduce(buffer_of(second), ReduceOp::sum);
    c.stream().wait(last);
    const auto expected = [](std::size_t i) { return sum_of(0, i); };
    EXPECT_EQ(first_wrong(first, 0, expected), "");
    for (const auto& values : small) EXPECT_EQ(first_wrong(values, 0, expected), "");
    c.barrier();
    EXPECT_EQ(first_wrong(second, 0, expected), "");
  });
}

TEST_P(BetweenHosts, OtherOperationsAndTypesAreTakenOverAllRanks) {
  on_ranks([](Communicator& c) {
    const int world = c.world();
    for (const std::size_t count : {std::size_t{1}, std::size_t{5000}}) {
      std::vector<std::int64_t> least(count, c.rank() - 7);
      std::vector<double> most(count, c.rank());
      std::vector<std::int32_t> mean(count, 3 * c.rank());
      c.all_reduce({least.data(), count, DType::i64}, ReduceOp::min);
      c.all_reduce({most.data(), count, DType::f64}, ReduceOp::max);
      c.stream().wait(c.all_reduce({mean.data(), count, DType::i32}, ReduceOp::average));
      EXPECT_THAT(least, Each(-7));
      EXPECT_THAT(most, Each(world - 1));
      EXPECT_THAT(mean, Each(3 * (world * (world - 1) / 2) / world));
    }
  });
}

TEST_P(BetweenHosts, EveryHostConsumesEverySliceOfTheSumOnce) {
  std::mutex mutex;
  std::vector<std::vector<int>> consumed(hosts().size());
  on_ranks([&](Communicator& c) {
    for (const bool in_arena : {true, false}) {
      Memory memory(c, in_arena);
      for (const std::size_t count : kSizes) {
        {
          const std::lock_guard lock(mutex);
          consumed[static_cast<std::size_t>(c.place().host)].assign(count, 0);
        }
        c.barrier();
        const auto values = memory.fill(count, c.rank());
        const Slice own = c.slice(count);
        std::string wrong;
        std::size_t next = own.begin;
        c.stream().wait(c.reduce_scatter(
            buffer_of(values), ReduceOp::sum, [&](std::size_t begin, std::size_t end) {
              EXPECT_EQ(begin, next);
              next = end;
              wrong += first_wrong(values.subspan(begin, end - begin), begin,
                                   [](std::size_t i) { return sum_of(0, i); });
              const std::lock_guard lock(mutex);
              for (std::size_t i = begin; i < end; ++i) {
                ++consumed[static_cast<std::size_t>(c.place().host)][i];
              }
            }));
        EXPECT_EQ(wrong, "");
        EXPECT_EQ(next, own.end);
        c.barrier();
        EXPECT_THAT(consumed[static_cast<std::size_t>(c.place().host)], Each(1));
        c.barrier();
      }
    }
  });
}

TEST_P(BetweenHosts, AHostsSharedMemoryHasAllSlices) {
  on_ranks([](Communicator& c) {
    Memory gradients(c, true);
    const auto memory = c.allocate("weights", kLargest * sizeof(float), Sharing::host);
    const std::span<float> weights{reinterpret_cast<float*>(memory.data()), kLargest};
    const auto values = gradients.fill(kLargest, c.rank());
    c.reduce_scatter(buffer_of(values), ReduceOp::sum, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) weights[i] = -values[i];
    });
    c.stream().wait(c.all_gather(buffer_of(weights), nullptr));
    EXPECT_EQ(first_wrong(weights, 0, [](std::size_t i) { return -sum_of(0, i); }), "");
  });
}

TEST_P(BetweenHosts, BroadcastReachesEveryRankFromAnyRoot) {
  on_ranks([](Communicator& c) {
    for (const bool in_arena : {true, false}) {
      Memory memory(c, in_arena);
      for (const std::size_t count : kSizes) {
        for (int root = 0; root < c.world(); ++root) {
          const auto values = memory.fill(count, c.rank());
          c.stream().wait(c.broadcast(buffer_of(values), root));
          EXPECT_EQ(first_wrong(values, 0, [&](std::size_t i) { return value(root, i); }), "")
              << "from " << root << " to " << c.rank();
        }
      }
    }
  });
}

TEST_P(BetweenHosts, BroadcastOfAHostsMemoryCopiesTheRootsHosts) {
  on_ranks([](Communicator& c) {
    const auto memory = c.allocate("weights", kLargest * sizeof(float), Sharing::host);
    const std::span<float> weights{reinterpret_cast<float*>(memory.data()), kLargest};
    const int hosts = c.place().hosts;
    if (c.place().local_rank == 0) {
      for (std::size_t i = 0; i < kLargest; ++i) weights[i] = value(c.place().host, i);
    }
    c.barrier();
    c.stream().wait(c.broadcast(buffer_of(weights), c.world() - 1));
    EXPECT_EQ(first_wrong(weights, 0, [&](std::size_t i) { return value(hosts - 1, i); }), "");
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, BetweenHosts,
                         testing::Values(std::vector{1, 1}, std::vector{2, 2}, std::vector{1, 1, 1},
                                         std::vector{2, 2, 2}, std::vector{3, 1, 2},
                                         std::vector{1, 2, 1, 1, 1, 1}),
                         [](const auto& param) {
                           std::string name = "H";
                           for (const int ranks : param.param) name += std::to_string(ranks);
                           return name;
                         });

TEST(BetweenHostsCalls, HostsThatDisagreeAreToldWhoMadeWhat) {
  const auto errors = errors_of_hosts({1, 1}, [](Communicator& c) {
    std::vector<float> values(c.rank() == 0 ? 5000 : 6000);
    c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("hosts disagree about call #1"),
                                 HasSubstr("rank 0 (node0) made all_reduce of 5000 f32"),
                                 HasSubstr("rank 1 (node1) made all_reduce of 6000 f32"))));
}

TEST(BetweenHostsCalls, AHostThatNeverCallsIsNamedAtTheDeadline) {
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  std::atomic<int> waiting = 3;
  const auto errors = errors_of_hosts(
      {2, 1, 1},
      [&](Communicator& c) {
        c.barrier();
        if (c.rank() == 2) return end.wait();
        try {
          float word = 1;
          c.stream().wait(c.all_reduce({&word, 1, DType::f32}, ReduceOp::sum));
        } catch (...) {
          if (--waiting == 0) over.set_value();
          throw;
        }
      },
      std::chrono::seconds(1));
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_THAT(errors[rank], AllOf(HasSubstr("all_reduce #2"), HasSubstr("did not end within 1 s"),
                                    HasSubstr("rank 2 (node1) did not do its part between hosts")));
  }
}

TEST(BetweenHostsCalls, AnAbortEndsWaitsOnAllHosts) {
  const auto errors = errors_of_hosts({2, 2, 1}, [](Communicator& c) {
    c.barrier();
    if (c.rank() == 3) throw std::runtime_error("no room left");
    float word = 1;
    c.stream().wait(c.all_reduce({&word, 1, DType::f32}, ReduceOp::sum));
  });
  EXPECT_THAT(errors, Each(HasSubstr("no room left")));
}

TEST(BetweenHostsCalls, AllToAllIsRefusedWithASentence) {
  const auto errors = errors_of_hosts({1, 1}, [](Communicator& c) {
    std::vector<float> send(4), receive(4);
    c.all_to_all(buffer_of(send), buffer_of(receive));
  });
  EXPECT_THAT(errors, Contains(HasSubstr("all_to_all is made within one host; there are 2")));
}

}  // namespace
}  // namespace lockstep::collectives
