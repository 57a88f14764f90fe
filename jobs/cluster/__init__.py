"""Many bench hosts through Dask distributed. Nothing outside this folder knows Dask."""
