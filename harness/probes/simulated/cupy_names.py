"""The public names of CuPy 14.2.0, so that an honest "CuPy has no such name" is told from "not modelled here".

Taken from ``dir()`` of each object in cupy-cuda13x 14.2.0 beside NumPy 2.4.6, which needs no GPU, without names
that start with an underscore and without the modules CuPy imports for itself. Instance attributes are added by hand
from cupy/cuda/stream.pyx and device.pyx, and lazy modules from cupy/cuda/__init__.py. ``OWNERS`` maps an object, as its path below ``cupy``, to its names.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OWNERS", "VERSION", "has"]

VERSION = "14.2"

_TEXT = """
.:
  AxisError ComplexWarning DataSource ElementwiseKernel Inf Infinity ModuleDeprecationWarning NAN NINF NZERO NaN
  PINF PZERO RankWarning RawKernel RawModule ReductionKernel TooHardError VisibleDeprecationWarning abs absolute
  acos acosh add all allclose alltrue amax amin angle any append apply_along_axis apply_over_axes arange arccos
  arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array
  array2string array_equal array_equiv array_repr array_split array_str asanyarray asarray asarray_chkfinite
  ascontiguousarray asfarray asfortranarray asin asinh asnumpy astype atan atan2 atanh atleast_1d atleast_2d
  atleast_3d average bartlett base_repr binary_repr bincount bitwise_and bitwise_count bitwise_invert
  bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman bool bool_ broadcast
  broadcast_arrays broadcast_shapes broadcast_to byte byte_bounds c_ can_cast cbrt cdouble ceil cfloat choose
  clear_memo clip column_stack common_type complex128 complex64 complex_ complexfloating compress concat concatenate
  conj conjugate convolve copy copysign copyto corrcoef correlate cos cosh count_nonzero cov cross csingle cuda
  cumprod cumproduct cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diag_indices
  diag_indices_from diagflat diagonal diff digitize disable_experimental_feature_warning disp divide divmod dot
  double dsplit dstack dtype e ediff1d einsum empty empty_like equal euler_gamma exceptions exp exp2 expand_dims
  expm1 extract eye fabs fft fill_diagonal find_common_type finfo fix flatiter flatnonzero flip fliplr flipud
  float16 float32 float64 float_ float_power floating floor floor_divide fmax fmin fmod format_float_positional
  format_float_scientific format_parser frexp fromDlpack from_dlpack frombuffer fromfile fromfunction fromiter
  fromstring full full_like fuse gcd generic genfromtxt get_array_module get_array_wrap get_default_memory_pool
  get_default_pinned_memory_pool get_printoptions gradient greater greater_equal half hamming hanning heaviside
  histogram histogram2d histogramdd hsplit hstack hypot i0 identity iinfo imag in1d index_exp indices inexact inf
  infty inner int16 int32 int64 int8 int_ intc integer interp intersect1d intp invert is_available isclose iscomplex
  iscomplexobj isdtype isfinite isfortran isin isinf isnan isneginf isposinf isreal isrealobj isscalar issctype
  issubclass_ issubdtype issubsctype iterable ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort lib
  linalg linspace load loadtxt log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
  logical_xor logspace long longlong make_aligned_dtype mask_indices matmul matrix_transpose max maximum
  may_share_memory mean median memoize meshgrid mgrid min min_scalar_type minimum mintypecode mod modf moveaxis
  msort multiply nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod
  nanstd nansum nanvar ndarray ndim ndindex negative newaxis nextafter nonzero not_equal number obj2sctype ogrid
  ones ones_like outer packbits pad partition percentile permute_dims pi piecewise place poly poly1d polyadd polyfit
  polymul polynomial polysub polyval positive pow power printoptions prod product promote_types ptp put
  put_along_axis putmask quantile r_ rad2deg radians random ravel ravel_multi_index real real_if_close reciprocal
  remainder repeat require reshape resize result_type right_shift rint roll rollaxis roots rot90 round round_
  row_stack s_ safe_eval save savetxt savez savez_compressed sctype2char searchsorted select set_printoptions
  set_string_function setdiff1d setxor1d shape shares_memory short show_config sign signbit signedinteger sin sinc
  single singlecomplex sinh size sometrue sort sort_complex split sqrt square squeeze stack std subtract sum
  swapaxes take take_along_axis tan tanh tensordot testing tile trace transpose trapezoid trapz tri tril
  tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from true_divide trunc typename typing
  ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong union1d unique unique_all unique_counts
  unique_inverse unique_values unpackbits unravel_index unsignedinteger unwrap ushort vander var vdot vectorize
  vsplit vstack where who zeros zeros_like
linalg:
  LinAlgError cholesky cond cross det eig eigh eigvals eigvalsh inv lstsq matmul matrix_power matrix_rank
  matrix_transpose norm pinv qr slogdet solve svd tensorinv tensorsolve
random:
  BitGenerator Generator MRG32k3a Philox4x3210 RandomState XORWOW beta binomial bytes chisquare choice default_rng
  dirichlet exponential f gamma geometric get_random_state gumbel hypergeometric laplace logistic lognormal
  logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto
  permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh reset_states
  sample seed set_random_state shuffle standard_cauchy standard_exponential standard_gamma standard_normal
  standard_t triangular uniform vonmises wald weibull zipf
fft:
  config fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2
  rfftfreq rfftn
testing:
  AssertFunctionIsCalled NumpyAliasBasicTestBase NumpyAliasValuesTestBase assert_allclose assert_array_almost_equal
  assert_array_almost_equal_nulp assert_array_equal assert_array_less assert_array_list_equal assert_array_max_ulp
  assert_warns fix_random for_CF_orders for_all_dtypes for_all_dtypes_combination for_complex_dtypes
  for_contiguous_axes for_dtypes for_dtypes_combination for_float_dtypes for_int_dtypes for_int_dtypes_combination
  for_orders for_signed_dtypes for_signed_dtypes_combination for_unsigned_dtypes for_unsigned_dtypes_combination
  generate_matrix generate_seed installed multi_gpu numpy_cupy_allclose numpy_cupy_array_almost_equal
  numpy_cupy_array_almost_equal_nulp numpy_cupy_array_equal numpy_cupy_array_less numpy_cupy_array_list_equal
  numpy_cupy_array_max_ulp numpy_cupy_equal numpy_cupy_raises numpy_satisfies parameterize product product_dict
  shaped_arange shaped_linspace shaped_random shaped_reverse_arange shaped_sparse_random slow with_requires
exceptions:
  AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError VisibleDeprecationWarning
lib:
  stride_tricks
lib.stride_tricks:
  as_strided sliding_window_view
polynomial:
  polynomial polyutils
cuda:
  BaseMemory CFunctionAllocator Device Event ExternalStream Function Graph ManagedMemory Memory MemoryAsync
  MemoryAsyncPool MemoryHook MemoryPointer MemoryPool Module PinnedMemory PinnedMemoryPointer PinnedMemoryPool
  PythonFunctionAllocator Stream UnownedMemory alloc alloc_pinned_memory common compiler cub cublas cufft curand
  cusolver cusparse device driver function get_allocator get_cublas_handle get_cuda_path get_current_stream
  get_device_id get_elapsed_time get_hipcc_path get_local_runtime_version get_nvcc_path get_rocm_path graph
  is_available jitify malloc_async malloc_managed memory memory_hook memory_hooks nvrtc nvtx nvtx_enabled
  pinned_memory profile profiler runtime set_allocator set_pinned_memory_allocator stream texture thrust
  using_allocator
cuda.runtime:
  CUDARuntimeError CUDA_C_16F CUDA_C_32F CUDA_C_64F CUDA_C_8I CUDA_C_8U CUDA_R_16BF CUDA_R_16F CUDA_R_32F CUDA_R_64F
  CUDA_R_8I CUDA_R_8U MemPoolProps PointerAttributes check_status createSurfaceObject createTextureObject
  cudaAddressModeBorder cudaAddressModeClamp cudaAddressModeMirror cudaAddressModeWrap cudaArrayDefault
  cudaArraySurfaceLoadStore cudaChannelFormatKindFloat cudaChannelFormatKindNone cudaChannelFormatKindSigned
  cudaChannelFormatKindUnsigned cudaCpuDeviceId cudaDevAttrAsyncEngineCount cudaDevAttrCanFlushRemoteWrites
  cudaDevAttrCanMapHostMemory cudaDevAttrCanUseHostPointerForRegisteredMem cudaDevAttrClockRate
  cudaDevAttrComputeMode cudaDevAttrComputePreemptionSupported cudaDevAttrConcurrentKernels
  cudaDevAttrConcurrentManagedAccess cudaDevAttrCooperativeLaunch cudaDevAttrCooperativeMultiDeviceLaunch
  cudaDevAttrDirectManagedMemAccessFromHost cudaDevAttrEccEnabled cudaDevAttrGPUDirectRDMAFlushWritesOptions
  cudaDevAttrGPUDirectRDMASupported cudaDevAttrGPUDirectRDMAWritesOrdering cudaDevAttrGlobalL1CacheSupported
  cudaDevAttrGlobalMemoryBusWidth cudaDevAttrGpuOverlap cudaDevAttrHostNativeAtomicSupported
  cudaDevAttrHostRegisterReadOnlySupported cudaDevAttrHostRegisterSupported cudaDevAttrIntegrated
  cudaDevAttrIsMultiGpuBoard cudaDevAttrKernelExecTimeout cudaDevAttrL2CacheSize cudaDevAttrLocalL1CacheSupported
  cudaDevAttrManagedMemory cudaDevAttrMaxBlockDimX cudaDevAttrMaxBlockDimY cudaDevAttrMaxBlockDimZ
  cudaDevAttrMaxBlocksPerMultiprocessor cudaDevAttrMaxGridDimX cudaDevAttrMaxGridDimY cudaDevAttrMaxGridDimZ
  cudaDevAttrMaxPitch cudaDevAttrMaxRegistersPerBlock cudaDevAttrMaxRegistersPerMultiprocessor
  cudaDevAttrMaxSharedMemoryPerBlock cudaDevAttrMaxSharedMemoryPerBlockOptin
  cudaDevAttrMaxSharedMemoryPerMultiprocessor cudaDevAttrMaxSurface1DLayeredLayers
  cudaDevAttrMaxSurface1DLayeredWidth cudaDevAttrMaxSurface1DWidth cudaDevAttrMaxSurface2DHeight
  cudaDevAttrMaxSurface2DLayeredHeight cudaDevAttrMaxSurface2DLayeredLayers cudaDevAttrMaxSurface2DLayeredWidth
  cudaDevAttrMaxSurface2DWidth cudaDevAttrMaxSurface3DDepth cudaDevAttrMaxSurface3DHeight
  cudaDevAttrMaxSurface3DWidth cudaDevAttrMaxSurfaceCubemapLayeredLayers cudaDevAttrMaxSurfaceCubemapLayeredWidth
  cudaDevAttrMaxSurfaceCubemapWidth cudaDevAttrMaxTexture1DLayeredLayers cudaDevAttrMaxTexture1DLayeredWidth
  cudaDevAttrMaxTexture1DLinearWidth cudaDevAttrMaxTexture1DMipmappedWidth cudaDevAttrMaxTexture1DWidth
  cudaDevAttrMaxTexture2DGatherHeight cudaDevAttrMaxTexture2DGatherWidth cudaDevAttrMaxTexture2DHeight
  cudaDevAttrMaxTexture2DLayeredHeight cudaDevAttrMaxTexture2DLayeredLayers cudaDevAttrMaxTexture2DLayeredWidth
  cudaDevAttrMaxTexture2DLinearHeight cudaDevAttrMaxTexture2DLinearPitch cudaDevAttrMaxTexture2DLinearWidth
  cudaDevAttrMaxTexture2DMipmappedHeight cudaDevAttrMaxTexture2DMipmappedWidth cudaDevAttrMaxTexture2DWidth
  cudaDevAttrMaxTexture3DDepth cudaDevAttrMaxTexture3DDepthAlt cudaDevAttrMaxTexture3DHeight
  cudaDevAttrMaxTexture3DHeightAlt cudaDevAttrMaxTexture3DWidth cudaDevAttrMaxTexture3DWidthAlt
  cudaDevAttrMaxTextureCubemapLayeredLayers cudaDevAttrMaxTextureCubemapLayeredWidth
  cudaDevAttrMaxTextureCubemapWidth cudaDevAttrMaxThreadsPerBlock cudaDevAttrMaxThreadsPerMultiProcessor
  cudaDevAttrMaxTimelineSemaphoreInteropSupported cudaDevAttrMemoryClockRate
  cudaDevAttrMemoryPoolSupportedHandleTypes cudaDevAttrMemoryPoolsSupported cudaDevAttrMultiGpuBoardGroupID
  cudaDevAttrMultiProcessorCount cudaDevAttrPageableMemoryAccess cudaDevAttrPageableMemoryAccessUsesHostPageTables
  cudaDevAttrPciBusId cudaDevAttrPciDeviceId cudaDevAttrPciDomainId cudaDevAttrReserved92 cudaDevAttrReserved93
  cudaDevAttrReserved94 cudaDevAttrReservedSharedMemoryPerBlock cudaDevAttrSingleToDoublePrecisionPerfRatio
  cudaDevAttrSparseCudaArraySupported cudaDevAttrStreamPrioritiesSupported cudaDevAttrSurfaceAlignment
  cudaDevAttrTccDriver cudaDevAttrTextureAlignment cudaDevAttrTexturePitchAlignment cudaDevAttrTotalConstantMemory
  cudaDevAttrUnifiedAddressing cudaDevAttrWarpSize cudaFilterModeLinear cudaFilterModePoint
  cudaGraphDebugDotFlagsConditionalNodeParams cudaGraphDebugDotFlagsEventNodeParams
  cudaGraphDebugDotFlagsExtSemasSignalNodeParams cudaGraphDebugDotFlagsExtSemasWaitNodeParams
  cudaGraphDebugDotFlagsHandles cudaGraphDebugDotFlagsHostNodeParams cudaGraphDebugDotFlagsKernelNodeAttributes
  cudaGraphDebugDotFlagsKernelNodeParams cudaGraphDebugDotFlagsMemcpyNodeParams
  cudaGraphDebugDotFlagsMemsetNodeParams cudaGraphDebugDotFlagsVerbose cudaInvalidDeviceId
  cudaIpcMemLazyEnablePeerAccess cudaLimitDevRuntimePendingLaunchCount cudaLimitDevRuntimeSyncDepth
  cudaLimitMallocHeapSize cudaLimitMaxL2FetchGranularity cudaLimitPrintfFifoSize cudaLimitStackSize
  cudaMemAdviseSetAccessedBy cudaMemAdviseSetPreferredLocation cudaMemAdviseSetReadMostly
  cudaMemAdviseUnsetAccessedBy cudaMemAdviseUnsetPreferredLocation cudaMemAdviseUnsetReadMostly
  cudaMemAllocationTypePinned cudaMemAttachGlobal cudaMemAttachHost cudaMemAttachSingle cudaMemHandleTypeNone
  cudaMemHandleTypePosixFileDescriptor cudaMemLocationTypeDevice cudaMemLocationTypeHost cudaMemLocationTypeHostNuma
  cudaMemLocationTypeHostNumaCurrent cudaMemLocationTypeInvalid cudaMemPoolAttrReleaseThreshold
  cudaMemPoolAttrReservedMemCurrent cudaMemPoolAttrReservedMemHigh cudaMemPoolAttrUsedMemCurrent
  cudaMemPoolAttrUsedMemHigh cudaMemPoolReuseAllowInternalDependencies cudaMemPoolReuseAllowOpportunistic
  cudaMemPoolReuseFollowEventDependencies cudaMemoryTypeDevice cudaMemoryTypeHost cudaReadModeElementType
  cudaReadModeNormalizedFloat cudaResourceTypeArray cudaResourceTypeLinear cudaResourceTypeMipmappedArray
  cudaResourceTypePitch2D destroySurfaceObject destroyTextureObject deviceCanAccessPeer deviceDisablePeerAccess
  deviceEnablePeerAccess deviceGetAttribute deviceGetByPCIBusId deviceGetDefaultMemPool deviceGetLimit
  deviceGetMemPool deviceGetPCIBusId deviceSetLimit deviceSetMemPool deviceSynchronize driverGetVersion
  eventBlockingSync eventCreate eventCreateWithFlags eventDefault eventDestroy eventDisableTiming eventElapsedTime
  eventInterprocess eventQuery eventRecord eventSynchronize free freeArray freeAsync freeHost getDevice
  getDeviceCount getDeviceProperties graphDebugDotPrint graphDestroy graphExecDestroy graphInstantiate graphLaunch
  graphUpload hostAlloc hostAllocDefault hostAllocMapped hostAllocPortable hostAllocWriteCombined hostRegister
  hostUnregister ipcCloseMemHandle ipcGetEventHandle ipcGetMemHandle ipcOpenEventHandle ipcOpenMemHandle is_hip
  launchHostFunc malloc malloc3DArray mallocArray mallocAsync mallocFromPoolAsync mallocManaged memAdvise memGetInfo
  memPoolCreate memPoolDestroy memPoolGetAttribute memPoolSetAttribute memPoolTrimTo memPrefetchAsync memcpy
  memcpy2D memcpy2DAsync memcpy2DFromArray memcpy2DFromArrayAsync memcpy2DToArray memcpy2DToArrayAsync memcpy3D
  memcpy3DAsync memcpyAsync memcpyDefault memcpyDeviceToDevice memcpyDeviceToHost memcpyHostToDevice
  memcpyHostToHost memcpyPeer memcpyPeerAsync memoryTypeDevice memoryTypeHost memoryTypeManaged
  memoryTypeUnregistered memset memsetAsync pointerGetAttributes pointerGetMemoryType profilerStart profilerStop
  runtimeGetVersion setDevice streamAddCallback streamBeginCapture streamCaptureModeGlobal streamCaptureModeRelaxed
  streamCaptureModeThreadLocal streamCaptureStatusActive streamCaptureStatusInvalidated streamCaptureStatusNone
  streamCreate streamCreateWithFlags streamCreateWithPriority streamDefault streamDestroy streamEndCapture
  streamGetFlags streamGetPriority streamIsCapturing streamLegacy streamNonBlocking streamPerThread streamQuery
  streamSynchronize streamWaitEvent
cuda.Stream:
  add_callback begin_capture device_id done end_capture from_external is_capturing is_non_blocking launch_host_func
  null priority ptds ptr record synchronize use wait_event
cuda.Event:
  done ptr record synchronize
cuda.Device:
  attributes compute_capability cublas_handle cusolver_handle cusolver_sp_handle cusparse_handle cutensor_handle
  from_pci_bus_id id mem_info pci_bus_id synchronize use
cuda.MemoryPool:
  free_all_blocks free_all_free free_bytes get_limit malloc n_free_blocks set_limit total_bytes used_bytes
cuda.MemoryAsyncPool:
  free_all_blocks free_bytes get_limit malloc memoryAsyncHasStat n_free_blocks set_limit total_bytes used_bytes
cuda.PinnedMemoryPool:
  free_all_blocks malloc n_free_blocks
cuda.MemoryPointer:
  copy_from copy_from_async copy_from_device copy_from_device_async copy_from_host copy_from_host_async copy_to_host
  copy_to_host_async device device_id mem memset memset_async ptr
cuda.PinnedMemoryPointer:
  mem ptr size
ndarray:
  T __cuda_array_interface__ all any argmax argmin argpartition argsort astype base byteswap choose clip compress
  conj conjugate copy cstruct cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat flatten get
  imag item itemsize mT max mdspan mean min nbytes ndim nonzero partition prod ptp put ravel real reduced_view
  repeat reshape round scatter_add scatter_max scatter_min searchsorted set shape size sort squeeze std strides sum
  swapaxes take toDlpack tobytes tofile tolist trace transpose var view
ufunc:
  accumulate at name nargs nin nout outer reduce reduceat types
flatiter:
  base copy
random.RandomState:
  beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic
  lognormal logseries multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto
  permutation poisson power rand randint randn random_sample rayleigh seed shuffle standard_cauchy
  standard_exponential standard_gamma standard_normal standard_t tomaxint triangular uniform vonmises wald weibull
  zipf
random.Generator:
  beta binomial bit_generator chisquare dirichlet exponential f gamma geometric hypergeometric integers logseries
  poisson power random standard_exponential standard_gamma standard_normal uniform
cuda.nvtx:
  Mark MarkC RangeEnd RangePop RangePush RangePushC RangeStart available
cupyx:
  DeviceSynchronized GeneralizedUFunc allow_synchronize empty_like_pinned empty_pinned errstate get_runtime_info
  geterr linalg optimizing profiler rsqrt scatter_add scatter_max scatter_min scipy seterr time zeros_like_pinned
  zeros_pinned
cupyx.scipy.special:
  bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p btdtr btdtri cbrt chdtr chdtrc chdtri cosdg
  cosm1 cotdg digamma ellipeinc ellipj ellipk ellipkinc ellipkm1 entr erf erfc erfcinv erfcx erfinv exp1 exp10 exp2
  expi expit expm1 expn exprel fdtr fdtrc fdtri gamma gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn
  gdtr gdtrc huber i0 i0e i1 i1e inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div lambertw log1p log_expit
  log_ndtr log_softmax loggamma logit logsumexp lpmv multigammaln nbdtr nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri
  poch polygamma pseudo_huber psi radian rel_entr rgamma round shichi sici sinc sindg softmax sph_harm sph_harm_y
  spherical_yn tandg wright_bessel xlog1py xlogy y0 y1 yn zeta zetac
"""


def _parsed(text: str) -> dict[str, frozenset[str]]:
    owners: dict[str, frozenset[str]] = {}
    owner = ""
    for line in text.strip().splitlines():
        if line.endswith(":"):
            owner = line[:-1] if line != ".:" else ""
            owners[owner] = frozenset()
        else:
            owners[owner] |= frozenset(line.split())
    return owners


OWNERS: Mapping[str, frozenset[str]] = _parsed(_TEXT)
"""Names by owner: ``""`` is the package itself, ``"linalg"`` a module, ``"ndarray"`` a class."""


def has(owner: str, name: str) -> bool:
    """Whether CuPy's ``owner`` has a public attribute ``name``."""
    return name in OWNERS[owner]
