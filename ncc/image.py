"""Images as networks read them, and back.

pixels = ncc.image.open("photo.jpg")                       # uint8 (height, width, 3)
x = ncc.image.from_pixels(pixels, "rgb", mean, norm)       # float32 (3, height, width)
ncc.image.save(ncc.image.to_pixels(y, "rgb", norm=1 / 255), "larger.png")
"""

from ncc.runtime.images import Letterbox as Letterbox
from ncc.runtime.images import as_image as as_image
from ncc.runtime.images import as_pixels as as_pixels
from ncc.runtime.images import convert as convert
from ncc.runtime.images import from_pixels as from_pixels
from ncc.runtime.images import letterbox as letterbox
from ncc.runtime.images import open as open
from ncc.runtime.images import resize as resize
from ncc.runtime.images import save as save
from ncc.runtime.images import to_pixels as to_pixels
from ncc.runtime.pixel_input import PixelInput as PixelInput
from ncc.runtime.pixel_output import PixelOutput as PixelOutput
from ncc.runtime.pixels import Array as Array
