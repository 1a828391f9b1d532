// Command _asm writes the assembly kernels of package tanimoto.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"   //nolint:revive // the package is a language
	. "github.com/mmcloughlin/avo/operand" //nolint:revive // the package is a language
	"github.com/mmcloughlin/avo/reg"
)

// The constants of the package.
const (
	narrowPlanes = 7
	widePlanes   = 14
	group        = 8
	ahead        = 2
	blockBytes   = 64
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, size := range []struct {
		name   string
		planes int
	}{{"Narrow", narrowPlanes}, {"Wide", widePlanes}} {
		for _, v := range []vectors{avx512{}, avx2{}} {
			(&kernel{name: size.name, planes: size.planes, vectors: v, live: true}).generate()
			(&kernel{name: size.name, planes: size.planes, vectors: v}).generate()
		}
	}
	Generate()
}

// vectors are the instructions of one extension.
type vectors interface {
	name() string
	bytes() int     // of a register
	registers() int // that planes may take
	register() reg.VecVirtual
	move(from, to Op)
	broadcast(from Mem, to reg.VecVirtual)
	and(a, b Op, to reg.VecVirtual)
	or(a, b Op, to reg.VecVirtual)
	xor(a, b Op, to reg.VecVirtual)
	// add makes of three bits of one weight the sum in a, and returns the carry.
	add(a, b, c reg.VecVirtual) (carry reg.VecVirtual)
	// any sets the register to 1 if a bit of v is on, else to 0.
	any(v reg.VecVirtual, to reg.GPVirtual)
}

// kernel generates one function: for each block, and each part of the block that
// fits a register, the columns' bits are added to the planes.
type kernel struct {
	vectors
	name   string
	planes int
	live   bool

	tile, cols, end, init, blocks, n, dst, found reg.GPVirtual
	plane                                        []Op // planes, and the one that keeps carries
}

func (k *kernel) generate() {
	verb, signature := "count", "func(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint64)"
	if k.live {
		verb, signature = "live", "func(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint32) int"
	}
	TEXT(verb+k.name+k.vectors.name(), NOSPLIT, signature)
	Pragma("noescape")
	k.arguments()
	k.placePlanes()

	Label("block")
	TESTQ(k.n, k.n)
	JZ(LabelRef("done"))
	k.block()
	ADDQ(Imm(4), k.blocks)
	DECQ(k.n)
	JMP(LabelRef("block"))

	Label("done")
	VZEROUPPER()
	if k.live {
		Store(k.found, ReturnIndex(0))
	}
	RET()
}

func (k *kernel) arguments() {
	load := func(name string) reg.GPVirtual { return Load(Param(name).Base(), GP64()).(reg.GPVirtual) }
	k.tile, k.cols, k.init, k.blocks, k.dst = load("tile"), load("cols"), load("init"), load("blocks"), load("dst")
	k.end = Load(Param("cols").Len(), GP64()).(reg.GPVirtual)
	LEAQ(Mem{Base: k.cols, Index: k.end, Scale: 4}, k.end)
	k.n = Load(Param("n"), GP64()).(reg.GPVirtual)
	if k.live {
		k.found = GP64()
		XORQ(k.found, k.found)
	}
}

// placePlanes puts the low planes into registers, and as many others as fit; the
// rest, which change least often, onto the stack.
func (k *kernel) placePlanes() {
	for j := range k.planes + 1 {
		if j < k.registers() {
			k.plane = append(k.plane, k.register())
		} else {
			k.plane = append(k.plane, AllocLocal(k.bytes()))
		}
	}
}

// block counts one block.
func (k *kernel) block() {
	at, base, next := GP64(), GP64(), GP64()
	MOVL(Mem{Base: k.blocks}, at.As32())
	LEAQ(Mem{Base: k.tile, Index: at, Scale: 8}, base)
	MOVL(Mem{Base: k.blocks, Disp: 4 * ahead}, next.As32())
	LEAQ(Mem{Base: k.tile, Index: next, Scale: 8}, next)

	var seen reg.VecVirtual
	for part := 0; part < blockBytes; part += k.bytes() {
		k.start()
		k.columns(base, next, part)
		if !k.live {
			k.store(part)
			continue
		}
		top := k.register()
		k.move(k.plane[k.planes], top)
		if seen != nil {
			k.or(seen, top, top)
		}
		seen = top
	}
	if k.live {
		// Written always, kept if something was seen.
		MOVL(at.As32(), Mem{Base: k.dst, Index: k.found, Scale: 4})
		one := GP64()
		k.any(seen, one)
		ADDQ(one, k.found)
	} else {
		ADDQ(U32(blockBytes*(k.planes+1)), k.dst)
	}
}

// start sets the planes.
func (k *kernel) start() {
	for j, p := range k.plane {
		from := Mem{Base: k.init, Disp: 8 * j}
		if v, ok := p.(reg.VecVirtual); ok {
			k.broadcast(from, v)
			continue
		}
		v := k.register()
		k.broadcast(from, v)
		k.move(v, p)
	}
}

func (k *kernel) store(part int) {
	for j, p := range k.plane {
		to := Mem{Base: k.dst, Disp: j*blockBytes + part}
		if v, ok := p.(reg.VecVirtual); ok {
			k.move(v, to)
			continue
		}
		v := k.register()
		k.move(p, v)
		k.move(v, to)
	}
}

// columns adds all columns of a part, a group at a time.
func (k *kernel) columns(base, next reg.GPVirtual, part int) {
	loop, done := fmt.Sprintf("columns%d", part), fmt.Sprintf("counted%d", part)
	col := GP64()
	MOVQ(k.cols, col)
	Label(loop)
	CMPQ(col, k.end)
	JAE(LabelRef(done))

	column := 0
	load := func() reg.VecVirtual {
		at, v := GP64(), k.register()
		MOVL(Mem{Base: col, Disp: 4 * column}, at.As32())
		k.move(Mem{Base: base, Index: at, Scale: 8, Disp: part}, v)
		if part == 0 {
			PREFETCHT0(Mem{Base: next, Index: at, Scale: 8})
		}
		column++
		return v
	}
	// sum returns the carry of 2^(weight+1) columns into the plane above weight.
	var sum func(weight int) reg.VecVirtual
	sum = func(weight int) reg.VecVirtual {
		if weight < 0 {
			return load()
		}
		a := sum(weight - 1)
		b := sum(weight - 1)
		return k.add(k.plane[weight].(reg.VecVirtual), a, b)
	}
	k.carry(sum(2))

	ADDQ(Imm(4*group), col)
	JMP(LabelRef(loop))
	Label(done)
}

// carry adds a bit of weight 8 to the planes from the third on.
func (k *kernel) carry(bit reg.VecVirtual) {
	for j := 3; j <= k.planes; j++ {
		p, onStack := k.plane[j], false
		if _, onStack = p.(Mem); onStack {
			v := k.register()
			k.move(p, v)
			p = v
		}
		v := p.(reg.VecVirtual)
		if j == k.planes {
			k.or(bit, v, v)
		} else {
			next := k.register()
			k.and(bit, v, next)
			k.xor(bit, v, v)
			bit = next
		}
		if onStack {
			k.move(v, k.plane[j])
		}
	}
}
