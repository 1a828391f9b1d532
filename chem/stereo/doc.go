// Package stereo tells whether two SMILES strings spell the same molecule: those
// for which RDKit writes the same canonical isomeric SMILES.
//
// A Structure is a perceived molecule with the stereochemistry that RDKit's
// (legacy) perception keeps: tetrahedral marks at centres whose neighbours
// differ, or that are stereogenic in a ring together with another; directions at
// double bonds whose ends have different substituents. Marks that mean nothing
// are dropped, and with them the hydrogen that a metal had only for its mark.
//
// Two structures are the same if their atoms and bonds can be matched one to one
// so that element, isotope, charge, hydrogens, aromaticity, map number, bond
// types and every remaining mark agree.
package stereo
