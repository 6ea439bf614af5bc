#pragma once

// Every cudaError_t as X(name, text). The driver has its own texts for most, by the same codes: null here.
#define BULKHEAD_CUDART_ERRORS(X)                                                                  \
    X(cudaSuccess, nullptr)                                                                        \
    X(cudaErrorInvalidValue, nullptr)                                                              \
    X(cudaErrorMemoryAllocation, nullptr)                                                          \
    X(cudaErrorInitializationError, nullptr)                                                       \
    X(cudaErrorCudartUnloading, nullptr)                                                           \
    X(cudaErrorProfilerDisabled, nullptr)                                                          \
    X(cudaErrorProfilerNotInitialized, nullptr)                                                    \
    X(cudaErrorProfilerAlreadyStarted, nullptr)                                                    \
    X(cudaErrorProfilerAlreadyStopped, nullptr)                                                    \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                             \
    X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                        \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                                             \
    X(cudaErrorInvalidHostPointer, "invalid host pointer")                                         \
    X(cudaErrorInvalidDevicePointer, "invalid device pointer")                                     \
    X(cudaErrorInvalidTexture, "invalid texture reference")                                        \
    X(cudaErrorInvalidTextureBinding, "texture without a pointer")                                 \
    X(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor")                             \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                        \
    X(cudaErrorAddressOfConstant, "invalid address of constant")                                   \
    X(cudaErrorTextureFetchFailed, "texture fetch failed")                                         \
    X(cudaErrorTextureNotBound, "texture without memory")                                          \
    X(cudaErrorSynchronizationError, "wrong use of __syncthreads()")                               \
    X(cudaErrorInvalidFilterSetting, "no linear filtering of this type")                           \
    X(cudaErrorInvalidNormSetting, "no normalized reads of this type")                             \
    X(cudaErrorMixedDeviceExecution, "emulation and device execution mixed")                       \
    X(cudaErrorNotYetImplemented, "feature not yet implemented")                                   \
    X(cudaErrorMemoryValueTooLarge, "too large for 32 bits")                                       \
    X(cudaErrorStubLibrary, nullptr)                                                               \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorCallRequiresNewerDriver, nullptr)                                                   \
    X(cudaErrorInvalidSurface, "invalid surface reference")                                        \
    X(cudaErrorDuplicateVariableName, "two variables of one name")                                 \
    X(cudaErrorDuplicateTextureName, "two textures of one name")                                   \
    X(cudaErrorDuplicateSurfaceName, "two surfaces of one name")                                   \
    X(cudaErrorDevicesUnavailable, nullptr)                                                        \
    X(cudaErrorIncompatibleDriverContext, "incompatible driver context")                           \
    X(cudaErrorMissingConfiguration, "__global__ function call is not configured")                 \
    X(cudaErrorPriorLaunchFailure, "a launch before this one failed")                              \
    X(cudaErrorLaunchMaxDepthExceeded, "launches nested too deep")                                 \
    X(cudaErrorLaunchFileScopedTex, "kernel uses file-scoped textures")                            \
    X(cudaErrorLaunchFileScopedSurf, "kernel uses file-scoped surfaces")                           \
    X(cudaErrorSyncDepthExceeded, "synchronization nested too deep")                               \
    X(cudaErrorLaunchPendingCountExceeded, "too many launches pending")                            \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                   \
    X(cudaErrorNoDevice, nullptr)                                                                  \
    X(cudaErrorInvalidDevice, nullptr)                                                             \
    X(cudaErrorDeviceNotLicensed, nullptr)                                                         \
    X(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed")                          \
    X(cudaErrorStartupFailure, "startup failure")                                                  \
    X(cudaErrorInvalidKernelImage, nullptr)                                                        \
    X(cudaErrorDeviceUninitialized, nullptr)                                                       \
    X(cudaErrorMapBufferObjectFailed, nullptr)                                                     \
    X(cudaErrorUnmapBufferObjectFailed, nullptr)                                                   \
    X(cudaErrorArrayIsMapped, nullptr)                                                             \
    X(cudaErrorAlreadyMapped, nullptr)                                                             \
    X(cudaErrorNoKernelImageForDevice, nullptr)                                                    \
    X(cudaErrorAlreadyAcquired, nullptr)                                                           \
    X(cudaErrorNotMapped, nullptr)                                                                 \
    X(cudaErrorNotMappedAsArray, nullptr)                                                          \
    X(cudaErrorNotMappedAsPointer, nullptr)                                                        \
    X(cudaErrorECCUncorrectable, nullptr)                                                          \
    X(cudaErrorUnsupportedLimit, nullptr)                                                          \
    X(cudaErrorDeviceAlreadyInUse, nullptr)                                                        \
    X(cudaErrorPeerAccessUnsupported, nullptr)                                                     \
    X(cudaErrorInvalidPtx, nullptr)                                                                \
    X(cudaErrorInvalidGraphicsContext, nullptr)                                                    \
    X(cudaErrorNvlinkUncorrectable, nullptr)                                                       \
    X(cudaErrorJitCompilerNotFound, nullptr)                                                       \
    X(cudaErrorUnsupportedPtxVersion, nullptr)                                                     \
    X(cudaErrorJitCompilationDisabled, nullptr)                                                    \
    X(cudaErrorUnsupportedExecAffinity, nullptr)                                                   \
    X(cudaErrorUnsupportedDevSideSync, nullptr)                                                    \
    X(cudaErrorContained, nullptr)                                                                 \
    X(cudaErrorInvalidSource, nullptr)                                                             \
    X(cudaErrorFileNotFound, nullptr)                                                              \
    X(cudaErrorSharedObjectSymbolNotFound, nullptr)                                                \
    X(cudaErrorSharedObjectInitFailed, nullptr)                                                    \
    X(cudaErrorOperatingSystem, nullptr)                                                           \
    X(cudaErrorInvalidResourceHandle, nullptr)                                                     \
    X(cudaErrorIllegalState, nullptr)                                                              \
    X(cudaErrorLossyQuery, nullptr)                                                                \
    X(cudaErrorSymbolNotFound, nullptr)                                                            \
    X(cudaErrorNotReady, nullptr)                                                                  \
    X(cudaErrorIllegalAddress, nullptr)                                                            \
    X(cudaErrorLaunchOutOfResources, nullptr)                                                      \
    X(cudaErrorLaunchTimeout, nullptr)                                                             \
    X(cudaErrorLaunchIncompatibleTexturing, nullptr)                                               \
    X(cudaErrorPeerAccessAlreadyEnabled, nullptr)                                                  \
    X(cudaErrorPeerAccessNotEnabled, nullptr)                                                      \
    X(cudaErrorSetOnActiveProcess, nullptr)                                                        \
    X(cudaErrorContextIsDestroyed, nullptr)                                                        \
    X(cudaErrorAssert, nullptr)                                                                    \
    X(cudaErrorTooManyPeers, nullptr)                                                              \
    X(cudaErrorHostMemoryAlreadyRegistered, nullptr)                                               \
    X(cudaErrorHostMemoryNotRegistered, nullptr)                                                   \
    X(cudaErrorHardwareStackError, nullptr)                                                        \
    X(cudaErrorIllegalInstruction, nullptr)                                                        \
    X(cudaErrorMisalignedAddress, nullptr)                                                         \
    X(cudaErrorInvalidAddressSpace, nullptr)                                                       \
    X(cudaErrorInvalidPc, nullptr)                                                                 \
    X(cudaErrorLaunchFailure, nullptr)                                                             \
    X(cudaErrorCooperativeLaunchTooLarge, nullptr)                                                 \
    X(cudaErrorTensorMemoryLeak, nullptr)                                                          \
    X(cudaErrorNotPermitted, nullptr)                                                              \
    X(cudaErrorNotSupported, nullptr)                                                              \
    X(cudaErrorSystemNotReady, nullptr)                                                            \
    X(cudaErrorSystemDriverMismatch, nullptr)                                                      \
    X(cudaErrorCompatNotSupportedOnDevice, nullptr)                                                \
    X(cudaErrorMpsConnectionFailed, nullptr)                                                       \
    X(cudaErrorMpsRpcFailure, nullptr)                                                             \
    X(cudaErrorMpsServerNotReady, nullptr)                                                         \
    X(cudaErrorMpsMaxClientsReached, nullptr)                                                      \
    X(cudaErrorMpsMaxConnectionsReached, nullptr)                                                  \
    X(cudaErrorMpsClientTerminated, nullptr)                                                       \
    X(cudaErrorCdpNotSupported, nullptr)                                                           \
    X(cudaErrorCdpVersionMismatch, nullptr)                                                        \
    X(cudaErrorStreamCaptureUnsupported, nullptr)                                                  \
    X(cudaErrorStreamCaptureInvalidated, nullptr)                                                  \
    X(cudaErrorStreamCaptureMerge, nullptr)                                                        \
    X(cudaErrorStreamCaptureUnmatched, nullptr)                                                    \
    X(cudaErrorStreamCaptureUnjoined, nullptr)                                                     \
    X(cudaErrorStreamCaptureIsolation, nullptr)                                                    \
    X(cudaErrorStreamCaptureImplicit, nullptr)                                                     \
    X(cudaErrorCapturedEvent, nullptr)                                                             \
    X(cudaErrorStreamCaptureWrongThread, nullptr)                                                  \
    X(cudaErrorTimeout, nullptr)                                                                   \
    X(cudaErrorGraphExecUpdateFailure, nullptr)                                                    \
    X(cudaErrorExternalDevice, nullptr)                                                            \
    X(cudaErrorInvalidClusterSize, nullptr)                                                        \
    X(cudaErrorFunctionNotLoaded, nullptr)                                                         \
    X(cudaErrorInvalidResourceType, nullptr)                                                       \
    X(cudaErrorInvalidResourceConfiguration, nullptr)                                              \
    X(cudaErrorUnknown, nullptr)                                                                   \
    X(cudaErrorApiFailureBase, "API failure base")
