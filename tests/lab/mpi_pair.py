# SPDX-License-Identifier: Apache-2.0
"""Two ranks of Open MPI: the first sends, the second receives. mpi_pair.py BYTES ROUNDS"""
import ctypes
import sys

mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)


def constant(name):
    """Open MPI's handles are addresses of objects in its library."""
    return ctypes.byref(ctypes.c_char.in_dll(mpi, name))


size, rounds = (int(argument) for argument in sys.argv[1:])
mpi.MPI_Init(None, None)
world, byte, rank = constant("ompi_mpi_comm_world"), constant("ompi_mpi_byte"), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
buffer = ctypes.create_string_buffer(b"\1" * size if rank.value == 0 else size, size)
for _ in range(rounds):
    if rank.value == 0:
        mpi.MPI_Send(buffer, size, byte, 1, 0, world)
    else:
        mpi.MPI_Recv(buffer, size, byte, 0, 0, world, None)
mpi.MPI_Finalize()
sys.exit(buffer.raw != b"\1" * size)
