// A parameter for each vertex, from the answer of an earlier run: field `field` of vertex_data_v = given_u, where v is
// the GPU's number of vertex u. `positions` has these numbers, and is null if they are the user's. `kind` is the type of
// given_u (executor/gpu/run_arrays.py), and `step` the bytes from one to the next.
// Launch: one thread for each vertex. Shared memory: none.
// No float becomes an integer, and none is narrowed (program/elsewhere.py).
#include "garaph_generated.cuh"

constexpr bool IS_FLOAT = (VertexNumber)0.5f != 0;

template <class Given>
__device__ __forceinline__ void place_number(VertexNumber* to, const char* given) {
  *to = (VertexNumber)*(const Given*)given;
}

extern "C" __global__ void __launch_bounds__(THREADS)
place_numbers(VertexNumber* vertex_data, i64 fields, i64 field, const char* given, i64 step, i64 kind,
              const u32* positions, i64 n) {
  i64 u = blockIdx.x * (i64)blockDim.x + threadIdx.x;
  if (u >= n) return;
  i64 v = positions ? positions[u] : u;
  VertexNumber* to = &vertex_data[v * fields + field];
  given += u * step;
  switch (kind) {
    case 0: return place_number<int>(to, given);
    case 1: return place_number<i64>(to, given);
    case 2: return place_number<u32>(to, given);
    case 3: return place_number<u64>(to, given);
    case 4:
      if constexpr (IS_FLOAT) place_number<float>(to, given);
      return;
    case 5:
      if constexpr (IS_FLOAT && sizeof(VertexNumber) == 8) place_number<double>(to, given);
  }
}
