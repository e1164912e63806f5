import { encodeStill, type H264Stream } from './h264.ts'

const FRAMES_PER_SECOND = 24
const TICKS = 24_000
const TICKS_PER_FRAME = TICKS / FRAMES_PER_SECOND
const MAX_SECONDS = 120

const u16 = (...values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [(value >> 8) & 0xff, value & 0xff]))

const u32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, i) => bytes.writeUInt32BE(value, i * 4))
  return bytes
}

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, 'latin1'), body])
}

/** Version 0 and its flags, then the rest. */
const fullBox = (type: string, flags: number, ...parts: readonly Buffer[]): Buffer =>
  box(type, u32(flags), ...parts)

const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)

function sampleTable(stream: H264Stream, sizes: readonly number[], dataOffset: number): Buffer {
  const { sps, pps } = stream
  const config = box(
    'avcC',
    Buffer.from([1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe1]),
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  )
  const entry = box(
    'avc1',
    Buffer.alloc(6),
    u16(1),
    Buffer.alloc(16),
    u16(stream.widthPixels, stream.heightPixels),
    u32(0x480000, 0x480000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(0x18, 0xffff),
    config,
  )
  return box(
    'stbl',
    fullBox('stsd', 0, u32(1), entry),
    fullBox('stts', 0, u32(1, sizes.length, TICKS_PER_FRAME)),
    fullBox('stss', 0, u32(1, 1)),
    fullBox('stsc', 0, u32(1, 1, sizes.length, 1)),
    fullBox('stsz', 0, u32(0, sizes.length, ...sizes)),
    fullBox('stco', 0, u32(1, dataOffset)),
  )
}

function movie(stream: H264Stream, sizes: readonly number[], dataOffset: number): Buffer {
  const length = sizes.length * TICKS_PER_FRAME
  const { widthPixels, heightPixels } = stream
  const media = box(
    'mdia',
    fullBox('mdhd', 0, u32(0, 0, TICKS, length), u16(0x55c4, 0)),
    fullBox('hdlr', 0, u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('video\0')),
    box(
      'minf',
      fullBox('vmhd', 1, Buffer.alloc(8)),
      box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))),
      sampleTable(stream, sizes, dataOffset),
    ),
  )
  const track = box(
    'trak',
    fullBox(
      'tkhd',
      3,
      u32(0, 0, 1, 0, length, 0, 0, 0, 0),
      MATRIX,
      u32(widthPixels * 65_536, heightPixels * 65_536),
    ),
    media,
  )
  const header = fullBox(
    'mvhd',
    0,
    u32(0, 0, TICKS, length, 0x10000),
    u16(0x100),
    Buffer.alloc(10),
    MATRIX,
    Buffer.alloc(24),
    u32(2),
  )
  return box('moov', header, track)
}

function build(seconds: number): Buffer {
  const stream = encodeStill(seconds * FRAMES_PER_SECOND)
  const samples = stream.frames.map((frame) => Buffer.concat([u32(frame.length), frame]))
  const sizes = samples.map((sample) => sample.length)
  const type = box('ftyp', Buffer.from('isom'), u32(0x200), Buffer.from('isomiso2avc1mp41'))
  const headBytes = type.length + movie(stream, sizes, 0).length
  return Buffer.concat([type, movie(stream, sizes, headBytes + 8), box('mdat', ...samples)])
}

const made = new Map<number, Buffer>()

/** A playable MP4 (H.264, 64 × 64, 24 frames a second) of so many whole seconds, 1 to 120; about 8 KB. */
export function mp4OfSeconds(seconds: number): Buffer {
  const whole = Math.min(MAX_SECONDS, Math.max(1, Math.round(seconds)))
  const known = made.get(whole)
  if (known !== undefined) return known
  const bytes = build(whole)
  made.set(whole, bytes)
  return bytes
}
