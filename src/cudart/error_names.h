#pragma once

// Every cudaError_t as X(code, name, text). The driver has its own texts for most, by the same codes: null here.
#define BULKHEAD_CUDART_ERRORS(X)                                                                      \
    X(0, cudaSuccess, nullptr)                                                                         \
    X(1, cudaErrorInvalidValue, nullptr)                                                               \
    X(2, cudaErrorMemoryAllocation, nullptr)                                                           \
    X(3, cudaErrorInitializationError, nullptr)                                                        \
    X(4, cudaErrorCudartUnloading, nullptr)                                                            \
    X(5, cudaErrorProfilerDisabled, nullptr)                                                           \
    X(6, cudaErrorProfilerNotInitialized, nullptr)                                                     \
    X(7, cudaErrorProfilerAlreadyStarted, nullptr)                                                     \
    X(8, cudaErrorProfilerAlreadyStopped, nullptr)                                                     \
    X(9, cudaErrorInvalidConfiguration, "invalid configuration argument")                              \
    X(12, cudaErrorInvalidPitchValue, "invalid pitch argument")                                        \
    X(13, cudaErrorInvalidSymbol, "invalid device symbol")                                             \
    X(16, cudaErrorInvalidHostPointer, "invalid host pointer")                                         \
    X(17, cudaErrorInvalidDevicePointer, "invalid device pointer")                                     \
    X(18, cudaErrorInvalidTexture, "invalid texture reference")                                        \
    X(19, cudaErrorInvalidTextureBinding, "texture without a pointer")                                 \
    X(20, cudaErrorInvalidChannelDescriptor, "invalid channel descriptor")                             \
    X(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                        \
    X(22, cudaErrorAddressOfConstant, "invalid address of constant")                                   \
    X(23, cudaErrorTextureFetchFailed, "texture fetch failed")                                         \
    X(24, cudaErrorTextureNotBound, "texture without memory")                                          \
    X(25, cudaErrorSynchronizationError, "wrong use of __syncthreads()")                               \
    X(26, cudaErrorInvalidFilterSetting, "no linear filtering of this type")                           \
    X(27, cudaErrorInvalidNormSetting, "no normalized reads of this type")                             \
    X(28, cudaErrorMixedDeviceExecution, "emulation and device execution mixed")                       \
    X(31, cudaErrorNotYetImplemented, "feature not yet implemented")                                   \
    X(32, cudaErrorMemoryValueTooLarge, "too large for 32 bits")                                       \
    X(34, cudaErrorStubLibrary, nullptr)                                                               \
    X(35, cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(36, cudaErrorCallRequiresNewerDriver, nullptr)                                                   \
    X(37, cudaErrorInvalidSurface, "invalid surface reference")                                        \
    X(43, cudaErrorDuplicateVariableName, "two variables of one name")                                 \
    X(44, cudaErrorDuplicateTextureName, "two textures of one name")                                   \
    X(45, cudaErrorDuplicateSurfaceName, "two surfaces of one name")                                   \
    X(46, cudaErrorDevicesUnavailable, nullptr)                                                        \
    X(49, cudaErrorIncompatibleDriverContext, "incompatible driver context")                           \
    X(52, cudaErrorMissingConfiguration, "__global__ function call is not configured")                 \
    X(53, cudaErrorPriorLaunchFailure, "a launch before this one failed")                              \
    X(65, cudaErrorLaunchMaxDepthExceeded, "launches nested too deep")                                 \
    X(66, cudaErrorLaunchFileScopedTex, "kernel uses file-scoped textures")                            \
    X(67, cudaErrorLaunchFileScopedSurf, "kernel uses file-scoped surfaces")                           \
    X(68, cudaErrorSyncDepthExceeded, "synchronization nested too deep")                               \
    X(69, cudaErrorLaunchPendingCountExceeded, "too many launches pending")                            \
    X(98, cudaErrorInvalidDeviceFunction, "invalid device function")                                   \
    X(100, cudaErrorNoDevice, nullptr)                                                                 \
    X(101, cudaErrorInvalidDevice, nullptr)                                                            \
    X(102, cudaErrorDeviceNotLicensed, nullptr)                                                        \
    X(103, cudaErrorSoftwareValidityNotEstablished, "integrity checks failed")                         \
    X(127, cudaErrorStartupFailure, "startup failure")                                                 \
    X(200, cudaErrorInvalidKernelImage, nullptr)                                                       \
    X(201, cudaErrorDeviceUninitialized, nullptr)                                                      \
    X(205, cudaErrorMapBufferObjectFailed, nullptr)                                                    \
    X(206, cudaErrorUnmapBufferObjectFailed, nullptr)                                                  \
    X(207, cudaErrorArrayIsMapped, nullptr)                                                            \
    X(208, cudaErrorAlreadyMapped, nullptr)                                                            \
    X(209, cudaErrorNoKernelImageForDevice, nullptr)                                                   \
    X(210, cudaErrorAlreadyAcquired, nullptr)                                                          \
    X(211, cudaErrorNotMapped, nullptr)                                                                \
    X(212, cudaErrorNotMappedAsArray, nullptr)                                                         \
    X(213, cudaErrorNotMappedAsPointer, nullptr)                                                       \
    X(214, cudaErrorECCUncorrectable, nullptr)                                                         \
    X(215, cudaErrorUnsupportedLimit, nullptr)                                                         \
    X(216, cudaErrorDeviceAlreadyInUse, nullptr)                                                       \
    X(217, cudaErrorPeerAccessUnsupported, nullptr)                                                    \
    X(218, cudaErrorInvalidPtx, nullptr)                                                               \
    X(219, cudaErrorInvalidGraphicsContext, nullptr)                                                   \
    X(220, cudaErrorNvlinkUncorrectable, nullptr)                                                      \
    X(221, cudaErrorJitCompilerNotFound, nullptr)                                                      \
    X(222, cudaErrorUnsupportedPtxVersion, nullptr)                                                    \
    X(223, cudaErrorJitCompilationDisabled, nullptr)                                                   \
    X(224, cudaErrorUnsupportedExecAffinity, nullptr)                                                  \
    X(225, cudaErrorUnsupportedDevSideSync, nullptr)                                                   \
    X(226, cudaErrorContained, nullptr)                                                                \
    X(300, cudaErrorInvalidSource, nullptr)                                                            \
    X(301, cudaErrorFileNotFound, nullptr)                                                             \
    X(302, cudaErrorSharedObjectSymbolNotFound, nullptr)                                               \
    X(303, cudaErrorSharedObjectInitFailed, nullptr)                                                   \
    X(304, cudaErrorOperatingSystem, nullptr)                                                          \
    X(400, cudaErrorInvalidResourceHandle, nullptr)                                                    \
    X(401, cudaErrorIllegalState, nullptr)                                                             \
    X(402, cudaErrorLossyQuery, nullptr)                                                               \
    X(500, cudaErrorSymbolNotFound, nullptr)                                                           \
    X(600, cudaErrorNotReady, nullptr)                                                                 \
    X(700, cudaErrorIllegalAddress, nullptr)                                                           \
    X(701, cudaErrorLaunchOutOfResources, nullptr)                                                     \
    X(702, cudaErrorLaunchTimeout, nullptr)                                                            \
    X(703, cudaErrorLaunchIncompatibleTexturing, nullptr)                                              \
    X(704, cudaErrorPeerAccessAlreadyEnabled, nullptr)                                                 \
    X(705, cudaErrorPeerAccessNotEnabled, nullptr)                                                     \
    X(708, cudaErrorSetOnActiveProcess, nullptr)                                                       \
    X(709, cudaErrorContextIsDestroyed, nullptr)                                                       \
    X(710, cudaErrorAssert, nullptr)                                                                   \
    X(711, cudaErrorTooManyPeers, nullptr)                                                             \
    X(712, cudaErrorHostMemoryAlreadyRegistered, nullptr)                                              \
    X(713, cudaErrorHostMemoryNotRegistered, nullptr)                                                  \
    X(714, cudaErrorHardwareStackError, nullptr)                                                       \
    X(715, cudaErrorIllegalInstruction, nullptr)                                                       \
    X(716, cudaErrorMisalignedAddress, nullptr)                                                        \
    X(717, cudaErrorInvalidAddressSpace, nullptr)                                                      \
    X(718, cudaErrorInvalidPc, nullptr)                                                                \
    X(719, cudaErrorLaunchFailure, nullptr)                                                            \
    X(720, cudaErrorCooperativeLaunchTooLarge, nullptr)                                                \
    X(721, cudaErrorTensorMemoryLeak, nullptr)                                                         \
    X(800, cudaErrorNotPermitted, nullptr)                                                             \
    X(801, cudaErrorNotSupported, nullptr)                                                             \
    X(802, cudaErrorSystemNotReady, nullptr)                                                           \
    X(803, cudaErrorSystemDriverMismatch, nullptr)                                                     \
    X(804, cudaErrorCompatNotSupportedOnDevice, nullptr)                                               \
    X(805, cudaErrorMpsConnectionFailed, nullptr)                                                      \
    X(806, cudaErrorMpsRpcFailure, nullptr)                                                            \
    X(807, cudaErrorMpsServerNotReady, nullptr)                                                        \
    X(808, cudaErrorMpsMaxClientsReached, nullptr)                                                     \
    X(809, cudaErrorMpsMaxConnectionsReached, nullptr)                                                 \
    X(810, cudaErrorMpsClientTerminated, nullptr)                                                      \
    X(811, cudaErrorCdpNotSupported, nullptr)                                                          \
    X(812, cudaErrorCdpVersionMismatch, nullptr)                                                       \
    X(900, cudaErrorStreamCaptureUnsupported, nullptr)                                                 \
    X(901, cudaErrorStreamCaptureInvalidated, nullptr)                                                 \
    X(902, cudaErrorStreamCaptureMerge, nullptr)                                                       \
    X(903, cudaErrorStreamCaptureUnmatched, nullptr)                                                   \
    X(904, cudaErrorStreamCaptureUnjoined, nullptr)                                                    \
    X(905, cudaErrorStreamCaptureIsolation, nullptr)                                                   \
    X(906, cudaErrorStreamCaptureImplicit, nullptr)                                                    \
    X(907, cudaErrorCapturedEvent, nullptr)                                                            \
    X(908, cudaErrorStreamCaptureWrongThread, nullptr)                                                 \
    X(909, cudaErrorTimeout, nullptr)                                                                  \
    X(910, cudaErrorGraphExecUpdateFailure, nullptr)                                                   \
    X(911, cudaErrorExternalDevice, nullptr)                                                           \
    X(912, cudaErrorInvalidClusterSize, nullptr)                                                       \
    X(913, cudaErrorFunctionNotLoaded, nullptr)                                                        \
    X(914, cudaErrorInvalidResourceType, nullptr)                                                      \
    X(915, cudaErrorInvalidResourceConfiguration, nullptr)                                             \
    X(999, cudaErrorUnknown, nullptr)                                                                  \
    X(10000, cudaErrorApiFailureBase, "API failure base")
