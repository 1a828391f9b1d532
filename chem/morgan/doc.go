// Package morgan computes Morgan circular fingerprints, also known as ECFP, of
// perceived molecules, identical to those of RDKit's Morgan generator with its
// default invariants (Rogers and Hahn, Journal of Chemical Information and
// Modeling 50, 2010, 742; radius 2 corresponds to ECFP4).
//
// Every atom starts with an identifier made of its element, connections,
// hydrogens, charge, mass difference and ring membership. In each round it takes
// in its neighbours' identifiers; the environment then reaches one bond further.
// An environment that covers the same bonds as an earlier one, or as another of
// the same round with a smaller identifier, is left out. Folding sets bit
// identifier mod size.
package morgan
