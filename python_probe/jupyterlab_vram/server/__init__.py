"""The Jupyter server extension: sampler, routes, stream."""
