package main

import (
	. "github.com/mmcloughlin/avo/build"   //nolint:revive // the package is a language
	. "github.com/mmcloughlin/avo/operand" //nolint:revive // the package is a language
	"github.com/mmcloughlin/avo/reg"
)

type avx2 struct{}

func (avx2) name() string             { return "AVX2" }
func (avx2) bytes() int               { return 32 }
func (avx2) registers() int           { return 8 }
func (avx2) register() reg.VecVirtual { return YMM() }

func (avx2) move(from, to Op)                      { VMOVDQU(from, to) }
func (avx2) broadcast(from Mem, to reg.VecVirtual) { VPBROADCASTQ(from, to) }
func (avx2) and(a, b Op, to reg.VecVirtual)        { VPAND(a, b, to) }
func (avx2) or(a, b Op, to reg.VecVirtual)         { VPOR(a, b, to) }
func (avx2) xor(a, b Op, to reg.VecVirtual)        { VPXOR(a, b, to) }

func (v avx2) add(a, b, c reg.VecVirtual) reg.VecVirtual {
	carry, odd := v.register(), v.register()
	v.xor(a, b, odd)
	v.and(a, b, carry)
	v.xor(odd, c, a)
	v.and(odd, c, odd)
	v.or(carry, odd, carry)
	return carry
}

func (avx2) any(v reg.VecVirtual, to reg.GPVirtual) {
	XORL(to.As32(), to.As32())
	VPTEST(v, v)
	SETNE(to.As8())
}

type avx512 struct{}

func (avx512) name() string             { return "AVX512" }
func (avx512) bytes() int               { return 64 }
func (avx512) registers() int           { return 15 }
func (avx512) register() reg.VecVirtual { return ZMM() }

func (avx512) move(from, to Op)                      { VMOVDQU64(from, to) }
func (avx512) broadcast(from Mem, to reg.VecVirtual) { VPBROADCASTQ(from, to) }
func (avx512) and(a, b Op, to reg.VecVirtual)        { VPANDQ(a, b, to) }
func (avx512) or(a, b Op, to reg.VecVirtual)         { VPORQ(a, b, to) }
func (avx512) xor(a, b Op, to reg.VecVirtual)        { VPXORQ(a, b, to) }

// Truth tables of VPTERNLOG.
const (
	majority = 0xe8
	parity   = 0x96
)

func (v avx512) add(a, b, c reg.VecVirtual) reg.VecVirtual {
	carry := v.register()
	VMOVDQA64(a, carry)
	VPTERNLOGQ(U8(majority), c, b, carry)
	VPTERNLOGQ(U8(parity), c, b, a)
	return carry
}

func (avx512) any(v reg.VecVirtual, to reg.GPVirtual) {
	mask, bits := K(), GP32()
	XORL(to.As32(), to.As32())
	VPTESTMQ(v, v, mask)
	KMOVW(mask, bits)
	TESTL(bits, bits)
	SETNE(to.As8())
}
