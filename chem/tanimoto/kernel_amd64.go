//go:build amd64 && !purego

package tanimoto

import "golang.org/x/sys/cpu"

//go:generate go -C _asm run . -out ../kernel_amd64.s -stubs ../kernel_stubs_amd64.go -pkg tanimoto

// assemblyKernels are those that this processor can run, best first.
func assemblyKernels() []kernel {
	var found []kernel
	if cpu.X86.HasAVX512F {
		found = append(found, kernel{
			name:   "AVX-512F",
			narrow: counter{narrowPlanes, liveNarrowAVX512, countNarrowAVX512},
			wide:   counter{widePlanes, liveWideAVX512, countWideAVX512},
		})
	}
	if cpu.X86.HasAVX2 {
		found = append(found, kernel{
			name:   "AVX2",
			narrow: counter{narrowPlanes, liveNarrowAVX2, countNarrowAVX2},
			wide:   counter{widePlanes, liveWideAVX2, countWideAVX2},
		})
	}
	return found
}
