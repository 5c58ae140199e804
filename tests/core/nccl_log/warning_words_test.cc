// SPDX-License-Identifier: Apache-2.0
// Warnings as NCCL 2.3 to 2.30 (its git tags), aws-ofi-nccl and libfabric's EFA provider write them.
#include "nccl_env/core/nccl_log/warning_words.h"

#include <gtest/gtest.h>

namespace nccl_env::warning_words_test {
namespace {

struct Line {
  std::string_view file, text;
  Code code;
};
constexpr Line kLines[] = {
    {"misc/socket.cc:409", "Call to socket failed : Too many open files", Code::OpenFiles},
    {"misc/shmutils.cc:61",
     "Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: Too many open files (24)", Code::OpenFiles},
    {"misc/socket.cc:409", "Call to bind failed: Address already in use", Code::PortTaken},
    {"misc/socket.cc:409", "Call to bind failed : No such device", Code::NoInterface},
    {"misc/socket.cc:480",
     "socketStartConnect: Connect to 10.0.0.2<1> failed : Cannot assign requested address", Code::PortTaken},
    {"misc/socket.cc:305", "Net : error encountered when getting address info : Name or service not known",
     Code::CommId},
    {"misc/socket.cc:98", "Net : No valid <IPv4_or_hostname>:<port> pair found", Code::CommId},
    {"misc/shmutils.cc:87", "Error: failed to open /dev/shm/nccl-a, error: No such file or directory (2)",
     Code::SegmentMissing},
    {"misc/shmutils.cc:87",
     "Error: failed to create shared memory file /dev/shm/nccl-a, error Permission denied (13)",
     Code::SharedMemory},
    {"transport/nvls.cc:244", "Cuda failure 1 'invalid argument'", Code::NvlinkFabric},
    {"transport/p2p.cc:275", "Cuda failure 1 'invalid argument'", Code::GpuPeer},
    {"transport/shm.cc:590", "Cuda failure 1 'invalid argument'", Code::CumemHost},
    {"enqueue.cc:1672", "Cuda failure 1 'invalid argument'", Code::NotTheNetwork},
    {"", "Cuda failure 1 'invalid argument'", Code::NotTheNetwork},
    {"transport/nvls.cc:9", "Cuda failure 2 'out of memory'", Code::NvlinkFabric},
    {"include/alloc.h:178", "Cuda failure 2 'out of memory'", Code::GpuOutOfMemory},
    {"include/alloc.h:185", "Failed to CUDA calloc 6291456 bytes", Code::GpuOutOfMemory},
    {"include/alloc.h:185", "Failed to CUDA host alloc 64 bytes", Code::HostLimit},
    {"init.cc:1", "Cuda failure 802 'system not yet initialized'", Code::NvlinkFabric},
    {"init.cc:1", "Cuda failure 35 'CUDA driver version is insufficient for CUDA runtime version'",
     Code::GpuNotUsable},
    {"transport/nvls.cc:9", "Cuda failure 700 'an illegal memory access was encountered'", Code::GpuFault},
    {"init.cc:1", "Cuda failure 700 'an illegal memory access was encountered'", Code::GpuFault},
    {"init.cc:1", "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 3b000", Code::DuplicateGpu},
    {"enqueue.cc:1", "Error : no algorithm/protocol available for function AllReduce with datatype ncclInt8.",
     Code::NoAlgorithm},
    {"enqueue.cc:1", "Unrecognized element token \"tre\" when parsing \"tre\"", Code::NoAlgorithm},
    {"graph/search.cc:703", "XML Import Channel : dev 3 not found.", Code::GraphFile},
    {"graph/xml.cc:1", "Could not open XML graph file g.xml : No such file or directory", Code::GraphFile},
    {"graph/xml.cc:1", "Could not open XML topology file t.xml : No such file or directory",
     Code::TopologyFile},
    {"graph/xml.h:101", "Attribute arch of node cpu not found", Code::TopologyFile},
    {"graph/paths.cc:130", "Failed to find reverse path from remNode 0/2 nlinks 3 to node 0/7", Code::NoPath},
    {"transport.cc:90", "No transport found for rank 0[1000] -> rank 1[2000]", Code::NoPath},
    {"misc/argcheck.cc:39", "Broadcast : invalid root 9 (root should be in the 0..8 range)", Code::WrongCall},
    {"misc/argcheck.cc:13", "AllReduce : sendbuff 0x7f00 is not a valid pointer", Code::WrongCall},
    {"transport/net_ib.cc:1038",
     "NET/IB : req 0/1 tag 0 peer 10.0.0.2<1> collective mismatch error, local size 496640 remote size 65536",
     Code::SizesDiffer},
    {"misc/socket.cc:484", "socketFinalizeAccept: wrong magic 4745542f != 1", Code::StrangerConnected},
    {"nccl_net_ofi_rdma.c:4410", "NET/OFI Unable to insert remote address into address vector for device 1.",
     Code::FabricPeer},
    {"nccl_net_ofi_rdma.cpp:1",
     "NET/OFI Request 0x7f completed with error. RC: 103. Error: 4126 (Unresponsive receiver (reachable by "
     "EFA device but handshake failed)",
     Code::FabricPeer},
    {"nccl_net_ofi.c:1", "NET/OFI Unable to find a protocol that worked.  Failing initialization.",
     Code::PluginFailed},
    {"enqueue.cc:1",
     "Error : no algorithm/protocol available for function AllReduce. NCCL_ALGO was set to NVLS.",
     Code::NoAlgorithm},
    {"init.cc:1", "commReclaim: comm 0x55 (rank = 0) in abort, error 1", Code::GaveUp}};

TEST(WarningWords, TellTheFailureTogetherWithTheFile) {
  for (const Line& line : kLines) {
    const auto code = code_of_warning(line.text, line.file);
    ASSERT_TRUE(code) << line.text;
    EXPECT_EQ(to_string(*code), to_string(line.code)) << line.text;
    EXPECT_FALSE(is_harmless_warning(line.text)) << line.text;
  }
  EXPECT_FALSE(code_of_warning("CollNet sizes: want=4 got=2", "transport/coll_net.cc:77"));
}

TEST(WarningWords, OfWarningsThatNcclGoesOnAfterAreHarmless) {
  for (const std::string_view text :
       {"Could not find a path for pattern 4, falling back to simple order",
        "User asked for a minimum of 99 channels, limiting to 32",
        "Unable to open t.xml, not dumping topology.",
        "munmap of shared memory 0x7f size 9 failed, error: Invalid argument (22)",
        "Invalid NCCL_NTHREADS 9 (minimum 64)."})
    EXPECT_TRUE(is_harmless_warning(text)) << text;
}

}  // namespace
}  // namespace nccl_env::warning_words_test
