// ibv_query_gid_type for programs of other versions of rdma-core. It is private
// to libibverbs and its tools, so its version node carries the number of the
// provider interface, and ibv_devinfo of each version asks for its own.
//
// For the library that is preloaded only: version nodes need its version
// script.

#include <infiniband/verbs.h>

extern "C" {

int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index,
                       unsigned* type);

// Named in the directives below, so it has no other caller.
[[gnu::used]] int query_gid_type_of_node(ibv_context* context, uint8_t port,
                                         unsigned index, unsigned* type) {
  return ibv_query_gid_type(context, port, index, type);
}

}  // extern "C"

// The numbers that rdma-core 25 to 66 had or may have; 34 is in versions.lds.
asm(R"(
  .irp node, 25,26,27,28,29,30,31,32,33,57,58,59,60,61,62,63,64,65,66
  .globl query_gid_type_of_node_\node
  .set query_gid_type_of_node_\node, query_gid_type_of_node
  .symver query_gid_type_of_node_\node, ibv_query_gid_type@IBVERBS_PRIVATE_\node
  .endr
)");
