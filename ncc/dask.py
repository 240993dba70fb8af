"""Models on the workers of a Dask cluster.

client = distributed.Client("tcp://scheduler:8786")
for scores in ncc.dask.map(client, "net.ncc", arrays): ...
"""

from ncc.compiler.dask_map import map_batches as map

__all__ = ["map"]
