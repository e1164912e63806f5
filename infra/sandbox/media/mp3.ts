import { sampleCount, type SoundFormat } from './pcm.ts'

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
