"""Inception-v3 as TENSAT has it (`model/inceptionv3.model`, after TASO's `examples/inceptionv3.py`).

Where the two differ, the model counts: the first reduction averages, the last two blocks take maxima, and
concatenations are nested in pairs.
"""

from __future__ import annotations

import onnx
from network_builder import Network, Value


def inceptionv3(image: int = 299) -> onnx.ModelProto:
    """Blocks of four branches; without the classifier."""
    net = Network("inceptionv3")
    x = _front(net, net.input(1, 3, image, image))
    for features in (32, 64, 64):
        x = _block_of_5(net, x, features)
    x = _first_reduction(net, x)
    for narrow in (128, 160, 160, 192):
        x = _block_of_7(net, x, narrow)
    x = _second_reduction(net, x)
    for _ in range(2):
        x = _wide_block(net, x)
    return net.model(net.pool("AveragePool", x, x.shape[2], same=False))


def _front(net: Network, x: Value) -> Value:
    x = net.conv_relu(x, 32, 3, stride=2, same=False)
    x = net.conv_relu(x, 32, 3, same=False)
    x = net.conv_relu(x, 64, 3)
    x = net.pool("MaxPool", x, 3, stride=2, same=False)
    x = net.conv_relu(x, 80)
    x = net.conv_relu(x, 192, 3, same=False)
    return net.pool("MaxPool", x, 3, stride=2, same=False)


def _averaged(net: Network, x: Value, wide: int) -> Value:
    """TASO has an activation behind the pooling, which changes nothing of what is positive."""
    return net.conv_relu(net.relu(net.pool("AveragePool", x, 3)), wide)


def _block_of_5(net: Network, x: Value, features: int) -> Value:
    first = net.conv_relu(x, 64)
    second = net.conv_relu(net.conv_relu(x, 48), 64, 5)
    third = net.conv_relu(net.conv_relu(net.conv_relu(x, 64), 96, 3), 96, 3)
    return net.concat(net.concat(first, second), net.concat(third, _averaged(net, x, features)))


def _first_reduction(net: Network, x: Value) -> Value:
    first = net.conv_relu(x, 384, 3, stride=2, same=False)
    second = net.conv_relu(net.conv_relu(x, 64), 96, 3)
    second = net.conv_relu(second, 96, 3, stride=2, same=False)
    pooled = net.pool("AveragePool", x, 3, stride=2, same=False)
    return net.concat(pooled, net.concat(first, second))


def _block_of_7(net: Network, x: Value, narrow: int) -> Value:
    first = net.conv_relu(x, 192)
    second = net.conv_relu(net.conv_relu(x, narrow), narrow, (1, 7))
    second = net.conv_relu(second, 192, (7, 1))
    third = net.conv_relu(x, narrow)
    for kernel, wide in (((7, 1), narrow), ((1, 7), narrow), ((7, 1), narrow), ((1, 7), 192)):
        third = net.conv_relu(third, wide, kernel)
    return net.concat(net.concat(first, second), net.concat(third, _averaged(net, x, 192)))


def _second_reduction(net: Network, x: Value) -> Value:
    first = net.conv_relu(net.conv_relu(x, 192), 320, 3, stride=2, same=False)
    second = net.conv_relu(net.conv_relu(x, 192), 192, (1, 7))
    second = net.conv_relu(second, 192, (7, 1))
    second = net.conv_relu(second, 192, 3, stride=2, same=False)
    return net.concat(first, second, net.pool("MaxPool", x, 3, stride=2, same=False))


def _wide_block(net: Network, x: Value) -> Value:
    first = net.conv_relu(x, 320)
    second = net.conv_relu(x, 384)
    third = net.conv_relu(net.conv_relu(x, 448), 384, 3)
    split = [
        net.concat(net.conv_relu(y, 384, (1, 3)), net.conv_relu(y, 384, (3, 1))) for y in (second, third)
    ]
    return net.concat(first, *split, net.conv_relu(net.pool("MaxPool", x, 3), 192))
