// Package mol holds a molecule as dense slices: atoms, bonds, and for every atom
// its neighbours in order of bond index.
//
// A Mol is scratch memory: readers refill one and the same value again and again
// (Reset keeps the capacity). It is a plain graph and knows no chemistry beyond
// the table of elements and the contribution of a bond to an atom's valence;
// package perceive works on it in place.
//
// Order is part of the meaning. Atoms are numbered as they are written; bonds to
// the preceding atom are numbered as they are read, and ring-closure bonds come
// after all of those, by closure number. Which Kekulé form is found depends on it.
package mol
