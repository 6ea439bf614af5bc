"""A product, a softmax, a sort, a running sum and a gradient that XLA compiles, against NumPy."""

import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy

random = numpy.random.default_rng(1)
a, b = random.standard_normal((256, 128), dtype=numpy.float32), random.standard_normal((128, 64), dtype=numpy.float32)
right = bool(numpy.allclose(jax.jit(jnp.dot)(a, b), a @ b, atol=1e-1))
powers = numpy.exp(a - a.max(1, keepdims=True))
right &= bool(numpy.allclose(jax.nn.softmax(a, 1), powers / powers.sum(1, keepdims=True), atol=1e-6))
right &= bool((numpy.asarray(jnp.sort(a.ravel())) == numpy.sort(a.ravel())).all())
right &= bool(numpy.allclose(jnp.cumsum(a.ravel()), numpy.cumsum(a.ravel()), atol=1e-2))
slope = jax.grad(lambda x: (jnp.tanh(x) ** 2).sum())(a)
right &= bool(numpy.allclose(slope, 2 * numpy.tanh(a) * (1 - numpy.tanh(a) ** 2), atol=1e-5))
print("right" if right else "wrong", getattr(jax.devices()[0], "core_count", 0), "product, softmax, sort, running sum and gradient", sep="; ")
