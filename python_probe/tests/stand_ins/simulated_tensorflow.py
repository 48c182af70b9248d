"""Makes a real TensorFlow without a GPU say that its tensors are on one. A stand-in: see README.

Real are TensorFlow, Keras, who refers to which tensor, and what ends them. Simulated are the GPU's
name, the figures of ``get_memory_info`` (what is alive, by the real sizes) and the pool.
"""

import gc

import tensorflow as tf
from device_memory import Pool
from tensorflow.python.eager import context
from tensorflow.python.framework.ops import EagerTensor
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
pool = Pool()
_peak = 0


def install():
    """Initialises TensorFlow, as its first operation does."""
    context.ensure_initialized()
    own = context.context()
    own._logical_devices.append(context.LogicalDevice("/device:GPU:0", "GPU"))
    own._visible_device_list.append(context.PhysicalDevice("/physical_device:GPU:0", "GPU"))
    EagerTensor.device = EagerTensor.backing_device = property(lambda self: GPU)
    tf.config.experimental.get_memory_info = get_memory_info


def get_memory_info(device):
    assert device == "GPU:0", device
    alive = 0
    for thing in gc.get_objects():
        if type(thing) in (EagerTensor, ResourceVariable) and thing.dtype != tf.resource:
            alive += thing.shape.num_elements() * thing.dtype.size
    return {"current": alive, "peak": max(_peak, alive)}


def take(mib):
    """A tensor of so many MiB."""
    global _peak
    made = tf.zeros([mib << 20], tf.uint8)
    _peak = get_memory_info("GPU:0")["peak"]
    pool.hold(_peak)
    return made
