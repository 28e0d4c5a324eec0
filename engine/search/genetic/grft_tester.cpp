#include "engine/search/genetic/grft_tester.h"

#include <algorithm>

namespace fairlane {

void GrftTester::test(ThreadPool& pool, std::span<std::uint32_t const> numbers,
                      std::int32_t const* rows, std::uint8_t* hits) {
  auto const count = static_cast<std::int64_t>(numbers.size());
  auto const width = static_cast<std::size_t>(backend_.subject().get().columns);
  int const wanted = backend_.block_lanes(count);
  if (wanted > lanes_) {
    blocks_.clear();
    lanes_ = wanted;
  }
  blocks_.resize(static_cast<std::size_t>(backend_.concurrency()));
  pool.share(backend_.concurrency(), 0, count, wanted,
             [&](int thread, std::int64_t begin, std::int64_t n) {
               auto& block = blocks_[static_cast<std::size_t>(thread)];
               if (!block) block = backend_.make_block(lanes_, phase_);
               std::vector<std::uint8_t> const none(static_cast<std::size_t>(n), 0);
               for (std::int64_t at = begin; at < begin + n;) {
                 auto const some = static_cast<std::size_t>(
                     std::min<std::int64_t>(block->capacity(), begin + n - at));
                 auto const first = static_cast<std::size_t>(at);
                 block->place(numbers.subspan(first, some), rows + first * width);
                 block->test(Test::kLabels);
                 for (std::size_t i = 0; i < some; ++i)
                   hits[first + i] = block->hit(static_cast<int>(i)) ? 1 : 0;
                 block->retain({none.data(), some});
                 at += static_cast<std::int64_t>(some);
               }
             });
}

}  // namespace fairlane
