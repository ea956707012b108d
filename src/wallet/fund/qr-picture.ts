import { crc32, deflateSync } from 'node:zlib';
import qrcode from 'qrcode-generator';

/** Light modules around the code, which readers need to find it. */
const MARGIN = 4;
/** Pixels of a module. */
const SCALE = 8;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * A QR code of a text, as a PNG of one bit a pixel.
 *
 * @param text - ASCII; some hundred characters.
 */
export function qrPicture(text: string): Buffer {
  // The smallest version that holds the text; 15 % of it may be unreadable.
  const code = qrcode(0, 'M');
  code.addData(text, 'Byte');
  code.make();
  const modules = code.getModuleCount();
  const pixels = (modules + 2 * MARGIN) * SCALE;
  const isDark = (pixel: number, line: number): boolean => {
    const [row, column] = [Math.floor(line / SCALE) - MARGIN, Math.floor(pixel / SCALE) - MARGIN];
    const isInside = row >= 0 && column >= 0 && row < modules && column < modules;
    return isInside && code.isDark(row, column);
  };
  // Each line begins with its filter (0: no filter); a set bit is white.
  const lineBytes = 1 + Math.ceil(pixels / 8);
  const lines = Buffer.alloc(pixels * lineBytes);
  for (let line = 0; line < pixels; line += 1) {
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      if (isDark(pixel, line)) continue;
      const at = line * lineBytes + 1 + (pixel >> 3);
      lines[at] = (lines[at] ?? 0) | (0x80 >> (pixel & 7));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(pixels, 0);
  header.writeUInt32BE(pixels, 4);
  // One bit a pixel, grey; compression, filter and interlace have one value each.
  header.writeUInt8(1, 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, sum]);
}
