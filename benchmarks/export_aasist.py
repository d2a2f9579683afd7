"""A network like AASIST (audio anti-spoofing) as a PyTorch module: small kernels on images 20,000 wide.

An encoder of six residual blocks, then attention over frequencies and over times, the strongest half of each
kept by TopK and gathered.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions, the second one of a row less, and a shortcut; a maximum over three times."""

    def __init__(self, narrow: int, wide: int, *, first: bool = False) -> None:
        super().__init__()
        self.first = first
        if not first:
            self.b1 = nn.BatchNorm2d(narrow)
        self.c1, self.b2 = nn.Conv2d(narrow, wide, (2, 3), padding=(1, 1)), nn.BatchNorm2d(wide)
        self.c2 = nn.Conv2d(wide, wide, (2, 3), padding=(0, 1))
        self.d = nn.Conv2d(narrow, wide, (1, 3), padding=(0, 1)) if narrow != wide else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.first else functional.selu(self.b1(x))
        y = self.c2(functional.selu(self.b2(self.c1(y))))
        return functional.max_pool2d(y + self.d(x), (1, 3))


class AasistLike(nn.Module):
    """Raw audio to two classes."""

    def __init__(self) -> None:
        super().__init__()
        self.sinc, self.bn = nn.Conv1d(1, 70, 129, bias=False), nn.BatchNorm2d(1)
        widths = ((1, 32), (32, 32), (32, 64), (64, 64), (64, 64), (64, 64))
        self.e = nn.Sequential(*(Block(a, b, first=a == 1) for a, b in widths))
        self.pos = nn.Parameter(torch.randn(1, 23, 64))
        self.gp, self.pw, self.po = (nn.Linear(64, 64) for _ in range(3))
        self.aw = nn.Parameter(torch.randn(64, 1))
        self.gbn, self.o = nn.BatchNorm1d(64), nn.Linear(128, 2)

    def attended(self, x: Tensor) -> Tensor:
        """Every node sees every other one."""
        count = x.size(1)
        pairs = x.unsqueeze(2).expand(-1, -1, count, -1)
        pairs = pairs * pairs.transpose(1, 2)
        weights = functional.softmax(torch.matmul(torch.tanh(self.gp(pairs)), self.aw) / 2.0, dim=-2)
        y = self.pw(torch.matmul(weights.squeeze(-1), x)) + self.po(x)
        y = self.gbn(y.view(-1, y.size(2))).view(y.size())
        return functional.selu(y)

    def strongest(self, x: Tensor) -> Tensor:
        """Half of the nodes, weighted."""
        scores = torch.sigmoid(x.mean(-1, keepdim=True))
        _, chosen = torch.topk(scores, x.size(1) // 2, dim=1)
        return torch.gather(x * scores, 1, chosen.expand(-1, -1, x.size(2)))

    def forward(self, x: Tensor) -> Tensor:
        y = self.sinc(x.unsqueeze(1)).unsqueeze(1)
        y = functional.selu(self.bn(functional.max_pool2d(y.abs(), (3, 3))))
        y = self.e(y).abs()
        by_frequency, by_time = y.amax(3).transpose(1, 2) + self.pos, y.amax(2).transpose(1, 2)
        spectral = self.strongest(self.attended(by_frequency))
        temporal = self.strongest(self.attended(by_time))
        return self.o(torch.cat([spectral.abs().amax(1), temporal.mean(1)], 1))
