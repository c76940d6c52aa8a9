"""What to do in programs of C, C++ and Fortran, which call the device's runtime themselves or mark loops by directives.

Rules name these as what to do `elsewhere`: in programs that their code for PyTorch does not fit.
"""

from __future__ import annotations

from typing import Final

from stepscope.rules.finding import Action

_PAGE_LOCKED: Final = Action(
    "Allocate host buffers that are copied as page-locked memory, once, and copy on a stream",
    before="double *a = (double *)malloc(n);\ncudaMemcpy(d, a, n, cudaMemcpyHostToDevice);",
    after="cudaMallocHost(&a, n);   // once; or cudaHostRegister(a, n, 0) for memory that is there\n"
    "cudaMemcpyAsync(d, a, n, cudaMemcpyHostToDevice, stream);",
    page="pinned-memory",
    needs=("kernels of its own",),
)
_RESIDENT: Final = Action(
    "Keep on the device what stays the same between kernels, and copy results once",
    before="for (int i = 0; i < steps; ++i) {\n  cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);\n  step<<<g, b>>>(d);\n"
    "  cudaMemcpy(a, d, n, cudaMemcpyDeviceToHost);\n}",
    after="cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);\nfor (int i = 0; i < steps; ++i)\n  step<<<g, b>>>(d);\n"
    "cudaMemcpy(a, d, n, cudaMemcpyDeviceToHost);",
    page="pinned-memory",
    needs=("kernels of its own",),
)
_REGION: Final = Action(
    "Open a data region around the loop, so that arrays stay on the device between its kernels",
    before="for (int i = 0; i < steps; ++i) {\n"
    "  #pragma omp target teams distribute parallel for map(tofrom: u[0:n])\n  ...\n}",
    after="#pragma omp target data map(tofrom: u[0:n])     // Fortran: !$omp target data map(tofrom: u)\n"
    "for (int i = 0; i < steps; ++i) {\n  #pragma omp target teams distribute parallel for\n  ...\n}",
    page="pinned-memory",
    needs=("openmp",),
)
_REGION_ACC: Final = Action(
    "Open a data region around the loop, so that arrays stay on the device between its kernels",
    before="for (int i = 0; i < steps; ++i) {\n  #pragma acc parallel loop copy(u[0:n])\n  ...\n}",
    after="#pragma acc data copy(u[0:n])     // Fortran: !$acc data copy(u)\n"
    "for (int i = 0; i < steps; ++i) {\n  #pragma acc parallel loop present(u[0:n])\n  ...\n}",
    page="pinned-memory",
    needs=("openacc",),
)
_LOCKED_BY_COMPILER: Final = Action(
    "Let the compiler place host arrays in page-locked memory",
    before="nvc -mp=gpu heat.c",
    after="nvc -mp=gpu -gpu=pinned heat.c   # with other compilers: omp_alloc with a pinned allocator",
    page="pinned-memory",
    needs=("openmp", "cuda"),
)
_LOCKED_BY_COMPILER_ACC: Final = Action(
    "Let the compiler place host arrays in page-locked memory",
    before="nvc -acc heat.c",
    after="nvc -acc -gpu=pinned heat.c   # nvfortran: the same",
    page="pinned-memory",
    needs=("openacc", "cuda"),
)
_STREAMS: Final = Action(
    "Copy the next chunk on a stream of its own while a kernel works on this one",
    before="cudaMemcpy(d, a, n, cudaMemcpyHostToDevice);\nwork<<<g, b>>>(d, n);",
    after="for (int i = 0; i < chunks; ++i) {\n"
    "  cudaMemcpyAsync(d + i * m, a + i * m, bytes, cudaMemcpyHostToDevice, stream[i % 2]);\n"
    "  work<<<g, b, 0, stream[i % 2]>>>(d + i * m, m);   // host memory must be page-locked\n}",
    page="streams",
    needs=("kernels of its own",),
)
_PACKED: Final = Action(
    "Pack small arrays into one buffer, and copy that; pass single values as arguments of the kernel",
    before="cudaMemcpy(&d->n, &n, sizeof n, cudaMemcpyHostToDevice);\ncudaMemcpy(&d->dt, &dt, sizeof dt, ...);",
    after="work<<<g, b>>>(d, n, dt);",
    page="pinned-memory",
    needs=("kernels of its own",),
)
_IN_ORDER: Final = Action(
    "Wait only before the host uses a result: kernels and copies of one stream run in order",
    before="first<<<g, b>>>(d);\ncudaDeviceSynchronize();\nsecond<<<g, b>>>(d);",
    after="first<<<g, b>>>(d);\nsecond<<<g, b>>>(d);\ncudaStreamSynchronize(stream);   // once, where the host reads",
    page="synchronisation",
    needs=("kernels of its own",),
)
_NOWAIT: Final = Action(
    "Let the host go on after each region, and wait where it needs the result",
    before="#pragma omp target teams distribute parallel for",
    after="#pragma omp target teams distribute parallel for nowait depend(inout: u)\n...\n#pragma omp taskwait",
    page="synchronisation",
    needs=("openmp",),
)
_ASYNC: Final = Action(
    "Let the host go on after each region, and wait where it needs the result",
    before="#pragma acc parallel loop",
    after="#pragma acc parallel loop async(1)     // Fortran: !$acc parallel loop async(1)\n...\n#pragma acc wait(1)",
    page="synchronisation",
    needs=("openacc",),
)
_EVENTS: Final = Action(
    "Let a stream wait for the other one, and the host for neither",
    before="cudaStreamSynchronize(side);\nwork<<<g, b, 0, stream>>>(d);",
    after="cudaEventRecord(done, side);\ncudaStreamWaitEvent(stream, done);\nwork<<<g, b, 0, stream>>>(d);",
    page="streams",
    needs=("kernels of its own",),
)
_GRAPH: Final = Action(
    "Record the launches of a step once as a graph, and launch that",
    before="for (int i = 0; i < steps; ++i) {\n  a<<<g, b, 0, stream>>>(d);\n  c<<<g, b, 0, stream>>>(d);\n}",
    after="cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);\n"
    "a<<<g, b, 0, stream>>>(d);\nc<<<g, b, 0, stream>>>(d);\ncudaStreamEndCapture(stream, &graph);\n"
    "cudaGraphInstantiate(&step, graph, 0);\nfor (int i = 0; i < steps; ++i)\n  cudaGraphLaunch(step, stream);",
    page="fewer-launches",
    needs=("kernels of its own", "no graphs"),
)
_MERGED: Final = Action(
    "Do more per kernel: merge loops that run over the same arrays, or several small problems",
    page="fewer-launches",
    needs=("native",),
)
_POOL: Final = Action(
    "Allocate before the loop, or from a pool that keeps its memory",
    before="for (...) {\n  cudaMalloc(&t, n);\n  work<<<g, b>>>(t);\n  cudaFree(t);\n}",
    after="cudaMalloc(&t, n);   // once; or cudaMallocAsync(&t, n, stream) with a release threshold of the pool\n"
    "for (...)\n  work<<<g, b>>>(t);",
    page="memory-fragmentation",
    needs=("kernels of its own",),
)
_NARROWER: Final = Action(
    "Let the library multiply on tensor cores: TF32, or operands in half precision",
    before="cublasSgemm(handle, ...);",
    after="cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);   // or cublasGemmEx with 16 bits\n"
    "cublasSgemm(handle, ...);",
    page="amp",
    needs=("kernels of its own", "cuda"),
)

_HALF: Final = Action(
    "Give matrix multiplications operands in half precision, or round them to TF32",
    after='tf.keras.mixed_precision.set_global_policy("mixed_float16")   # JAX: arrays in bfloat16; CuPy: CUPY_TF32=1',
    page="amp",
    needs=("other python", "cuda"),
)
_READ_LESS: Final = Action(
    "Look at the number once in many iterations, and leave it on the device where only kernels use it",
    before="for (...) {\n  step<<<g, b>>>(d, r);\n  cudaMemcpy(&norm, r, sizeof norm, cudaMemcpyDeviceToHost);\n"
    "  if (norm < eps) break;\n}",
    after="cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);   // where a library returns it\n"
    "for (...) {\n  step<<<g, b>>>(d, r);\n  if (i % 20) continue;\n"
    "  cudaMemcpy(&norm, r, sizeof norm, cudaMemcpyDeviceToHost);\n  if (norm < eps) break;\n}",
    page="synchronisation",
    needs=("kernels of its own",),
)
_REDUCE_LESS: Final = Action(
    "Look at the reduced number once in many iterations: each region that returns one is waited for",
    page="synchronisation",
    needs=("directives",),
)
_MOVED_ONCE: Final = Action(
    "Keep arrays on the device between operations, move each once, and from page-locked memory",
    page="pinned-memory",
    needs=("other python",),
)
_DEVICE_POINTERS: Final = Action(
    "Give MPI pointers to device memory where it is built for that, so that nothing goes through the host",
    before="cudaMemcpy(halo, d_halo, n, cudaMemcpyDeviceToHost);\nMPI_Send(halo, ...);",
    after="MPI_Send(d_halo, ...);   // a CUDA-aware MPI; ompi_info --parsable -l 9 --all | grep cuda",
    page="pinned-memory",
    needs=("kernels of its own",),
)
_HOST_DATA: Final = Action(
    "Give MPI pointers to device memory where it is built for that, so that nothing goes through the host",
    before="#pragma acc update host(halo[0:n])\nMPI_Send(halo, ...);",
    after="#pragma acc host_data use_device(halo)   // Fortran: !$acc host_data use_device(halo)\nMPI_Send(halo, ...);",
    page="pinned-memory",
    needs=("openacc",),
)
_DEVICE_PTR: Final = Action(
    "Give MPI pointers to device memory where it is built for that, so that nothing goes through the host",
    before="#pragma omp target update from(halo[0:n])\nMPI_Send(halo, ...);",
    after="#pragma omp target data use_device_ptr(halo)\nMPI_Send(halo, ...);",
    page="pinned-memory",
    needs=("openmp",),
)
_WHOLE_STEP: Final = Action(
    "Hand the device more per call: compile the whole step as one function, and give it larger batches",
    page="fewer-launches",
    needs=("other python",),
)
_WRITER: Final = Action(
    "Read and write in a second thread, from a copy, while the device computes the next steps",
    before="write_frame(file, u, n);\nstep(u);",
    after="written.wait();\nwritten = std::async(std::launch::async, write_frame, file, copy_of(u), n);\nstep(u);",
    page="prefetching",
    needs=("native",),
)

#: llama.cpp is built and run, not written: what can be changed are options.
_LAYERS: Final = Action(
    "Keep all layers on the device, and the cache of keys and values with them",
    before="llama-cli -m model.gguf -ngl 20",
    after="llama-cli -m model.gguf -ngl 99   # and without --no-kv-offload",
    page="serving",
    needs=("llama.cpp",),
)
_REPLAYED: Final = Action(
    "Let it replay graphs, which it does for single sequences unless told otherwise, and fuse attention",
    before="GGML_CUDA_DISABLE_GRAPHS=1 llama-server -m model.gguf",
    after="cmake -B build -DGGML_CUDA=ON -DGGML_CUDA_GRAPHS=ON\nllama-server -m model.gguf -fa on",
    page="serving",
    needs=("llama.cpp", "cuda or rocm"),
)
READ_OFTEN: Final = Action(
    "Each token reads all weights: quantise them to fewer bits, or make several sequences at once",
    before="llama-server -m model-Q8_0.gguf",
    after="llama-server -m model-Q4_K_M.gguf --parallel 8   # or a small model that speculates: -md draft.gguf",
    page="serving",
    needs=("llama.cpp",),
)

#: Actions by what they do: make copies faster or fewer, read less, overlap, ...
MORE_BLOCKS: Final = Action(
    "Launch more blocks: give each thread less to do, or split the outer loop", page="memory-access"
)
FASTER_COPIES: Final = (
    _REGION,
    _REGION_ACC,
    _LOCKED_BY_COMPILER,
    _LOCKED_BY_COMPILER_ACC,
    _PAGE_LOCKED,
    _RESIDENT,
    _MOVED_ONCE,
    _LAYERS,
)
FEWER_COPIES: Final = (_REGION, _REGION_ACC, _RESIDENT, _MOVED_ONCE, _LAYERS)
READING: Final = (_READ_LESS, _REDUCE_LESS)
OVERLAPPING: Final = (_STREAMS, _NOWAIT, _ASYNC, _LAYERS)
PACKING: Final = (_REGION, _REGION_ACC, _PACKED, _LAYERS)
WAITING: Final = (_NOWAIT, _ASYNC, _IN_ORDER)
HANDING_OVER: Final = (_EVENTS, _NOWAIT, _ASYNC)
LAUNCHING: Final = (_GRAPH, _MERGED, _WHOLE_STEP, _REPLAYED, READ_OFTEN)
MESSAGES: Final = (_DEVICE_POINTERS, _HOST_DATA, _DEVICE_PTR)
WRITING: Final = (_WRITER,)
ALLOCATING: Final = (_POOL, _REGION, _REGION_ACC)
MULTIPLYING: Final = (_NARROWER, _HALF)
