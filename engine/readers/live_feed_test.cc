#include "engine/readers/live_feed.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

std::string EventsFrom(const LiveFeed& feed, uint64_t* next, size_t most = 1000) {
  std::string out;
  return feed.Read(next, most, &out) ? out : "lost";
}

TEST(LiveFeed, HandsOutWhatCameInOrder) {
  LiveFeed feed(4, 100);
  uint64_t next = feed.Start();
  EXPECT_EQ(EventsFrom(feed, &next), "");
  EXPECT_FALSE(feed.Has(next));
  feed.Add("a");
  feed.Add("b");
  EXPECT_TRUE(feed.Has(0) && feed.Has(1));
  EXPECT_FALSE(feed.Has(2));
  EXPECT_EQ(EventsFrom(feed, &next), "id: 0\ndata: a\n\nid: 1\ndata: b\n\n");
  EXPECT_EQ(next, 2u);
  EXPECT_EQ(EventsFrom(feed, &next), "");
}

TEST(LiveFeed, StopsWhenEnoughWaits) {
  LiveFeed feed(8, 1000);
  for (int i = 0; i < 5; ++i) feed.Add("event");
  uint64_t next = 0;
  const std::string some = EventsFrom(feed, &next, 20);
  EXPECT_EQ(next, 2u);  // one is 19 bytes
  EXPECT_EQ(some.size(), 38u);
}

TEST(LiveFeed, ForgetsTheOldestAndSaysSoToWhoWasThere) {
  LiveFeed feed(3, 1000);
  uint64_t slow = feed.Start();
  for (const char* event : {"a", "b", "c", "d", "e"}) feed.Add(event);
  EXPECT_EQ(EventsFrom(feed, &slow), "lost");
  uint64_t fresh = feed.Start();
  EXPECT_EQ(fresh, 4u);  // the newer half of three
  EXPECT_EQ(EventsFrom(feed, &fresh), "id: 4\ndata: e\n\n");
}

TEST(LiveFeed, ItsBytesAreBoundedToo) {
  LiveFeed feed(100, 10);
  for (int i = 0; i < 4; ++i) feed.Add("1234");
  uint64_t next = 2;
  EXPECT_EQ(EventsFrom(feed, &next), "id: 2\ndata: 1234\n\nid: 3\ndata: 1234\n\n");
  next = 1;
  EXPECT_EQ(EventsFrom(feed, &next), "lost");
  feed.Add(std::string(11, 'x'));  // larger than all of it
  next = 4;
  EXPECT_EQ(EventsFrom(feed, &next), "lost");
  next = 5;
  EXPECT_EQ(EventsFrom(feed, &next), "");
}

}  // namespace
}  // namespace fg
