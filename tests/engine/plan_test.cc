// Places, events and the verifier on small graphs whose plan can be worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/error.h"
#include "engine/plan.h"
#include "engine/verify.h"
#include "tests/engine/ops.h"

namespace lockstep::engine {
namespace {

using test::ops;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ValueId value(Graph& graph, std::string name, std::int64_t elements, Role role) {
  return graph.add_value({.name = std::move(name), .shape = {elements}, .role = role});
}

ValueId add(Graph& graph, const std::string& name, ValueId a, ValueId b,
            StreamKind stream = StreamKind::compute) {
  return emit(graph, ops(),
              {.op = "add", .name = name, .inputs = {a, b}, .outputs = {}, .stream = stream})[0];
}

Plan planned(Graph graph) {
  PersistentPlacement placement;
  placement.place_parameters(graph, {});
  placement.place(graph);
  return plan_memory(place_events(std::move(graph)), ops(), placement);
}

// x -> a -> b -> c, each the sum of the last with itself, so that nothing can be done in place.
Graph chain(std::initializer_list<StreamKind> streams) {
  Graph graph;
  ValueId x = value(graph, "x", 100, Role::input);
  int number = 0;
  for (StreamKind stream : streams) x = add(graph, fmt::format("n{}", number++), x, x, stream);
  graph.set_result("end", x);
  return graph;
}

constexpr StreamKind kCompute = StreamKind::compute;
constexpr StreamKind kComm = StreamKind::communication;

TEST(PlanMemory, ReusesBytesWhoseLifetimesDoNotMeet) {
  const Plan plan = planned(chain({kCompute, kCompute, kCompute, kCompute}));
  // Two of the four are alive at a time; each is 100 floats in lines of 64 bytes.
  EXPECT_EQ(plan.lower_bound_activations, 2u * 448);
  EXPECT_EQ(plan.arena_bytes[static_cast<std::size_t>(Arena::activations)], 2u * 448);
  EXPECT_THAT(violations(plan), IsEmpty());
}

TEST(PlanMemory, WorksInPlaceOnlyWhereTheInputIsNotReadLater) {
  Graph graph;
  const ValueId x = value(graph, "x", 16, Role::input);
  const ValueId y = value(graph, "y", 16, Role::input);
  const ValueId a = add(graph, "a", x, y);
  const ValueId b = add(graph, "b", a, y);  // a is read again below
  const ValueId c = add(graph, "c", a, b);  // the last use of both; the first may be taken
  graph.set_result("c", c);
  const Plan plan = planned(graph);
  EXPECT_FALSE(plan.graph.value(a).alias_of.valid()) << "an input is not an activation";
  EXPECT_FALSE(plan.graph.value(b).alias_of.valid());
  EXPECT_EQ(plan.graph.storage_of(c), a);
  EXPECT_THAT(violations(plan), IsEmpty());
}

TEST(PlanMemory, KeepsWhatACommunicationNodeTouchesToTheEnd) {
  const Plan plan = planned(chain({kCompute, kComm, kCompute, kCompute, kCompute}));
  EXPECT_GE(plan.arena_bytes[static_cast<std::size_t>(Arena::activations)], 3u * 448);
  EXPECT_THAT(violations(plan), IsEmpty());
}

TEST(PlaceEvents, OrdersAcrossStreamsAndNowhereElse) {
  EXPECT_EQ(place_events(chain({kCompute, kCompute, kCompute})).events, 0);
  const Plan plan = place_events(chain({kCompute, kComm, kCompute}));
  EXPECT_EQ(plan.events, 2);
  EXPECT_EQ(plan.entries[0].records, 0);
  EXPECT_THAT(plan.entries[1].waits, ::testing::ElementsAre(0));
  EXPECT_EQ(plan.entries[1].records, 1);
  EXPECT_THAT(plan.entries[2].waits, ::testing::ElementsAre(1));
}

TEST(PlaceEvents, AddsNoEventThatAnEarlierOneImplies) {
  Graph graph;
  const ValueId x = value(graph, "x", 16, Role::input);
  const ValueId a = add(graph, "a", x, x);
  const ValueId b = add(graph, "b", a, a);
  const ValueId c = add(graph, "c", b, b, kComm);  // after b, and so after a
  graph.set_result("d", add(graph, "d", a, c, kComm));
  EXPECT_EQ(place_events(graph).events, 1);
}

TEST(Verify, RefusesThePlanWithoutAnyOneOfItsEvents) {
  const Plan plan = planned(chain({kCompute, kComm, kCompute, kComm, kCompute}));
  ASSERT_THAT(violations(plan), IsEmpty());
  int removed = 0;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    if (!plan.entries[i].waits.empty()) {
      Plan broken = plan;
      broken.entries[i].waits.clear();
      EXPECT_FALSE(violations(broken).empty()) << "without the wait of entry " << i;
      ++removed;
    }
    if (plan.entries[i].records >= 0) {
      Plan broken = plan;
      broken.entries[i].records = -1;
      EXPECT_FALSE(violations(broken).empty()) << "without the event of entry " << i;
    }
  }
  EXPECT_EQ(removed, 4);
}

TEST(Verify, SaysWhichNodesAndValuesNothingOrders) {
  Plan plan = planned(chain({kCompute, kComm}));
  plan.entries[1].waits.clear();
  EXPECT_THAT(violations(plan),
              ::testing::ElementsAre(HasSubstr(
                  "nothing orders \"n0\" (writes \"n0.out\") before \"n1\" (reads \"n0.out\")")));
  EXPECT_THROW(verify(plan), Error);
}

TEST(Verify, RefusesBytesThatAreReusedWhileTheyAreNeeded) {
  Graph graph;
  const ValueId x = value(graph, "x", 100, Role::input);
  const ValueId a = add(graph, "a", x, x);
  const ValueId between = add(graph, "between", x, x);
  graph.set_result("end", add(graph, "end", a, between));
  Plan plan = planned(graph);
  ASSERT_THAT(violations(plan), IsEmpty());
  plan.placements[static_cast<std::size_t>(between.index)] =
      plan.placements[static_cast<std::size_t>(a.index)];
  EXPECT_THAT(violations(plan),
              ::testing::Contains(HasSubstr("reads \"a.out\", whose bytes hold \"between.out\"")));
}

TEST(Verify, RefusesAValueOutsideItsArena) {
  Plan plan = planned(chain({kCompute}));
  plan.placements[static_cast<std::size_t>(plan.graph.node({0}).outputs[0].index)].offset = 1 << 20;
  EXPECT_THAT(violations(plan),
              ::testing::ElementsAre(HasSubstr("lies outside arena activations")));
}

TEST(Verify, RefusesAWaitForAnEventThatComesLater) {
  Plan plan = planned(chain({kCompute, kComm}));
  std::swap(plan.entries[0].records, plan.entries[1].records);
  EXPECT_THAT(violations(plan), ::testing::Contains(HasSubstr("which is not recorded before it")));
}

TEST(Placement, AlignsParametersAndSharesOffsetsWithGradientsAndStates) {
  Graph graph;
  const ValueId a = value(graph, "a", 5, Role::parameter);
  const ValueId b = value(graph, "b", 20, Role::parameter);
  const ValueId gradient =
      graph.add_value({.name = "b.grad", .shape = {20}, .role = Role::gradient, .of = b});
  const ValueId state =
      graph.add_value({.name = "b.v", .shape = {20}, .role = Role::optimizer, .of = b, .part = 1});
  PersistentPlacement placement;
  placement.place_parameters(graph, {{.parameters = {"b"}}, {.parameters = {"a"}}});
  placement.place(graph);
  EXPECT_EQ(placement.buckets()[0].begin, 0u);
  EXPECT_EQ(placement.buckets()[0].end, 32u);  // 20 elements in lines of 16
  EXPECT_EQ(placement.buckets()[1].end, 48u);
  EXPECT_EQ(placement.offset_of(graph, a), 32u * 4);
  EXPECT_EQ(placement.offset_of(graph, b), 0u);
  EXPECT_EQ(placement.offset_of(graph, gradient), 0u);
  EXPECT_EQ(placement.offset_of(graph, state), 48u * 4)
      << "the second state lies behind all of the first";
}

TEST(Placement, RefusesAParameterThatNoBucketHolds) {
  Graph graph;
  (void)value(graph, "lost", 5, Role::parameter);
  PersistentPlacement placement;
  EXPECT_THROW(placement.place_parameters(graph, {}), Error);
}

}  // namespace
}  // namespace lockstep::engine
