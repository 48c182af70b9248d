"""What the GPU driver says, without any knowledge of Jupyter."""
