package fps

import "encoding/hex"

// HexLen is the number of hexadecimal digits of a fingerprint.
func HexLen(bits int) int { return 2 * ((bits + 7) / 8) }

// Words is the number of 64-bit words of a fingerprint.
func Words(bits int) int { return (bits + 63) / 64 }

// AppendHex appends the digits of a fingerprint of that many bits: bit i of it is
// bit i%64 of word i/64.
func AppendHex(dst []byte, fp []uint64, bits int) []byte {
	const digits = "0123456789abcdef"
	for i := range (bits + 7) / 8 {
		b := byte(fp[i/8] >> (i % 8 * 8))
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// ParseHex overwrites fp, of Words(bits) words, with a fingerprint. It reports
// whether the text is one of that many bits; otherwise fp is undefined.
func ParseHex(fp []uint64, text []byte, bits int) bool {
	if len(text) != HexLen(bits) {
		return false
	}
	clear(fp)
	var bad byte
	for i := 0; i < len(text); i += 2 {
		high, low := nibble[text[i]], nibble[text[i+1]]
		bad |= high | low
		fp[i/16] |= uint64(high<<4|low&15) << (i / 2 % 8 * 8)
	}
	if bad >= 16 {
		return false
	}
	return bits%64 == 0 || fp[len(fp)-1]>>(bits%64) == 0
}

// nibble is the value of a digit, 16 or more for anything else.
var nibble = func() (table [256]byte) {
	for i := range table {
		table[i] = 0x10
		var b [1]byte
		if _, err := hex.Decode(b[:], []byte{'0', byte(i)}); err == nil {
			table[i] = b[0]
		}
	}
	return table
}()
