/** How sound is written down. */
export interface SoundFormat {
  readonly durationMs: number
  readonly sampleRate: number
  readonly channels: number
}

const LOUDNESS = 6_000
const PITCH_HZ = 220

/** Samples of one channel. */
function sampleCount({ durationMs, sampleRate }: SoundFormat): number {
  return Math.round((durationMs * sampleRate) / 1_000)
}

/** A soft hum, 16 bits a sample, little-endian. */
export function pcmOf(format: SoundFormat): Buffer {
  const count = sampleCount(format)
  const { sampleRate, channels } = format
  const period = Math.round(sampleRate / PITCH_HZ)
  const wave = Buffer.alloc(period * channels * 2)
  for (let at = 0; at < period; at += 1) {
    const value = Math.round(LOUDNESS * Math.sin((2 * Math.PI * at) / period))
    for (let channel = 0; channel < channels; channel += 1)
      wave.writeInt16LE(value, (at * channels + channel) * 2)
  }
  return Buffer.alloc(count * channels * 2, wave)
}

/** The bytes of a RIFF file with a sound. */
export function wavOf(format: SoundFormat): Buffer {
  const { sampleRate, channels } = format
  const data = pcmOf(format)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(sampleRate, 24)
  head.writeUInt32LE(sampleRate * channels * 2, 28)
  head.writeUInt16LE(channels * 2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}

/** Layer III frames of silence: a header, side information of zeros, and nothing in them. */

interface Version {
  /** Version and layer bits of the second byte, without a checksum. */
  readonly head: number
  readonly rates: readonly number[]
  readonly samplesPerFrame: number
  /** Bits a second by their index, in thousands. */
  readonly kilobits: readonly number[]
}

const HIGH = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const LOW = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

const VERSIONS: readonly Version[] = [
  { head: 0xfb, rates: [44_100, 48_000, 32_000], samplesPerFrame: 1_152, kilobits: HIGH },
  { head: 0xf3, rates: [22_050, 24_000, 16_000], samplesPerFrame: 576, kilobits: LOW },
  { head: 0xe3, rates: [11_025, 12_000, 8_000], samplesPerFrame: 576, kilobits: LOW },
]

const ID3 = Buffer.from('49443304000000000000', 'hex')

/** An MP3 of silence; its last frame is whole. */
export function mp3Of(format: SoundFormat & { readonly bitrate: number }): Buffer {
  const { sampleRate, channels, bitrate } = format
  const version = VERSIONS.find(({ rates }) => rates.includes(sampleRate))
  if (version === undefined) throw new RangeError(`no MP3 has ${sampleRate} samples a second`)
  const { head, rates, samplesPerFrame, kilobits } = version
  const wanted = kilobits.findLastIndex((one) => one * 1_000 <= bitrate)
  const index = Math.max(1, wanted)
  const bits = (kilobits[index] ?? 0) * 1_000
  const frame = Buffer.alloc(Math.floor(((samplesPerFrame / 8) * bits) / sampleRate))
  frame[0] = 0xff
  frame[1] = head
  frame[2] = (index << 4) | (rates.indexOf(sampleRate) << 2)
  frame[3] = channels === 1 ? 0xc0 : 0x00
  const frames = Math.max(1, Math.round(sampleCount(format) / samplesPerFrame))
  return Buffer.concat([ID3, Buffer.alloc(frames * frame.length, frame)])
}

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
