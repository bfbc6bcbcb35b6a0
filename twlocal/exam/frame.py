"""Where things of a PDF's user space (y up, any origin, any turn) stand on the upright page (y down)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """The visible page in user space: `left`, `lower` and `upper` edges, `width` and `height` in points.

    `turned` is the angle (0, 90, 180 or 270 degrees, clockwise as pdfium counts it) at which the text runs.
    """

    left: float
    lower: float
    width: float
    height: float
    turned: int = 0

    @property
    def upper(self) -> float:
        return self.lower + self.height

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the upright page."""
        return (self.height, self.width) if self.turned in (90, 270) else (self.width, self.height)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point of user space on the upright page."""
        x, y = x - self.left, y - self.lower
        if self.turned == 0:
            return x, self.height - y
        if self.turned == 180:
            return self.width - x, y
        return (self.height - y, self.width - x) if self.turned == 90 else (y, x)

    def box(self, x0: float, x1: float, y0: float, y1: float) -> tuple[float, float, float, float]:
        """A rectangle of user space as x0, x1, top, bottom on the upright page."""
        (ax, ay), (bx, by) = self.point(x0, y0), self.point(x1, y1)
        return min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
