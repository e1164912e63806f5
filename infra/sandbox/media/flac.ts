import { sampleCount, type SoundFormat } from './pcm.ts'

/** FLAC of silence: every frame holds one value for each channel. */

const BLOCK = 4_096

function crc(bytes: Buffer, width: 8 | 16, polynomial: number): number {
  const top = 1 << (width - 1)
  const mask = (1 << width) - 1
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << (width - 8)
    for (let bit = 0; bit < 8; bit += 1)
      sum = ((sum & top) === 0 ? sum << 1 : (sum << 1) ^ polynomial) & mask
  }
  return sum
}

/** A number of a frame, as UTF-8 writes a code point. */
function numbered(value: number): Buffer {
  return Buffer.from(String.fromCodePoint(value), 'utf8')
}

function streamInfo(format: SoundFormat, count: number): Buffer {
  const { sampleRate, channels } = format
  const info = Buffer.alloc(38)
  info[0] = 0x80
  info.writeUIntBE(34, 1, 3)
  info.writeUInt16BE(BLOCK, 4)
  info.writeUInt16BE(BLOCK, 6)
  const packed =
    (BigInt(sampleRate) << 44n) | (BigInt(channels - 1) << 41n) | (15n << 36n) | BigInt(count)
  info.writeBigUInt64BE(packed, 14)
  return info
}

function frameOf(number: number, length: number, channels: number): Buffer {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(length - 1)
  const head = Buffer.concat([
    Buffer.from([0xff, 0xf8, 0x70, (channels - 1) << 4]),
    numbered(number),
    size,
  ])
  const body = Buffer.concat([head, Buffer.from([crc(head, 8, 0x07)]), Buffer.alloc(3 * channels)])
  const end = Buffer.alloc(2)
  end.writeUInt16BE(crc(body, 16, 0x8005))
  return Buffer.concat([body, end])
}

export function flacOf(format: SoundFormat): Buffer {
  const count = sampleCount(format)
  const frames: Buffer[] = []
  for (let at = 0; at < count; at += BLOCK)
    frames.push(frameOf(frames.length, Math.min(BLOCK, count - at), format.channels))
  return Buffer.concat([Buffer.from('fLaC', 'latin1'), streamInfo(format, count), ...frames])
}
