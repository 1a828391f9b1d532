"""The Python worker of SciMesh: claims tasks over HTTP and computes them with RDKit."""
