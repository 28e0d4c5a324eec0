// Arithmetic and memory, against the host.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#include "tests/gpusim/selftest/cases.h"

namespace fairlane::gpusim {

namespace {

constexpr int kCount = 10000;
constexpr int kThreads = 256;
constexpr int kBlocks = (kCount + kThreads - 1) / kThreads;

__device__ int thread_number() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void sum_up(int const* in, int n, int* out, unsigned long long* total) {
  __shared__ int part[8];
  int sum = 0;
  for (int i = thread_number(); i < n; i += static_cast<int>(gridDim.x * blockDim.x)) sum += in[i];
  atomicAdd(total, static_cast<unsigned long long>(sum));
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, static_cast<unsigned>(d));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  int all = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) all += part[w];
  out[blockIdx.x] = all;
}

bool sums() {
  std::vector<int> in(kCount);
  long long expected = 0;
  for (int k = 0; k < kCount; ++k) expected += in[static_cast<std::size_t>(k)] = k * 7 % 1001;
  OnDevice<int> const from(in);
  OnDevice<int> to(5);
  OnDevice<unsigned long long> total(1);
  total.zero();
  sum_up<<<5, kThreads>>>(from.data(), kCount, to.data(), total.data());
  long long found = 0;
  for (int const x : to.values()) found += x;
  return found == expected && static_cast<long long>(total.values()[0]) == expected;
}

__host__ __device__ float smaller(float a, float b) { return a < b ? a : b; }

struct Numbers {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<unsigned> u;
};

Numbers numbers() {
  std::mt19937 random(3);
  Numbers n;
  for (int k = 0; k < kCount; ++k) {
    auto const any = [&] {
      auto const whole = static_cast<float>(static_cast<int>(random()));
      return std::ldexp(whole, -static_cast<int>(random() % 31));
    };
    n.a.push_back(any());
    n.b.push_back(any() + 0.125F);
    n.u.push_back(static_cast<unsigned>(random()));
  }
  return n;
}

constexpr int kFloats = 7;

/// f [kFloats]: results of floats a and b
__host__ __device__ void float_results(float a, float b, float* f) {
#ifdef __CUDA_ARCH__
  f[0] = __fmaf_rn(a, b, 1.5F);
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(f[6]) : "f"(b > 4096.0F ? NAN : a), "f"(b));
#else
  f[0] = std::fma(a, b, 1.5F);
  f[6] = b > 4096.0F ? __builtin_bit_cast(float, 0x7FFFFFFF) : std::fmax(a, b);
#endif
  f[1] = a / b;
  f[2] = sqrtf(fabsf(a));
  f[3] = fminf(a, b) - fmaxf(b, 0.25F);
  f[4] = static_cast<float>(static_cast<int>(a)) + rintf(b);
  f[5] = floorf(a) + ceilf(b) + truncf(a) + smaller(a, b);
}

__global__ void floats(float const* a, float const* b, float* f, int n) {
  int const t = thread_number();
  if (t < n) float_results(a[t], b[t], f + kFloats * t);
}

bool arithmetic() {
  Numbers const n = numbers();
  OnDevice<float> const a(n.a);
  OnDevice<float> const b(n.b);
  OnDevice<float> f(std::size_t{kFloats} * kCount);
  floats<<<kBlocks, kThreads>>>(a.data(), b.data(), f.data(), kCount);
  std::vector<float> const found = f.values();
  for (std::size_t t = 0; t < kCount; ++t) {
    float wanted[kFloats];
    float_results(n.a[t], n.b[t], wanted);
    if (std::memcmp(wanted, &found[kFloats * t], sizeof wanted) != 0) return false;
  }
  return true;
}

/// i [6]: of a word u
__global__ void integers(unsigned const* from, std::uint64_t* i, int n) {
  int const t = thread_number();
  if (t >= n) return;
  unsigned const u = from[t];
  std::uint64_t* const out = i + 6 * t;
  out[0] = static_cast<std::uint64_t>(u) * 0x9E3779B97F4A7C15ULL / (u % 1000 + 1);
  out[1] = static_cast<std::uint64_t>(__clz(static_cast<int>(u)) + 100 * __popc(u) +
                                      10000 * __ffs(static_cast<int>(u)));
  out[2] = __brev(u) ^ __umulhi(u, 0xDEADBEEFU);
  out[3] = __byte_perm(u, ~u, 0x7531) + (u << (u & 31));
  out[4] = __funnelshift_l(u, ~u, u >> 7) ^ __funnelshift_r(u, 2 * u, u >> 9);
  out[5] = static_cast<std::uint64_t>((static_cast<long long>(static_cast<int>(u)) >> 7) +
                                      static_cast<int>(u) / 7 % 5);
}

void integer_results(unsigned u, std::uint64_t* out) {
  std::uint64_t const both = u | static_cast<std::uint64_t>(~u) << 32;
  auto const s = static_cast<int>(u);
  unsigned reversed = 0;
  unsigned permuted = 0;
  for (int k = 0; k < 32; ++k) reversed |= (u >> k & 1) << (31 - k);
  for (int k = 0; k < 4; ++k)
    permuted |= static_cast<unsigned>(both >> (8 * (0x7531 >> (4 * k) & 7)) & 255) << (8 * k);
  out[0] = static_cast<std::uint64_t>(u) * 0x9E3779B97F4A7C15ULL / (u % 1000 + 1);
  out[1] = static_cast<std::uint64_t>((u != 0 ? __builtin_clz(u) : 32) +
                                      100 * __builtin_popcount(u) + 10000 * __builtin_ffs(s));
  out[2] = reversed ^ static_cast<unsigned>(std::uint64_t{u} * 0xDEADBEEFU >> 32);
  out[3] = permuted + (u << (u & 31));
  std::uint64_t const right = u | static_cast<std::uint64_t>(2 * u) << 32;
  out[4] = static_cast<unsigned>(both << (u >> 7 & 31) >> 32) ^
           static_cast<unsigned>(right >> (u >> 9 & 31));
  out[5] = static_cast<std::uint64_t>((static_cast<long long>(s) >> 7) + s / 7 % 5);
}

bool words() {
  Numbers const n = numbers();
  OnDevice<unsigned> const u(n.u);
  OnDevice<std::uint64_t> i(std::size_t{6} * kCount);
  integers<<<kBlocks, kThreads>>>(u.data(), i.data(), kCount);
  std::vector<std::uint64_t> const found = i.values();
  for (std::size_t t = 0; t < kCount; ++t) {
    std::uint64_t wanted[6];
    integer_results(n.u[t], wanted);
    if (std::memcmp(wanted, &found[6 * t], sizeof wanted) != 0) return false;
  }
  return true;
}

/// Doubles what it reads, in accesses of 8 and 16 bytes.
__global__ void double_all(uint2 const* two, uint4 const* four, ulonglong2 const* wide, uint2* to2,
                           uint4* to4, ulonglong2* to_wide) {
  int const t = thread_number();
  asm volatile("prefetch.global.L2 [%0];" ::"l"(wide + t));
  uint2 const a = two[t];
  uint4 const b = four[t];
  ulonglong2 const c = wide[t];
  to2[t] = make_uint2(2 * a.x, 2 * a.y);
  to4[t] = make_uint4(2 * b.x, 2 * b.y, 2 * b.z, 2 * b.w);
  to_wide[t] = make_ulonglong2(2 * c.x, 2 * c.y);
}

bool vectors() {
  constexpr std::size_t kAll = 1024;
  std::vector<unsigned> values(kAll);
  for (std::size_t k = 0; k < kAll; ++k) values[k] = static_cast<unsigned>(k * k);
  OnDevice<unsigned> const from(values);
  OnDevice<unsigned> to2(kAll);
  OnDevice<unsigned> to4(kAll);
  OnDevice<unsigned> to_wide(kAll);
  double_all<<<1, 256>>>(
      reinterpret_cast<uint2 const*>(from.data()), reinterpret_cast<uint4 const*>(from.data()),
      reinterpret_cast<ulonglong2 const*>(from.data()), reinterpret_cast<uint2*>(to2.data()),
      reinterpret_cast<uint4*>(to4.data()), reinterpret_cast<ulonglong2*>(to_wide.data()));
  std::vector<unsigned> const four = to4.values();
  std::vector<unsigned> const wide = to_wide.values();
  for (std::size_t k = 0; k < kAll; ++k) {
    if (four[k] != 2 * values[k] || wide[k] != 2 * values[k]) return false;
  }
  return true;
}

/// Through shared memory by cp.async, the last 8 bytes of every 16 left out.
__global__ void copy_later(float const* from, float* to) {
  __shared__ float4 buffer[64];
  auto const at = static_cast<unsigned>(__cvta_generic_to_shared(buffer + threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 8;" ::"r"(at),
               "l"(from + 4 * threadIdx.x));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float4 const mine = buffer[(threadIdx.x + 1) % 64];
  to[threadIdx.x] = mine.x + mine.y + mine.z + mine.w;
}

bool async_copies() {
  std::vector<float> values(256);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  OnDevice<float> const from(values);
  OnDevice<float> to(64);
  copy_later<<<1, 64>>>(from.data(), to.data());
  std::vector<float> const found = to.values();
  for (std::size_t t = 0; t < 64; ++t) {
    std::size_t const first = (t + 1) % 64 * 4;
    if (found[t] != values[first] + values[first + 1]) return false;
  }
  return true;
}

}  // namespace

std::vector<Case> right_cases() {
  return {{"sums", sums},
          {"arithmetic", arithmetic},
          {"words", words},
          {"vectors", vectors},
          {"async_copies", async_copies}};
}

}  // namespace fairlane::gpusim
