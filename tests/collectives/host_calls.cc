// How calls of the host communicator queue up, wait and fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <latch>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/collectives/ranks.h"

namespace lockstep::collectives {
namespace {

using engine::Sharing;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::span<float> floats(std::span<std::byte> memory) {
  return {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
}

Buffer buffer_of(std::span<float> values) {
  return {values.data(), values.size(), DType::f32};
}

TEST(HostCalls, ManyCanBePendingAndEndInOrder) {
  // More than the ring has entries, of all sizes, so that every mark is held up by every other.
  constexpr std::size_t kCalls = 500;
  constexpr std::size_t kCount = 1500;
  const auto errors = errors_of_ranks(4, [&](Communicator& c) {
    auto arena =
        floats(c.allocate("gradients", kCalls * kCount * sizeof(float), Sharing::exchanged));
    std::vector<float> heap(kCalls * kCount);
    std::vector<Event> events;
    for (std::size_t i = 0; i < kCalls; ++i) {
      const auto values =
          (i % 3 == 0 ? std::span(heap) : arena).subspan(i * kCount, i % 2 == 0 ? kCount : 5);
      for (float& value : values) value = static_cast<float>(i) + static_cast<float>(c.rank());
      events.push_back(c.all_reduce(buffer_of(values), ReduceOp::sum));
    }
    for (std::size_t i = 0; i < kCalls; ++i) {
      c.stream().wait(events[i]);
      const auto values =
          (i % 3 == 0 ? std::span(heap) : arena).subspan(i * kCount, i % 2 == 0 ? kCount : 5);
      EXPECT_THAT(values, Each(4 * static_cast<float>(i) + 6)) << i;
    }
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, ProgressAloneEndsThem) {
  const auto errors = errors_of_ranks(3, [](Communicator& c) {
    auto values = floats(c.allocate("gradients", 100'000 * sizeof(float), Sharing::exchanged));
    bool consumed = false;
    const Event event = c.reduce_scatter(buffer_of(values), ReduceOp::sum,
                                         [&](std::size_t, std::size_t) { consumed = true; });
    while (!consumed) c.stream().progress();
    c.stream().wait(event);
    EXPECT_EQ(c.stream().record().sequence, event.sequence);
    EXPECT_GT(c.time().working, 0);
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, AGatherInTheHostsMemoryIsSeenByAllAndMovesNothing) {
  const auto errors = errors_of_ranks(4, [](Communicator& c) {
    auto values = floats(c.allocate("parameters", 10'000 * sizeof(float), Sharing::host));
    c.stream().wait(c.all_gather(buffer_of(values), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) values[i] = static_cast<float>(i);
    }));
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i));
    c.stream().wait(c.broadcast(buffer_of(values), 2));
    c.barrier();
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, ASumOfMemoryThatAllShareIsRefused) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    auto values = floats(c.allocate("parameters", 10'000 * sizeof(float), Sharing::host));
    c.all_reduce(buffer_of(values), ReduceOp::sum);
  });
  EXPECT_THAT(errors, Each(HasSubstr("Sharing::host")));
}

TEST(HostCalls, NotANumberOnAnyRankIsSeenByAll) {
  const auto errors = errors_of_ranks(3, [](Communicator& c) {
    for (const auto op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::average}) {
      for (int culprit = 0; culprit < 3; ++culprit) {
        float value = c.rank() == culprit ? std::numeric_limits<float>::quiet_NaN() : 1;
        c.stream().wait(c.all_reduce({&value, 1, DType::f32}, op));
        EXPECT_TRUE(std::isnan(value)) << static_cast<int>(op) << " " << culprit;
      }
    }
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, DifferentCallsAreAnErrorThatNamesBoth) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    float value = 1;
    const Buffer buffer{&value, 1, DType::f32};
    c.barrier();
    c.stream().wait(c.rank() == 0 ? c.all_reduce(buffer, ReduceOp::sum) : c.broadcast(buffer, 1));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("call #2"), HasSubstr("rank 0"), HasSubstr("rank 1"),
                                 HasSubstr("all_reduce of 1 f32 (sum"),
                                 HasSubstr("broadcast of 1 f32 (root 1"))));
}

TEST(HostCalls, DifferentCountsAreAnErrorThatNamesBoth) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    std::vector<float> values(c.rank() == 0 ? 5000 : 6000);
    c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("5000"), HasSubstr("6000"))));
}

TEST(HostCalls, DifferentArenasAreAnErrorThatNamesBothSizes) {
  const auto errors = errors_of_ranks(3, [](Communicator& c) {
    const std::size_t bytes = c.rank() == 2 ? 8192 : 4096;
    static_cast<void>(c.allocate("gradients", bytes, Sharing::exchanged));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("gradients"), HasSubstr("4096"), HasSubstr("8192"),
                                 HasSubstr("rank 0"), HasSubstr("rank 2"))));
}

TEST(HostCalls, ABufferThatLeavesItsArenaIsRefused) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    auto values = floats(c.allocate("gradients", 8192, Sharing::exchanged));
    c.all_reduce({values.data() + 1, 4096, DType::f32}, ReduceOp::sum);
  });
  EXPECT_THAT(errors, Each(HasSubstr("does not fit into arena gradients")));
}

TEST(HostCalls, ArenasBeginAtAPageAndAreZero) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    for (const auto sharing : {Sharing::own, Sharing::exchanged, Sharing::host}) {
      auto memory = c.allocate("memory", 10'000, sharing);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0U);
      EXPECT_EQ(memory.size(), 10'000U);
      EXPECT_THAT(memory, Each(std::byte{0}));
      EXPECT_TRUE(c.allocate("nothing", 0, sharing).empty());
      c.barrier();
    }
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, AtTheDeadlineTheMissingRankIsNamedOnAll) {
  std::latch others_failed(2);
  const auto errors = errors_of_ranks(
      3,
      [&](Communicator& c) {
        auto values = floats(c.allocate("gradients", 1 << 20, Sharing::exchanged));
        c.barrier();
        if (c.rank() == 2) return others_failed.wait();
        try {
          c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum));
        } catch (...) {
          others_failed.count_down();
          throw;
        }
      },
      milliseconds(200));
  for (const int rank : {0, 1}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                AllOf(HasSubstr("all_reduce #2 (1.0 MiB)"), HasSubstr("rank 2 did not join it"),
                      HasSubstr("0.2 s")));
  }
  EXPECT_EQ(errors[2], "");
}

TEST(HostCalls, AfterAnAbortPendingAndLaterCallsFailWithTheFirstReason) {
  const auto errors = errors_of_ranks(3, [](Communicator& c) {
    std::vector<float> values(100'000);
    c.barrier();
    if (c.rank() == 1) {
      c.abort("the disk is full");
      c.abort("another reason");
    } else {
      EXPECT_THROW(c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum)),
                   CollectiveError);
    }
    EXPECT_THROW(c.barrier(), CollectiveError);
    c.all_reduce(buffer_of(values), ReduceOp::sum);
  });
  EXPECT_THAT(errors, Each(std::string("the disk is full")));
}

TEST(HostCalls, AbortFromAnotherThreadWakesSleepers) {
  std::atomic<int> waiting = 0;
  const auto errors = errors_of_ranks(2, [&](Communicator& c) {
    if (c.rank() == 1) {
      std::thread other([&] {
        while (waiting == 0) std::this_thread::yield();
        c.abort("stopped from outside");
      });
      other.join();
      return;
    }
    float value = 0;
    const Event event = c.all_reduce({&value, 1, DType::f32}, ReduceOp::sum);
    waiting = 1;
    c.stream().wait(event);
  });
  EXPECT_EQ(errors[0], "stopped from outside");
}

TEST(HostCalls, WhatAConsumerThrowsReachesItsRankAndNamesItToTheOthers) {
  const auto errors = errors_of_ranks(3, [](Communicator& c) {
    auto values = floats(c.allocate("gradients", 1 << 20, Sharing::exchanged));
    c.stream().wait(
        c.reduce_scatter(buffer_of(values), ReduceOp::sum, [&](std::size_t, std::size_t) {
          if (c.rank() == 1) throw std::runtime_error("no room");
        }));
  });
  EXPECT_THAT(errors[1], HasSubstr("no room"));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1"), HasSubstr("no room")));
  EXPECT_THAT(errors[2], AllOf(HasSubstr("rank 1"), HasSubstr("no room")));
}

TEST(HostCalls, TimeTellsALatePeerFromWork) {
  const auto errors = errors_of_ranks(2, [](Communicator& c) {
    auto values = floats(c.allocate("gradients", 1 << 20, Sharing::exchanged));
    c.barrier();
    const CommunicationTime before = c.time();
    if (c.rank() == 1) {
      const auto until = std::chrono::steady_clock::now() + milliseconds(50);
      while (std::chrono::steady_clock::now() < until) c.stream().progress();
    }
    c.stream().wait(c.all_reduce(buffer_of(values), ReduceOp::sum));
    const CommunicationTime after = c.time();
    EXPECT_GE(after.waiting, after.peer_wait);
    EXPECT_GT(after.working, before.working);
    if (c.rank() == 0) {
      EXPECT_GT(after.peer_wait - before.peer_wait, 0.03);
    }
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(HostCalls, OneRankNeedsNobody) {
  const auto alone = host::make_host_communicator({});
  auto values = floats(alone->allocate("gradients", 40'000, Sharing::exchanged));
  std::vector<float> heap(10, 3.0F);
  values[9'999] = 7;
  std::size_t consumed = 0;
  alone->stream().wait(
      alone->reduce_scatter(buffer_of(values), ReduceOp::average,
                            [&](std::size_t begin, std::size_t end) { consumed += end - begin; }));
  alone->stream().wait(alone->all_reduce(buffer_of(heap), ReduceOp::sum));
  alone->barrier();
  EXPECT_EQ(consumed, values.size());
  EXPECT_EQ(values[9'999], 7);
  EXPECT_THAT(heap, Each(3.0F));
}

TEST(HostCalls, WrongArgumentsAreRefusedWithASentence) {
  const auto alone = host::make_host_communicator({});
  std::vector<float> values(10);
  const auto message_of = [](auto call) -> std::string {
    try {
      call();
    } catch (const CollectiveError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message_of([&] { alone->broadcast(buffer_of(values), 1); }),
              HasSubstr("expected a rank from 0 to 0"));
  EXPECT_THAT(message_of([&] {
                alone->all_to_all(buffer_of(values), {values.data(), 9, DType::f32});
              }),
              HasSubstr("all_to_all of 10 f32 into 9 f32"));
  EXPECT_THAT(message_of([&] {
                alone->all_reduce({nullptr, 0, DType::u8}, ReduceOp::average);
              }),
              HasSubstr("u8"));
  EXPECT_THAT(message_of([&] { alone->stream().wait({99}); }), HasSubstr("never recorded"));
  EXPECT_THAT(
      message_of([&] { static_cast<void>(host::make_host_communicator({.rank = 2, .world = 2})); }),
      HasSubstr("rank 2 of 2"));
  EXPECT_THAT(
      message_of([&] { static_cast<void>(host::make_host_communicator({.rank = 0, .world = 2})); }),
      HasSubstr("need a store"));
}

}  // namespace
}  // namespace lockstep::collectives
