"""Networks written for the benchmarks, as PyTorch modules: those that no package has, small and odd.

They have what exports bring along: BatchNormalization apart from its convolution, weight normalization as
arithmetic on weights, halves by Shape and Slice, masks by Expand.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import weight_norm


class Positional(nn.Module):
    """A model whose inputs go in by position and of whose outputs the first ones count."""

    def __init__(self, model: nn.Module, outputs: int, masked: bool = False) -> None:
        super().__init__()
        self.m, self.outputs, self.masked = model, outputs, masked

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        names = ("input_ids", "attention_mask") if inputs[0].dtype == torch.int64 else ("input_features",)
        given = dict(zip(names, inputs, strict=False))
        if self.masked:
            given["attention_mask"] = torch.ones_like(inputs[0])
        return tuple(self.m(**given)[: self.outputs])


class PooledConv1d(nn.Module):
    """Average and maximum over 1,024 steps at once, each through the same last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.c = nn.Sequential(
            *(nn.Conv1d(40, 64, 5, padding=2), nn.BatchNorm1d(64), nn.ReLU()),
            *(nn.Conv1d(64, 64, 3, dilation=2, padding=2), nn.BatchNorm1d(64), nn.ReLU()),
        )
        self.h = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.c(x)
        averaged = functional.avg_pool1d(y, 1024).squeeze(2)
        largest = functional.max_pool1d(y, 1024).squeeze(2)
        return self.h(averaged) + self.h(largest)


class WidePool(nn.Module):
    """An average over a window of 1 x 512."""

    def __init__(self) -> None:
        super().__init__()
        self.c1, self.b = nn.Conv2d(1, 16, (3, 9), padding=(1, 4)), nn.BatchNorm2d(16)
        self.c2, self.h = nn.Conv2d(16, 32, 3, padding=1), nn.Linear(256, 20)

    def forward(self, x: Tensor) -> Tensor:
        y = self.c2(self.b(self.c1(x)).relu()).relu()
        return self.h(functional.avg_pool2d(y, (1, 512)).flatten(1))


class Fire(nn.Module):
    """SqueezeNet's module."""

    def __init__(self, narrow: int, squeezed: int, wide: int) -> None:
        super().__init__()
        self.s = nn.Conv2d(narrow, squeezed, 1)
        self.e1, self.e3 = nn.Conv2d(squeezed, wide, 1), nn.Conv2d(squeezed, wide, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.s(x).relu()
        return torch.cat([self.e1(x).relu(), self.e3(x).relu()], 1)


class SqueezeNetBypass(nn.Module):
    """SqueezeNet with every second module's input added to its output."""

    def __init__(self) -> None:
        super().__init__()
        wide = (64, 64, 128, 128, 192, 192, 256, 256)
        narrow = (64, *(2 * count for count in wide))
        self.c1 = nn.Conv2d(3, 64, 3, stride=2)
        self.f = nn.ModuleList(Fire(a, b // 4, b) for a, b in zip(narrow, wide, strict=False))
        self.c = nn.Conv2d(512, 1000, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.c1(x).relu()
        for k in range(0, len(self.f), 2):
            if k < 6:
                x = functional.max_pool2d(x, 3, 2, ceil_mode=True)
            first = self.f[k](x)
            x = self.f[k + 1](first) + first
        return functional.adaptive_avg_pool2d(self.c(x).relu(), 1).flatten(1)


class SpectrumClassifier(nn.Module):
    """A Fourier transform as a convolution, mel bands as a product."""

    def __init__(self) -> None:
        super().__init__()
        self.stft, self.mel = nn.Conv1d(1, 514, 512, stride=160, bias=False), nn.Linear(257, 80)
        self.c = nn.Sequential(
            *(nn.Conv1d(80, 96, 5, padding=2), nn.BatchNorm1d(96), nn.ReLU()),
            *(nn.Conv1d(96, 96, 31, padding=15, groups=96), nn.BatchNorm1d(96), nn.SiLU()),
            nn.Conv1d(96, 64, 1),
        )
        self.g = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        real, imaginary = self.stft(x).chunk(2, 1)
        power = (real * real + imaginary * imaginary).transpose(1, 2)
        bands = (self.mel(power).abs() + 1e-6).log().transpose(1, 2)
        return self.g(self.c(bands).mean(2))


def _twice(narrow: int, wide: int) -> nn.Sequential:
    layers = [
        nn.Sequential(nn.Conv2d(count, wide, 3, padding=1, bias=False), nn.BatchNorm2d(wide), nn.ReLU())
        for count in (narrow, wide)
    ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Three times down and up again, with everything on the way concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.e = nn.ModuleList(map(_twice, (3, 16, 32), (16, 32, 64)))
        self.m = _twice(64, 128)
        self.u = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in (64, 32, 16))
        self.d = nn.ModuleList(_twice(2 * n, n) for n in (64, 32, 16))
        self.o = nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for down in self.e:
            x = down(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.m(x)
        for up, merge in zip(self.u, self.d, strict=True):
            x = merge(torch.cat([up(x), kept.pop()], 1))
        return functional.interpolate(self.o(x), scale_factor=2.0, mode="bilinear")


class WaveNet(nn.Module):
    """Gated dilated convolutions, halves by Slice, skips summed."""

    def __init__(self, layers: int = 10) -> None:
        super().__init__()
        self.i = nn.Conv1d(80, 64, 1)
        dilations = [2 ** (k % 5) for k in range(layers)]
        self.d = nn.ModuleList(nn.Conv1d(64, 128, 3, dilation=d, padding=d) for d in dilations)
        self.r = nn.ModuleList(nn.Conv1d(64, 128, 1) for _ in dilations)
        self.o = nn.Sequential(nn.ReLU(), nn.Conv1d(64, 64, 1), nn.ReLU(), nn.Conv1d(64, 80, 1))

    def forward(self, x: Tensor) -> Tensor:
        x, skipped = self.i(x), None
        for dilated, mixed in zip(self.d, self.r, strict=True):
            a, b = dilated(x).chunk(2, 1)
            rest, skip = mixed(a.tanh() * b.sigmoid()).chunk(2, 1)
            x = (x + rest) * 0.5**0.5
            skipped = skip if skipped is None else skipped + skip
        return self.o(skipped)


class Residual1d(nn.Module):
    """HiFi-GAN's block: pairs of convolutions, the first of a pair dilated."""

    def __init__(self, wide: int, kernel: int) -> None:
        super().__init__()
        self.a, self.b = (nn.ModuleList(self._convs(wide, kernel, d)) for d in ((1, 3, 5), (1, 1, 1)))

    @staticmethod
    def _convs(wide: int, kernel: int, dilations: tuple[int, ...]) -> Iterable[nn.Module]:
        for d in dilations:
            yield weight_norm(nn.Conv1d(wide, wide, kernel, dilation=d, padding=d * (kernel - 1) // 2))

    def forward(self, x: Tensor) -> Tensor:
        for dilated, plain in zip(self.a, self.b, strict=True):
            x = x + plain(functional.leaky_relu(dilated(functional.leaky_relu(x, 0.1)), 0.1))
        return x


class HifiGan(nn.Module):
    """The vocoder, with weight normalization left in."""

    def __init__(self, wide: int = 64) -> None:
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(80, wide, 7, padding=3))
        self.up, self.rb = nn.ModuleList(), nn.ModuleList()
        for kernel, stride in ((16, 8), (16, 8), (4, 2), (4, 2)):
            up = nn.ConvTranspose1d(wide, wide // 2, kernel, stride, padding=(kernel - stride) // 2)
            self.up.append(weight_norm(up))
            wide //= 2
            self.rb.extend(Residual1d(wide, size) for size in (3, 7, 11))
        self.post = weight_norm(nn.Conv1d(wide, 1, 7, padding=3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.pre(x)
        for k, up in enumerate(self.up):
            x = up(functional.leaky_relu(x, 0.1))
            x = (self.rb[3 * k](x) + self.rb[3 * k + 1](x) + self.rb[3 * k + 2](x)) / 3.0
        return self.post(functional.leaky_relu(x)).tanh()


class ConvTasNet(nn.Module):
    """Separates two speakers by masks."""

    def __init__(self, blocks: int = 8) -> None:
        super().__init__()
        self.enc, self.ln = nn.Conv1d(1, 64, 16, stride=8, bias=False), nn.GroupNorm(1, 64)
        self.b = nn.ModuleList(self._block(2 ** (k % 8)) for k in range(blocks))
        self.m, self.dec = nn.Conv1d(64, 128, 1), nn.ConvTranspose1d(64, 1, 16, stride=8, bias=False)

    @staticmethod
    def _block(d: int) -> nn.Sequential:
        return nn.Sequential(
            *(nn.Conv1d(64, 128, 1), nn.PReLU(), nn.GroupNorm(1, 128)),
            *(nn.Conv1d(128, 128, 3, dilation=d, padding=d, groups=128), nn.PReLU(), nn.GroupNorm(1, 128)),
            nn.Conv1d(128, 64, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        features = self.enc(x).relu()
        y = self.ln(features)
        for block in self.b:
            y = y + block(y)
        masks = self.m(y).sigmoid().view(1, 2, 64, -1)
        return self.dec((masks * features.unsqueeze(1)).view(2, 64, -1))


class NasRnn(nn.Module):
    """TASO's recurrent cell, its state an input."""

    def __init__(self, hidden: int = 256, length: int = 5) -> None:
        super().__init__()
        self.w = nn.ParameterList(nn.Parameter(torch.empty(hidden, hidden)) for _ in range(16 * length))
        for weight in self.w:
            nn.init.normal_(weight, std=hidden**-0.5)

    def forward(self, state: Tensor, *steps: Tensor) -> Tensor:
        for k, x in enumerate(steps):
            w = self.w[16 * k : 16 * k + 16]
            t = [x @ w[2 * i] + state @ w[2 * i + 1] for i in range(8)]
            first, second = t[0].relu() + t[3].sigmoid(), t[1].sigmoid() + t[2].tanh()
            third, fourth = t[4].sigmoid() * t[5].tanh(), t[6].sigmoid() * t[7].relu()
            fifth, sixth = second.sigmoid() + third.tanh(), first.tanh() * fourth.tanh()
            state = (fifth.tanh() * sixth.tanh()).tanh()
        return state
