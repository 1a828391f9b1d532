package tanimoto

// portable is the kernel that the others are compared with.
var portable = kernel{
	name:   "portable",
	narrow: counter{narrowPlanes, liveNarrow, countNarrow},
	wide:   counter{widePlanes, liveWide, countWide},
}

func liveNarrow(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint32) int {
	found := 0
	for _, block := range blocks[:n] {
		top := uint64(0)
		for w := range uint32(blockWords) {
			p := [narrowPlanes + 1]uint64(init)
			addNarrow(tile, cols, block+w, &p)
			top |= p[narrowPlanes]
		}
		if top != 0 {
			dst[found] = block
			found++
		}
	}
	return found
}

func countNarrow(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint64) {
	for i, block := range blocks[:n] {
		out := dst[i*(narrowPlanes+1)*blockWords:][:(narrowPlanes+1)*blockWords]
		for w := range uint32(blockWords) {
			p := [narrowPlanes + 1]uint64(init)
			addNarrow(tile, cols, block+w, &p)
			for j, plane := range p {
				out[j*blockWords+int(w)] = plane
			}
		}
	}
}

func liveWide(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint32) int {
	found := 0
	for _, block := range blocks[:n] {
		top := uint64(0)
		for w := range uint32(blockWords) {
			p := [widePlanes + 1]uint64(init)
			addWide(tile, cols, block+w, &p)
			top |= p[widePlanes]
		}
		if top != 0 {
			dst[found] = block
			found++
		}
	}
	return found
}

func countWide(tile []uint64, cols []uint32, init []uint64, blocks []uint32, n int, dst []uint64) {
	for i, block := range blocks[:n] {
		out := dst[i*(widePlanes+1)*blockWords:][:(widePlanes+1)*blockWords]
		for w := range uint32(blockWords) {
			p := [widePlanes + 1]uint64(init)
			addWide(tile, cols, block+w, &p)
			for j, plane := range p {
				out[j*blockWords+int(w)] = plane
			}
		}
	}
}

// addNarrow adds the columns' word at that place to the planes. It is written
// out, for the compiler keeps the planes in registers only this way.
func addNarrow(tile []uint64, cols []uint32, at uint32, p *[narrowPlanes + 1]uint64) {
	p0, p1, p2, p3, p4, p5, p6, top := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	for ; len(cols) >= group; cols = cols[group:] {
		v, w := tile[cols[0]+at], tile[cols[1]+at]
		u := p0 ^ v
		twoA := p0&v | u&w
		p0 = u ^ w

		v, w = tile[cols[2]+at], tile[cols[3]+at]
		u = p0 ^ v
		twoB := p0&v | u&w
		p0 = u ^ w

		u = p1 ^ twoA
		fourA := p1&twoA | u&twoB
		p1 = u ^ twoB

		v, w = tile[cols[4]+at], tile[cols[5]+at]
		u = p0 ^ v
		twoA = p0&v | u&w
		p0 = u ^ w

		v, w = tile[cols[6]+at], tile[cols[7]+at]
		u = p0 ^ v
		twoB = p0&v | u&w
		p0 = u ^ w

		u = p1 ^ twoA
		fourB := p1&twoA | u&twoB
		p1 = u ^ twoB

		u = p2 ^ fourA
		carry := p2&fourA | u&fourB
		p2 = u ^ fourB

		p3, carry = p3^carry, p3&carry
		p4, carry = p4^carry, p4&carry
		p5, carry = p5^carry, p5&carry
		p6, carry = p6^carry, p6&carry
		top |= carry
	}
	*p = [narrowPlanes + 1]uint64{p0, p1, p2, p3, p4, p5, p6, top}
}

// addWide adds the columns' word at that place to the planes.
func addWide(tile []uint64, cols []uint32, at uint32, p *[widePlanes + 1]uint64) {
	for ; len(cols) >= group; cols = cols[group:] {
		var carry [group]uint64
		for i := range carry {
			carry[i] = tile[cols[i]+at]
		}
		// Two of one weight and the plane give one of the next: eight columns,
		// four twos, two fours, one eight.
		n := group
		for j := range 3 {
			for i := 0; i < n; i += 2 {
				v, w := carry[i], carry[i+1]
				u := p[j] ^ v
				carry[i/2] = p[j]&v | u&w
				p[j] = u ^ w
			}
			n /= 2
		}
		eight := carry[0]
		for j := 3; j < widePlanes && eight != 0; j++ {
			p[j], eight = p[j]^eight, p[j]&eight
		}
		p[widePlanes] |= eight
	}
}
