"""The computations of this worker; RDKit is imported below this package alone."""
